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
    yield ("answer", *(f"`{name}`" for name in (_OURS, *_PEERS)), "ours, by medians", "floor, ms", "target")
    for label, target in _RECALL_TARGETS.items():
        row = found["warm"][f"{label} modern"]
        ours = row[_OURS]
        low, high = ours["ratio_spread"]
        spread = f"{ours['ratio_median']:.2f} ({low:.2f} to {high:.2f})"
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
    yield ("envelope", "to `json.loads`", "to `json.loads` of the typed content alone", "ms", "target")
    for label, took in found["decoding"].items():
        ratio, once = took[_OURS] / took["json.loads"], took[_OURS] / took["json.loads, once"]
        yield (label, _judged(ratio, 0.40), _ratio(once), f"{took[_OURS] * 1000:.3f}", "≤ 0.40")


def _starts(found: Found) -> Iterator[Sequence[str]]:
    peers = ("hindsight-client", "mcp", "fastmcp")
    yield ("process", "ours", *(f"`{name}`" for name in peers), "floor, ms", "target")
    rows: list[tuple[str, Found, str, float | None]] = [("import, to `import httpx`", found["imports"], _FLOOR, 0.60)]
    rows += [(f"cold recall, {name}, to a raw script", table, _FLOOR, 1.20) for name, table in found["cold"].items()]
    bare = "httpx, no certificates"
    rows += [
        (f"the same, to one without certificates, {name}", table, bare, None) for name, table in found["cold"].items()
    ]
    for label, row, floor, target in rows:
        ratios = [_over(row[name]["best"], row[floor]["best"]) for name in (_OURS, *peers)]
        ours = _ratio(ratios[0]) if target is None else _judged(ratios[0], target)
        told = "" if target is None else f"≤ {target:.2f}"
        yield (label, ours, *map(_ratio, ratios[1:]), f"{row[floor]['best'] * 1000:.0f}", told)
    nothing = _over(found["imports"]["http.client"]["best"], found["imports"][_FLOOR]["best"])
    yield ("no import at all, to `import httpx`", _ratio(nothing), *("" for _ in peers), "", "")


def _posts(found: Found) -> Iterator[Sequence[str]]:
    yield ("client", "2026-07-28", "2025-11-25")
    for name, row in found["posts"].items():
        yield (f"`{name}`", str(row["modern"]), str(row["legacy"]))


def _threads(found: Found) -> Iterator[Sequence[str]]:
    counts = list(found["threads"][_FLOOR])
    yield ("client", *(f"threads: {count}" for count in counts), "16, to the floor", "target")
    for name, row in found["threads"].items():
        last = row[counts[-1]]
        ratio = None if last is None else last / found["threads"][_FLOOR][counts[-1]]
        rates = [f"{row[count]:.0f}" if row[count] else "fails" for count in counts]
        told = (_judged(ratio, 1.6, at_least=True), "≥ 1.60") if name == _OURS else (_ratio(ratio), "")
        yield (f"`{name}`", *rates, *told)


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
    yield (f"ours, iterating {iteration['count']:,}", f"{grown:.1f} {_mark(grown < 2)}", "", "< 2 MB")  # noqa: PLR2004


def _sizes(found: Found) -> Iterator[Sequence[str]]:
    yield ("`pip install`", "packages", "MB", "MB with bytecode", "target")
    for name, (packages, plain, compiled) in found["sizes"].items():
        marks = [f" {_mark(packages <= 16)}", f" {_mark(plain <= 5.5e6)}"] if name == _OURS else ["", ""]  # noqa: PLR2004
        told = "≤ 16, ≤ 5.5 MB" if name == _OURS else ""
        yield (f"`{name}`", f"{packages}{marks[0]}", f"{plain / 1e6:.1f}{marks[1]}", f"{compiled / 1e6:.1f}", told)


def _scenarios(found: Found) -> Iterator[Sequence[str]]:
    clients = list(found["scenarios"])
    yield ("", *(f"`{name}`" for name in clients))
    for scenario in found["scenarios"][clients[0]]:
        yield (scenario, *(_mark(found["scenarios"][name][scenario]) for name in clients))


_INTRODUCTION: Final = """# Benchmark

`make bench` measured this on {processor}, {cores} cores, {system}, Python {python}, {date};
`make bench BENCH="--full --page"` writes it anew. With it: {versions}.

All of it is plain HTTP on loopback, to a server that answers from
memory and shares the cores: what a client costs, beside which a real server's work takes milliseconds or seconds.

The floor is raw `httpx`: `client.post` with a prepared body and headers, then `json.loads` of the answer, nothing
checked. `http.client`, Python's own, is used likewise; `mcp portal` is `mcp` for callers without a loop, on one in a
thread. Everything of ours has bounds, deadline and strictly typed answers. The clients take turns in the same rounds.
A ratio is our best call, divided by the floor's best; beside it stands what comes of each round's medians, and in
brackets the middle half of the rounds. ✓ and ✗ tell whether a target, which this project has set itself, is met.

The null server answers with facts that a Hindsight 1.1.0 returned, as many as fill the size, and one at least, which
with its envelope has 1.4 KiB: as typed content and once more as text, as real servers send them. The floor reads both;
ours builds objects of the typed content and skips the text, once it is known to be well-formed. `hindsight-client` gets
the same facts over REST, where they come once: half the bytes.

![How cost grows](benchmark.svg)
"""
_STARTING: Final = (
    "Whole processes, the best of each. Our import leaves httpx, msgspec and attrs to the first `Bank`; a cold recall"
    " has it all. The raw script makes the same POSTs through `httpx.Client()`, which loads certificates."
)
_TABLES: Final[Sequence[tuple[str, str, Callable[[Found], Iterator[Sequence[str]]]]]] = (
    ("Warm recall", "As JSON (2026-07-28), to the floor.", _warm),
    ("As event streams", "2025-11-25. `mcp` refuses events of more than 1 MiB.", _streams),
    ("Decoding alone", "From an envelope's bytes to frozen objects, the best of all rounds.", _decoding),
    ("Starting", _STARTING, _starts),
    ("POSTs from a cold start to the first recall", "Ours include the check of six tools and of the bank.", _posts),
    ("Threads", "Calls per second on one client, 1 KiB, the best run.", _threads),
    ("Memory", "Growth of the peak by one recall of 10 MiB, after a small one: the least of three processes.", _memory),
    ("Installed", "Without pip and setuptools.", _sizes),
    ("Scenarios", "A synchronous client that was used once is used again like this; ✓: it answers.", _scenarios),
)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines) + "\n"


def _over(value: float | None, floor: float) -> float | None:
    return None if value is None else value / floor


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _judged(value: float | None, target: float, *, at_least: bool = False) -> str:
    if value is None:
        return f"fails {_mark(held=False)}"
    return f"**{value:.2f}** {_mark(value >= target if at_least else value <= target)}"


def _mark(held: bool) -> str:  # noqa: FBT001 - its verdict is all it takes
    return "✓" if held else "✗"
