"""What the stand-in models say: rules from a request's own text to facts, observations, reflections and JSON values.

Nothing is invented and nothing depends on time or chance: the same text always gives the same answer.
"""

from __future__ import annotations

import calendar
import json
import math
import re
import zlib
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Json = dict[str, Any]

# Text

_FUNCTION_WORDS = frozenset(
    """a about all also am an and any are as at be been but by can could did do does for from had has have he her here
    him his how i if in is it its me my no not of on or our she should so tell than that the their them then there these
    they this those to us was we were what when where which who whom whose why will with would you your""".split()  # noqa: SIM905 - a list of words, not of quotation marks
)
_MONTHS = {name: number for number, name in enumerate(calendar.month_name) if name}
_CALENDAR_WORDS = frozenset(_MONTHS) | frozenset(calendar.day_name)
_NAME = re.compile(r"[A-Z][\w'-]*(?: [A-Z][\w'-]*)*")
_DATE = re.compile(
    rf"(?P<iso>\d{{4}}-\d\d-\d\d)|\b[Ii]n (?P<only_year>\d{{4}})\b"
    rf"|(?:(?P<before>\d{{1,2}})(?:st|nd|rd|th)? )?(?P<month>{'|'.join(_MONTHS)})"
    rf"(?: (?P<after>\d{{1,2}})(?:st|nd|rd|th)?,?)? (?P<year>\d{{4}})"
)


def clauses(text: str) -> list[str]:
    """Cut a text at line ends, at semicolons and after sentences; full stops go, other marks stay."""
    pieces = re.split(r"(?<=[.!?])\s+|;\s+|\n+", text)
    return [piece.strip().removesuffix(".") for piece in pieces if len(re.findall(r"\w", piece)) > 1]


def sentences(parts: Iterable[str]) -> str:
    """Join clauses to prose."""
    return " ".join(part if part.endswith(("!", "?")) else f"{part}." for part in parts)


def stems(text: str) -> list[str]:
    """Return the words of a text that carry meaning, in small letters and without their endings."""
    words = re.findall(r"[^\W_]+", text.lower())
    return [re.sub(r"(?<=\w{3})(?:ing|ed|es|s|e)$", "", word) for word in words if word not in _FUNCTION_WORDS]


def names(text: str) -> list[str]:
    """Return what is written with capital letters, less function words and the calendar's."""
    found = []
    for match in _NAME.finditer(text):
        words = match[0].removesuffix("'s").split()
        while words and (words[0].lower() in _FUNCTION_WORDS or words[0].removesuffix("s") in _CALENDAR_WORDS):
            del words[0]
        found.append(" ".join(words))
    return list(dict.fromkeys(filter(None, found)))


def span(text: str) -> tuple[str, str] | None:
    """Return the first and the last second of the first day, month or year that a text names."""
    match = _DATE.search(text)
    if match is None:
        return None
    year, month, day = match["only_year"] or match["year"], match["month"], match["before"] or match["after"]
    if match["iso"]:
        first = last = match["iso"]
    elif not month:
        first, last = f"{year}-01-01", f"{year}-12-31"
    else:
        first = f"{year}-{_MONTHS[month]:02}-{int(day or 1):02}"
        last = first if day else f"{first[:-2]}{calendar.monthrange(int(year), _MONTHS[month])[1]}"
    try:
        date.fromisoformat(first)
    except ValueError:
        return None
    return f"{first}T00:00:00Z", f"{last}T23:59:59Z"


def first_json(text: str, opening: str) -> Any:
    """Return the JSON value at the first opening bracket in a text, None without one."""
    start = text.find(opening)
    return None if start < 0 else json.JSONDecoder().raw_decode(text, start)[0]


# An embedding: a hashed bag of words

_DIMENSIONS = 384


def embed(text: str) -> list[float]:
    """Return a unit vector: each stem adds to the two places that its hash chooses."""
    vector = [0.0] * _DIMENSIONS
    for stem in stems(text) or [""]:
        digest = zlib.crc32(stem.encode())
        vector[digest % _DIMENSIONS] += 1.0
        vector[(digest >> 9) % _DIMENSIONS] += 0.5
    length = math.hypot(*vector)
    return [value / length for value in vector]


# Retain: the facts in a document


def extract_facts(prompt: str) -> Json:
    """Make each clause of the document a fact; what "I" did is the assistant's own experience."""
    document = re.split(r"^(?:Content|Text):\s*$", prompt, maxsplit=1, flags=re.MULTILINE)[-1]
    return {"facts": [_fact(clause) for clause in clauses(document)]}


def _fact(clause: str) -> Json:
    occurred = span(clause)
    return {
        "what": sentences([clause]),
        # The server would append these to the fact's text, and the clause already says them.
        **dict.fromkeys(("when", "where", "who", "why"), "N/A"),
        "fact_type": "assistant" if clause.startswith("I ") else "world",
        "fact_kind": "event" if occurred else "conversation",
        "occurred_start": occurred and occurred[0],
        "occurred_end": occurred and occurred[1],
        "entities": names(clause),
    }


# Consolidate: observations over facts

_LONGEST_OBSERVATION = 240  # characters; a subject with more to say gets another observation
_FACTS_HEADING = re.compile(r"^\W*new facts\W*$", re.IGNORECASE | re.MULTILINE)
_FACT = re.compile(r"^\s*\[([0-9a-f-]{36})\] (.+?)(?: [(|] ?(?:occurred|mentioned)_.*)?$", re.MULTILINE)


def consolidate(prompt: str) -> Json:
    """Join the new facts of each subject into an observation: an existing one while it has room, else a new one."""
    after_heading = _FACTS_HEADING.split(prompt)[-1]
    facts_part, observations_part = re.split("existing observations|$", after_heading, maxsplit=1, flags=re.IGNORECASE)
    observations = first_json(observations_part, "[") or []
    facts = sorted(((_subject(text), text, key) for key, text in _FACT.findall(facts_part)), key=itemgetter(0))
    creates: list[Json] = []
    updates: list[Json] = []
    for subject, group in groupby(facts, key=itemgetter(0)):
        _, texts, ids = map(list, zip(*group, strict=True))
        for observation in observations:
            text = _observation([observation["text"], *texts])
            if _subject(observation["text"]) == subject and len(text) <= _LONGEST_OBSERVATION:
                change = {"observation_id": observation["id"], "text": text, "source_fact_ids": ids}
                updates.append(change | {"reason": f"More about {subject}."})
                break
        else:
            change = {"text": _observation(texts), "source_fact_ids": ids}
            creates.append(change | {"reason": f"No observation about {subject} has room for this."})
    return {"creates": creates, "updates": updates, "deletes": []}


def _subject(text: str) -> str:
    first = text.split(maxsplit=1)[0]
    return first if first == "I" else next(iter(names(text)), first)


def _observation(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(clause for text in texts for clause in clauses(text))) + "."


# Reflect: an answer from retrieved memories

_MOST_CLAUSES = 4


@dataclass(frozen=True)
class Memory:
    """One item of a retrieval tool's result, and the name of the list in which an answer cites it."""

    id: str
    text: str
    cited_in: str


@dataclass(frozen=True)
class Reflection:
    """An answer and the memories on which it rests."""

    text: str
    cited: Sequence[Memory]


def reflect(question: str, memories: Sequence[Memory]) -> Reflection:
    """Repeat the clauses that share most words with the question, and cite every memory that states one of them."""
    wanted = frozenset(stems(question))
    shared = {clause: len(wanted.intersection(stems(clause))) for memory in memories for clause in clauses(memory.text)}
    most = max(shared.values(), default=0)
    chosen = [clause for clause, count in shared.items() if count == most][:_MOST_CLAUSES]
    cited = [memory for memory in memories if not frozenset(chosen).isdisjoint(clauses(memory.text))]
    if not cited:
        return Reflection("No memory says anything about this.", ())
    count = "1 memory" if len(cited) == 1 else f"{len(cited)} memories"
    return Reflection(f"From {count}: {sentences(chosen)}", cited)


def statement(reflection: str) -> str:
    """Return what a reflection says, less what it says about itself."""
    return re.sub(r"\AFrom \d+ memor(?:y|ies): ", "", reflection)


# Any other JSON Schema: the simplest value that obeys it

_CERTAINTY = 0.9  # what a number that is no integer is taken to ask for


def fill(schema: object, text: str, root: object = None) -> object:
    """Return a value that obeys a schema and says, where it can, what the text says."""
    root = schema if root is None else root
    node = _resolve(schema, root)
    for keyword in ("const", "default"):
        if node.get(keyword) is not None:
            return node[keyword]
    if "enum" in node:
        return next((value for value in node["enum"] if str(value).lower() in text.lower()), node["enum"][0])
    kinds = node.get("type") or ("object" if "properties" in node else "array" if "items" in node else "string")
    match kinds if isinstance(kinds, str) else next(kind for kind in kinds if kind != "null"):
        case "object":
            return {key: fill(value, text, root) for key, value in node.get("properties", {}).items()}
        case "array":
            return _fill_array(node, text, root)
        case "string":
            return _fill_string(node, text)
        case kind:
            return {"boolean": True, "null": None}.get(kind, _fill_number(node, text, whole=kind == "integer"))


def _resolve(schema: object, root: object) -> Json:
    node: Json = schema if isinstance(schema, dict) else {}
    options = node.get("anyOf") or node.get("oneOf") or node.get("allOf")
    if options:
        return _resolve(next(option for option in options if option != {"type": "null"}), root)
    if "$ref" in node:
        target = root
        for key in node["$ref"].removeprefix("#/").split("/"):
            target = target[key] if isinstance(target, dict) else None
        return _resolve(target, root)
    return node


def _fill_array(node: Json, text: str, root: object) -> list[object]:
    values: list[object] = []
    for clause in clauses(text) or [text]:
        value = fill(node.get("items"), clause, root)
        if value not in values:
            values.append(value)
    values += values[-1:] * (node.get("minItems", 0) - len(values))
    return values[: node.get("maxItems")]


def _fill_number(node: Json, text: str, *, whole: bool) -> float:
    stated = re.search(r"(?<![\w-])\d{1,3}(?![\w-])", _DATE.sub("", text))
    value: float = (int(stated[0]) if stated else len(clauses(text))) if whole else _CERTAINTY
    step = 1 if whole else 0.01
    least: float = max(node.get("minimum", -math.inf), node.get("exclusiveMinimum", -math.inf) + step)
    most: float = min(node.get("maximum", math.inf), node.get("exclusiveMaximum", math.inf) - step)
    return min(max(value, least), most)


def _fill_string(node: Json, text: str) -> str:
    if node.get("format") in ("date", "date-time"):
        moment = (span(text) or ("2025-01-01T00:00:00Z",))[0]
        return moment[:10] if node["format"] == "date" else moment
    return text[: node.get("maxLength")].ljust(node.get("minLength", 0), ".")
