"""Every six-tool Hindsight there is, one after the other: `PYTHONPATH=tests python -m versions [SUBJECT ...]`.

Installs each in an environment of its own, holds and records the tour, runs the live tests, has the mishaps and deletes
the environment; in the end writes what differs into docs/versions.md and README.md. Some subjects are versions with the
dependencies of their time, others are versions beside other dependencies or in other modes. With --record no live tests
are run.
"""

import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import version_table
from attrs import frozen
from conversations import KEY
from record import Steady
from tour import TOURED, mishaps, path, tour

from harness.releases import RELEASED
from harness.server import Options, Server
from hindsight_bank.testing import bank_vcr, played

SETTING: Final = "HINDSIGHT_API_"
API_KEY: Final = {
    SETTING + "TENANT_EXTENSION": "hindsight_api.extensions.builtin.tenant:ApiKeyTenantExtension",
    SETTING + "TENANT_API_KEY": KEY,
}
LIVE: Final = "tests/test_live.py"
REFUSED: Final = "tests/test_live_refused.py"
RECORD: Final = "--record"
PAUSE_SECONDS: Final = 2.0


@frozen(kw_only=True)
class Subject:
    """A server to look at.

    Attributes:
        options: What to start.
        tests: The live tests that it must pass.
        live: What these are told beside the URL.
    """

    options: Options
    tests: str = LIVE
    live: Mapping[str, str] = {}


def mode(tests: str = LIVE, live: Mapping[str, str] | None = None, llm: Any = "stub", **settings: str) -> Subject:
    """Return the pinned version with other settings."""
    env = {SETTING + name: value for name, value in settings.items()}
    return Subject(options=Options(llm=llm, env=env), tests=tests, live=live or {})


KEYED: Final = {"HINDSIGHT_LIVE_KEY": KEY}


def keyed(version: str, dependencies: Any = "now", protocol: Any = "modern") -> Subject:
    """Return a version that wants a key, as the mishaps need it."""
    return Subject(options=Options(version, protocol, dependencies, env=API_KEY), live=KEYED)


SUBJECTS: Mapping[str, Subject] = {
    **{version: keyed(version, "then") for version in RELEASED},
    "0.8.6-now": keyed("0.8.6"),
    "0.8.6-legacy": Subject(options=Options("0.8.6", "legacy")),
    "1.1.0-legacy": keyed("1.1.0", protocol="legacy"),
    "1.1.0-now": Subject(options=Options("1.1.0")),
    "stateless": mode(MCP_STATELESS="true"),
    "token": mode(live=KEYED, MCP_AUTH_TOKEN=KEY),
    "no-model": mode(live={"HINDSIGHT_LIVE_MODEL": "none"}, llm="none"),
    "model-down": mode(REFUSED, LLM_BASE_URL="http://127.0.0.1:1/v1", SKIP_LLM_VERIFICATION="true"),
    "subset": mode(REFUSED, MCP_ENABLED_TOOLS="retain,recall"),
    "disabled": mode(REFUSED, MCP_ENABLED="false"),
}


def main() -> int:
    """Look at each subject, print what came of it, write the table."""
    server = Server(Path(".server/versions"))
    subjects = dict(SUBJECTS)
    newest = server.newest()
    if newest not in RELEASED:
        subjects[newest] = keyed(newest)
    names = [argument for argument in sys.argv[1:] if argument != RECORD] or list(subjects)
    unknown = [name for name in names if name not in subjects]
    if unknown:
        raise SystemExit(f"no such subject: {', '.join(unknown)}; there are {', '.join(subjects)}")
    began = time.monotonic()
    try:
        failed = [name for name, after in zip_longest(names, names[1:]) if not passes(name, after, subjects, server)]
    finally:
        server.uninstall()
    version_table.write()
    say(f"{len(names)} subjects in {time.monotonic() - began:.0f} s; failed: {failed or 'none'}")
    return bool(failed)


def passes(name: str, after: str | None, subjects: Mapping[str, Subject], server: Server) -> bool:
    """Look at a subject, say what came of it, and remove what the one after it does not need."""
    began = time.monotonic()
    try:
        passed = look_at(name, subjects[name], server)
    except Exception:  # noqa: BLE001 - whatever one version does, the others have their turn
        traceback.print_exc()
        passed = False
    if after is None or installation(subjects[after]) != installation(subjects[name]):
        server.uninstall()
    say(f"{name}: {'passed' if passed else 'FAILED'} in {time.monotonic() - began:.0f} s")
    return passed


def look_at(name: str, subject: Subject, server: Server) -> bool:
    """Start a subject, do with it all there is to do, and tell whether the live tests passed."""
    recorded = name in TOURED or name not in SUBJECTS  # also a release that came after ours
    try:
        url = server.start(subject.options)
        if recorded:
            record(name, "tour", lambda: tour(url, lambda: time.sleep(PAUSE_SECONDS)))
        passed = RECORD in sys.argv or passes_live(url, name, subject)
        if recorded:
            # Where there is no model at all, old versions try for six minutes.
            record(name, "mishaps", lambda: mishaps(url, server.refuse_model, server.stop_database))
            server.kill()  # without its database it is slow to end by itself
        return passed
    finally:
        server.stop()


def passes_live(url: str, name: str, subject: Subject) -> bool:
    """Run the live tests and tell whether they pass."""
    env = os.environ | {"HINDSIGHT_LIVE_URL": url, "HINDSIGHT_LIVE_SUBJECT": name} | dict(subject.live)
    command = [sys.executable, "-m", "pytest", "-q", "-m", "live", "-p", "no:cacheprovider", subject.tests]
    return not subprocess.run(command, env=env, check=False).returncode


def installation(subject: Subject) -> tuple[str, ...]:
    """Return what is installed for a subject."""
    options = subject.options
    return options.version, options.protocol, options.dependencies


def record(name: str, kind: str, talk: Callable[[], Any]) -> None:
    """Record a conversation, and say how each step ended."""
    vcr = bank_vcr(record_mode="once")
    vcr.register_serializer("bank", Steady(datetime.now(UTC), []))
    file = path(name, kind)
    file.unlink(missing_ok=True)
    with played(vcr.use_cassette(file)):
        said = talk()
    for step, result in said.items():
        say(f"    {step}: {result!r:.200}")
    say(f"{file.stat().st_size:7} {file.name}")


def say(text: str) -> None:
    """Report."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
