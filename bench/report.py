"""What was measured, as a page: tables beside their targets, and a plot."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from bench.answers import SIZES
from bench.plot import panels

Found = Mapping[str, Any]

_OURS: Final = "hindsight-bank"
_FLOOR: Final = "httpx"
_RECALL_TARGETS: Final = {"1 KiB": 0.60, "64 KiB": 0.50, "1 MiB": 0.45, "10 MiB": 0.40}
_PEERS: Final = ("http.client", "hindsight-client", "mcp", "mcp portal", "fastmcp")


def page(found: Found) -> str:
    """Return the report in Markdown."""
    parts = [_INTRODUCTION.format(**found["where"])]
    for title, note, table in _TABLES:
        parts += [f"## {title}\n", f"{note}\n", _markdown(list(table(found)))]
    return "\n".join(parts)


def plot(found: Found) -> str:
    """Return how cost grows with size, with count and with threads, as SVG."""
    names = (_OURS, _FLOOR, *_PEERS)
    warm = found["warm"]
    by_size = {
        name: [
            (size, took["best"] * 1000)
            for label, size in SIZES.items()
            if (took := warm[f"{label} modern"][name])["best"] is not None
        ]
        for name in names
    }
    iteration = found["iteration"]
    step = iteration["count"] / len(iteration["seconds"])
    by_count = {_OURS: [(step * (number + 1), took) for number, took in enumerate(iteration["seconds"])]}
    by_threads = {
        name: [(int(count), rate) for count, rate in rates.items() if rate] for name, rates in found["threads"].items()
    }
    return panels(
        [
            ("Warm recall", "bytes of the answer", "ms", {name: line for name, line in by_size.items() if line}),
            ("Iterating memories", "memories", "s", by_count),
            ("Threads on one client, 1 KiB", "threads", "calls per second", {n: p for n, p in by_threads.items() if p}),
        ]
    )


def _warm(found: Found) -> Iterator[Sequence[str]]:
    yield ("answer", *(f"`{name}`" for name in (_OURS, *_PEERS)), "spread of ours", "floor, ms", "target")
    for label, target in _RECALL_TARGETS.items():
        row = found["warm"][f"{label} modern"]
        ours = row[_OURS]
        spread = " to ".join(f"{value:.2f}" for value in ours["ratio_spread"])
        ratios = [_ratio(row[name].get("ratio")) for name in _PEERS]
        floor = f"{row[_FLOOR]['best'] * 1000:.2f}"
        yield (label, _judged(ours["ratio"], target), *ratios, spread, floor, f"≤ {target:.2f}")


def _streams(found: Found) -> Iterator[Sequence[str]]:
    yield ("answer", "ours, to our own JSON", "ours, to the floor", "`mcp`, to the floor", "target")
    for label in SIZES:
        row, json_row = found["warm"][f"{label} legacy"], found["warm"][f"{label} modern"]
        own = row[_OURS]["best"] / json_row[_OURS]["best"]
        mcp = row["mcp"].get("ratio")
        yield (label, _judged(own, 1.30), _ratio(row[_OURS]["ratio"]), _ratio(mcp), "≤ 1.30")


def _decoding(found: Found) -> Iterator[Sequence[str]]:
    yield ("envelope", "to `json.loads`", "ms", "target")
    for label, took in found["decoding"].items():
        ratio = took[_OURS] / took["json.loads"]
        yield (label, _judged(ratio, 0.40), f"{took[_OURS] * 1000:.3f}", "≤ 0.40")


def _starts(found: Found) -> Iterator[Sequence[str]]:
    peers = ("hindsight-client", "mcp", "fastmcp")
    yield ("process", "ours", *(f"`{name}`" for name in peers), "floor, ms", "target")
    rows = [("import, to `import httpx`", found["imports"], 0.60)]
    rows += [(f"cold recall, {name}, to a raw script", table, 1.20) for name, table in found["cold"].items()]
    for label, row, target in rows:
        floor = row[_FLOOR]["best"]
        ratios = [_ratio(row[name]["best"] / floor) for name in peers]
        ours = _judged(row[_OURS]["best"] / floor, target)
        yield (label, ours, *ratios, f"{floor * 1000:.0f}", f"≤ {target:.2f}")


def _posts(found: Found) -> Iterator[Sequence[str]]:
    yield ("client", "2026-07-28", "2025-11-25")
    for name, row in found["posts"].items():
        yield (f"`{name}`", str(row["modern"]), str(row["legacy"]))


def _threads(found: Found) -> Iterator[Sequence[str]]:
    counts = list(found["threads"][_FLOOR])
    yield ("client", *(f"{count} threads" for count in counts), "16, to the floor")
    for name, row in found["threads"].items():
        last = row[counts[-1]]
        ratio = None if last is None else last / found["threads"][_FLOOR][counts[-1]]
        rates = [f"{row[count]:.0f}" if row[count] else "fails" for count in counts]
        yield (f"`{name}`", *rates, _judged(ratio, 1.6, at_least=True) if name == _OURS else _ratio(ratio))


def _memory(found: Found) -> Iterator[Sequence[str]]:
    yield ("client", "peak grows by, MB", "to the floor", "target")
    floor = found["memory"][_FLOOR]
    for name, grown in found["memory"].items():
        size = "fails" if grown is None else f"{grown / 1e6:.1f}"
        ratio = None if grown is None else grown / floor
        ours = name == _OURS
        yield (f"`{name}`", size, _judged(ratio, 0.5) if ours else _ratio(ratio), "≤ 0.50" if ours else "")
    iteration = found["iteration"]
    grown = max(iteration["grown"]) / 1e6
    yield (f"iterating {iteration['count']:,} memories", f"{grown:.1f}", "", f"< 2 MB {_mark(grown < 2)}")  # noqa: PLR2004


def _sizes(found: Found) -> Iterator[Sequence[str]]:
    yield ("`pip install`", "packages", "MB", "MB with bytecode")
    for name, (packages, plain, compiled) in found["sizes"].items():
        marks = [f" {_mark(packages <= 16)}", f" {_mark(plain <= 5.5e6)}"] if name == _OURS else ["", ""]  # noqa: PLR2004
        yield (f"`{name}`", f"{packages}{marks[0]}", f"{plain / 1e6:.1f}{marks[1]}", f"{compiled / 1e6:.1f}")


def _scenarios(found: Found) -> Iterator[Sequence[str]]:
    clients = list(found["scenarios"])
    yield ("", *(f"`{name}`" for name in clients))
    for scenario in found["scenarios"][clients[0]]:
        yield (scenario, *(_mark(found["scenarios"][name][scenario]) for name in clients))


_INTRODUCTION: Final = """# Benchmark

`make bench` measured this on {processor}, {cores} cores, {system}, Python {python}, {date};
`make bench BENCH="--full --page"` writes it anew. The floor is raw `httpx`: `client.post` with a prepared body and
headers, then `json.loads` of the answer, nothing checked. A ratio is the best call of ours by the best call of the
floor in the same run, in which the clients take turns; the spread is the middle half of the ratios of each round's
medians. Everything of ours has bounds, deadline and strictly typed answers. ✓ and ✗ judge the targets.

The null server answers with facts that a Hindsight 1.1.0 returned, scaled by number, as typed content and once more as
text, as real servers send them. `hindsight-client` gets the same facts over REST, where they come once: half the bytes.

![How cost grows](benchmark.svg)
"""
_TABLES: Final[Sequence[tuple[str, str, Callable[[Found], Iterator[Sequence[str]]]]]] = (
    ("Warm recall", "As JSON (2026-07-28), to the floor.", _warm),
    ("As event streams", "2025-11-25. `mcp` refuses events of more than 1 MiB.", _streams),
    ("Decoding alone", "An envelope's bytes to frozen objects.", _decoding),
    ("Starting", "Whole processes. The raw script makes the same POSTs through `httpx.Client()`.", _starts),
    ("POSTs from a cold start to the first recall", "Ours include the check of six tools and of the bank.", _posts),
    ("Threads", "Calls per second on one client, 1 KiB.", _threads),
    ("Memory", "Growth of the peak by one recall of 10 MiB.", _memory),
    ("Installed", "Without pip and setuptools.", _sizes),
    ("Scenarios", "A synchronous client made and used once, then used so.", _scenarios),
)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines) + "\n"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _judged(value: float | None, target: float, *, at_least: bool = False) -> str:
    if value is None:
        return f"fails {_mark(held=False)}"
    return f"**{value:.2f}** {_mark(value >= target if at_least else value <= target)}"


def _mark(held: bool) -> str:  # noqa: FBT001 - its verdict is all it takes
    return "✓" if held else "✗"
