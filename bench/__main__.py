"""`python -m bench`: set up, measure, print the report, keep the figures."""

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from bench import environments, processes, report, rounds, scenarios


def main() -> None:
    """Run the benchmark."""
    shape = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__, formatter_class=shape)
    parser.add_argument("--full", action="store_true", help="four times the rounds")
    kept = Path("bench/results/latest.json")
    parser.add_argument("--json", type=Path, default=kept, metavar="FILE", help="where the figures go")
    parser.add_argument("--page", action="store_true", help="write docs/benchmark.md and docs/benchmark.svg too")
    parser.add_argument("--from", dest="kept", type=Path, metavar="FILE", help="measure nothing: report these figures")
    options = parser.parse_args()
    if options.kept:
        found = json.loads(options.kept.read_bytes())
    else:
        environments.prepare()
        with rounds.null_server() as url:
            found = json.loads(json.dumps(measured(url, 4 if options.full else 1)))
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    page = report.page(found)
    print(page)
    if options.page:
        docs = environments.ROOT / "docs"
        docs.mkdir(exist_ok=True)
        (docs / "benchmark.md").write_text(page)
        (docs / "benchmark.svg").write_text(report.plot(found))


def measured(url: str, scale: int) -> dict[str, Any]:
    """Return all figures."""
    began = time.perf_counter()
    found = {
        "where": _where(),
        "warm": rounds.warm(url, scale),
        "decoding": processes.decoding(),
        "imports": processes.imports(scale),
        "cold": processes.cold(url, scale),
        "posts": processes.posts(url),
        "threads": rounds.threads(url, scale),
        "memory": rounds.memory(url),
        "iteration": processes.iteration(url),
        "sizes": {
            name: environments.HOMES[name].size() for name in ("hindsight-bank", "hindsight-client", "mcp", "fastmcp")
        },
        "scenarios": scenarios.survived(url),
    }
    print(f"measured in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return found


def _where() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "versions": ", ".join(
            f"`{name}` {environments.HOMES[name].version(name)}"
            for name in ("httpx", "hindsight-client", "mcp", "fastmcp")
        ),
    }


if __name__ == "__main__":
    main()
