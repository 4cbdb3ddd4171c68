"""The released Hindsights: when each came out, and what to install for it."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RELEASED: Mapping[str, date] = {
    "0.4.14": date(2026, 2, 26),
    "0.4.18": date(2026, 3, 13),
    "0.4.22": date(2026, 3, 31),
    "0.5.6": date(2026, 4, 28),
    "0.6.2": date(2026, 5, 14),
    "0.7.2": date(2026, 6, 2),
    "0.8.6": date(2026, 7, 29),
    "0.9.2": date(2026, 8, 25),
    "0.10.3": date(2026, 10, 8),
    "1.0.0": date(2026, 10, 13),
    "1.1.0": date(2026, 10, 21),
}
"""Those that are tested: the first with all six tools, and the last of each series since."""
PACKAGE = "hindsight-api-slim"


def requirement(version: str) -> str:
    """Return the package of a version, with the PostgreSQL that we start."""
    return f"{PACKAGE}[embedded-db]=={version}" if _number(version) >= (0, 4, 18) else f"hindsight-api=={version}"


def excluded(version: str) -> Sequence[str]:
    """Return the dependencies to leave out: models of gigabytes, in whose place stand ours."""
    return () if _number(version) >= (0, 4, 18) else ("sentence-transformers", "torch", "transformers")


def bundles_tokenizer(version: str) -> bool:
    """Tell whether a version counts tokens without downloading a vocabulary; before 0.9 litellm's serves."""
    return _number(version) >= (0, 9)


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
