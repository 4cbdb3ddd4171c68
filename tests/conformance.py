"""The official MCP conformance suite against our transport and endpoint: python tests/conformance.py.

It is installed into .conformance/ by npm, with the Node that it needs. Scenarios run one by one, since only then does
the suite judge warnings, time-outs and the client's exit code.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PLACE = ROOT / ".conformance"
PACKAGES = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22")
MODULES = PLACE / "node_modules"
NODE = MODULES / "node" / "bin"
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
MOST_SECONDS = 60

SCENARIOS = {
    "2025-06-18": ("initialize", "tools_call"),
    "2025-11-25": ("initialize", "tools_call", "sse-retry", "json-schema-2020-12-preservation"),
    "2026-07-28": (
        "tools_call",
        "request-metadata",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
        "sep-2322-client-request-state",
    ),
}


def main() -> int:
    install()
    counts: Counter[bool] = Counter()
    print(f"{'revision':<12}{'scenario':<36}{'checks':>8}{'seconds':>9}")
    for revision, names in SCENARIOS.items():
        for name in names:
            began = time.monotonic()
            good, asked, faults = run(name, revision)
            counts[not faults] += 1
            verdict = "" if not faults else "  FAILED"
            checks = f"{good}/{asked}"
            print(f"{revision:<12}{name:<36}{checks:>8}{time.monotonic() - began:>9.1f}{verdict}", flush=True)
            for fault in faults:
                print(f"    {fault}")
    print(f"conformance: {counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


def install() -> None:
    """Install the suite and Node unless they are there."""
    wanted, stamp = "\n".join(PACKAGES), PLACE / "installed"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    if (npm := shutil.which("npm")) is None:
        sys.exit("conformance: npm is needed to install the suite")
    shutil.rmtree(PLACE, ignore_errors=True)
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
    subprocess.run([npm, "install", "--prefix", PLACE, *quiet, *PACKAGES], check=True, stdout=sys.stderr)
    subprocess.run([NODE / "node", "--version"], check=True, stdout=sys.stderr)
    stamp.write_text(wanted)


def run(name: str, revision: str) -> tuple[int, int, list[str]]:
    """Return how many checks passed of how many, and what went wrong."""
    out = PLACE / "out" / revision / name
    shutil.rmtree(out, ignore_errors=True)
    # The suite splits the command at blanks and hands it to a shell, so it is found by PATH and from ROOT.
    search = os.pathsep.join([str(Path(sys.executable).parent), str(NODE), os.environ["PATH"]])
    client = f"{Path(sys.executable).name} tests/conformance_client.py"
    options = ("--command", client, "--scenario", name, "--spec-version", revision, "--timeout", "30000", "-o", out)
    try:
        done = subprocess.run(
            [NODE / "node", SUITE, "client", *options],
            cwd=ROOT,
            env=os.environ | {"PATH": search},
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 0, 0, [f"not done within {MOST_SECONDS} s"]
    checks = [check for check in recorded(out) if check["status"] not in ("SKIPPED", "INFO")]
    faults = [f"{check['id']}: {check.get('errorMessage')}" for check in checks if check["status"] != "SUCCESS"]
    good = len(checks) - len(faults)
    if not good:
        faults.append("no check passed")
    if done.returncode:
        faults += [f"the suite exited with {done.returncode}", *(done.stdout + done.stderr).splitlines()[-30:]]
    return good, len(checks), faults


def recorded(out: Path) -> Iterator[dict[str, Any]]:
    """Yield the checks that the suite wrote down."""
    for file in out.glob("**/checks.json"):
        yield from json.loads(file.read_text())


if __name__ == "__main__":
    sys.exit(main())
