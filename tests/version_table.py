"""What differs between the versions, read from their cassettes, as the tables of docs/versions.md and README.md."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import oracle
import yaml
from attrs import frozen
from conversations import CASSETTES, NO_MEMORY
from test_schemas import titled
from tour import path

ROOT: Final = CASSETTES.parent
PINNED: Final = str(oracle.load("PINNED.json")["server"])
BESIDE: Final = {"now": "{}, dependencies of today", "legacy": "{}, `fastmcp<4` and `mcp<2`"}

Field = tuple[str, str]
"""The name of a class of ours, and of a property."""


@frozen
class Exchange:
    """One request and its answer, as they are on a cassette."""

    bank: str
    headers: Mapping[str, list[str]]
    request: Mapping[str, Any]
    status: int
    answer: Mapping[str, Any]

    @property
    def call(self) -> tuple[str, Mapping[str, Any]]:
        """The tool and its arguments; no tool for any other method."""
        params = self.request.get("params", {})
        return params.get("name", ""), params.get("arguments", {})

    @property
    def result(self) -> Mapping[str, Any]:
        """The tool's own answer."""
        result = self.answer.get("result", {})
        return result.get("structuredContent") or {}

    def layer(self) -> str:
        """Return where in the answer a failure is told."""
        if self.status != 200:
            return f"HTTP {self.status}"
        if error := self.answer.get("error"):
            return f"JSON-RPC {error['code']}"
        if self.answer["result"].get("isError"):
            return "`isError`"
        return "in-band" if self.result.get("error") or self.result.get("status") == "error" else "none"


@cache
def exchanges(file: Path) -> tuple[Exchange, ...]:
    """Return what was said on a cassette."""
    return tuple(
        Exchange(
            each["request"]["uri"].split("/")[4],
            each["request"]["headers"],
            _message(each["request"]["body"]),
            each["response"]["status"]["code"],
            _message(each["response"]["body"]["string"]),
        )
        for each in yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)["interactions"]
    )


def _message(body: str | None) -> Mapping[str, Any]:
    for line in (body or "").splitlines():
        text = line.removeprefix("data: ")
        if text.startswith("{"):
            message: Mapping[str, Any] = json.loads(text)
            return message
    return {}


@frozen(kw_only=True)
class Facts:
    """What is different in a server."""

    protocol: str
    session: bool
    tools: frozenset[str]
    arguments: frozenset[Field]
    fields: frozenset[Field]
    layers: Mapping[str, str]


@cache
def facts(subject: str) -> Facts:
    """Return what the cassettes of a subject tell."""
    tour, mishaps = exchanges(path(subject, "tour")), exchanges(path(subject, "mishaps"))
    said = [each for each in tour if each.call[0]]
    listed = next(each.answer["result"]["tools"] for each in tour if "tools" in each.answer.get("result", {}))
    down = {each.call[0]: each.layer() for each in mishaps if each.call[0] and each.status == 200}
    failing = next(each for each in mishaps if each.call[0] == "reflect")
    return Facts(
        protocol=said[-1].headers["mcp-protocol-version"][0],
        session="mcp-session-id" in said[-1].headers,
        tools=frozenset(tool["name"] for tool in listed),
        arguments=frozenset((tool["name"], name) for tool in listed for name in tool["inputSchema"]["properties"]),
        fields=frozenset(field for each in said if each.layer() == "none" for field in _fields(each)),
        layers={
            "bank missing": next(each.layer() for each in reversed(tour) if each.bank == "nobody" and each.call[0]),
            "memory missing": _layer(tour, "get_memory", {"memory_id": NO_MEMORY}),
            "malformed id": _layer(tour, "get_memory", {"memory_id": "tea"}),
            "bad argument": _layer(tour, "recall", {"types": ["rumour"]}),
            "key missing": mishaps[0].layer(),
            "model fails": failing.layer(),
            "database down": _together(down),
        },
    )


def _fields(exchange: Exchange) -> Iterator[Field]:
    tool = exchange.call[0]
    file = f"tools/{tool}.json"
    for title, value in titled(exchange.result, oracle.load(file)["outputSchema"], file):
        yield from ((title, name) for name in value)


def _layer(said: tuple[Exchange, ...], tool: str, arguments: Mapping[str, Any]) -> str:
    return next(each.layer() for each in said if each.call[0] == tool and arguments.items() <= each.call[1].items())


def _together(layers: Mapping[str, str]) -> str:
    """Return the layer of all tools, and which of them tell no failure."""
    told = sorted({layer for layer in layers.values() if layer != "none"})
    silent = [tool for tool, layer in layers.items() if layer == "none"]
    return ", ".join(told) + (f" (none: {', '.join(silent)})" if silent else "")


def subjects() -> list[str]:
    """Return what has cassettes, oldest version first."""
    found = [file.name.removesuffix("-tour.yaml") for file in (CASSETTES / "versions").glob("*-tour.yaml")]
    return sorted(found, key=lambda name: ([int(part) for part in name.partition("-")[0].split(".")], name))


def lacking(subject: str, kind: str) -> frozenset[Field]:
    """Return the arguments or the fields that the pinned version has and this one has not."""
    known: frozenset[Field] = getattr(facts(PINNED), kind) - getattr(facts(subject), kind)
    return known


def title(subject: str) -> str:
    """Return a subject's name for people."""
    version, _, beside = subject.partition("-")
    return BESIDE.get(beside, "{}").format(version)


def _names(subject: str, kind: str) -> str:
    """Return what is lacking by owner; of a class that is lacking altogether, the name."""
    lacks, owners = lacking(subject, kind), {owner for owner, _ in lacking(subject, kind)}
    known: frozenset[Field] = getattr(facts(PINNED), kind)
    lists = []
    for owner in sorted(owners):
        names = [f"`{name}`" for other, name in sorted(lacks) if other == owner]
        whole = len(names) == sum(other == owner for other, _ in known)
        lists.append(owner if whole else f"{owner}: {', '.join(names)}")
    return "; ".join(lists) or "none"


def _table(*rows: tuple[str, ...]) -> str:
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body]) + "\n"


def _speaks() -> str:
    rows = [
        (
            title(name),
            each.protocol,
            "yes" if each.session else "no",
            "yes" if each.tools == set(oracle.TOOLS) else ", ".join(sorted(each.tools)),
        )
        for name in subjects()
        for each in [facts(name)]
    ]
    return _table(("Hindsight", "protocol", "session id", "six tools"), *rows)


def _lacks() -> str:
    rows = [(title(name), *(_names(name, kind) for kind in ("arguments", "fields"))) for name in subjects()]
    return _table(("Hindsight", "arguments it lacks", "result fields it lacks"), *rows)


def _errors() -> str:
    faults = tuple(facts(PINNED).layers)
    rows = [(title(name), *(facts(name).layers[fault] for fault in faults)) for name in subjects()]
    return _table(("Hindsight", *faults), *rows)


def _short() -> str:
    """Return the table for the README."""
    rows = [
        (
            title(name),
            each.protocol,
            "yes" if each.session else "no",
            *(str(len(lacking(name, kind))) for kind in ("arguments", "fields")),
        )
        for name in subjects()
        for each in [facts(name)]
    ]
    return _table(("Hindsight", "protocol", "session id", "arguments it lacks", "result fields it lacks"), *rows)


TABLES: Final = {"speaks": _speaks, "lacks": _lacks, "errors": _errors, "versions": _short}
MARKED: Final = re.compile(r"<!-- (?P<name>\w+) -->\n.*?<!-- /(?P=name) -->", re.DOTALL)
FILES: Final = (ROOT / "docs" / "versions.md", ROOT / "README.md")


def written(file: Path) -> str:
    """Return the text of a file with its tables, which stand between markers, as the cassettes tell them now."""

    def table(marked: re.Match[str]) -> str:
        name = marked["name"]
        return f"<!-- {name} -->\n{TABLES[name]()}<!-- /{name} -->"

    return MARKED.sub(table, file.read_text("utf-8"))


def write() -> None:
    """Write the tables where they belong."""
    for file in FILES:
        file.write_text(written(file), "utf-8")
