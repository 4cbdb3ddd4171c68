"""Results for programs: one JSON document, or a line for each item of a stream. Plain ASCII: nothing to obey in it."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from hindsight_bank import to_dict


def document(value: Any) -> None:
    """Print a result as one JSON document."""
    sys.stdout.write(json.dumps(_plain(value), indent=2) + "\n")


def line(value: Any) -> None:
    """Print a result as one line of JSON."""
    sys.stdout.write(json.dumps(_plain(value)) + "\n")


def _plain(value: Any) -> Any:
    return value if isinstance(value, Mapping) else to_dict(value)
