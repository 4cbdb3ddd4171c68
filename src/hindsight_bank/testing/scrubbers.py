"""What must not be in a cassette, and what stands for it."""

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

from hindsight_bank.session import META

Json = Any
Body = str | bytes | None
Headers = Mapping[str, list[str]]
T = TypeVar("T", str, bytes, None)

LOCAL: Final = "http://localhost:8888"
SESSION: Final = "mcp-session-id"

# Every place where a client looks: a bank's endpoint, one for all banks, an event stream of 2024.
_ENDPOINT: Final = re.compile(r"https?://([^/?#]+)(?=/mcp/|/(?:mcp|sse)$)")
_KEYS: Final = ("authorization", "proxy-authorization", "x-api-key", "api-key")
# Shorter secrets, as tests use them, are hidden only as whole words: "k" is not the k of "tokens".
_UNMISTAKABLE: Final = 8
# All others stay out, whoever sent them: keys and cookies, dates, the names of machines and programs.
_HEADERS: Final = frozenset(
    ("content-type", "location", "mcp-method", "mcp-name", "mcp-protocol-version", SESSION, "retry-after")
)


def local(uri: str) -> str:
    """Return a URI with the server of a bank replaced; others as they are."""
    return _ENDPOINT.sub(LOCAL, uri)


def places(uri: str) -> dict[str, str]:
    """Return the spellings of a bank's server, each with what is written in its place."""
    if (endpoint := _ENDPOINT.match(uri)) is None:
        return {}
    host = {} if endpoint[1] == "localhost" else {endpoint[1]: LOCAL.removeprefix("http://")}
    return {endpoint[0]: LOCAL} | host


def key(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that headers hold, without their scheme, each with what is written in its place."""
    return {headers[name].rpartition(" ")[2]: "KEY" for name in _KEYS if name in headers}


def secrets(conversation: Iterable[Headers]) -> dict[str, str]:
    """Return the keys and session ids in all headers of a conversation, each with what is written in its place."""
    found: dict[str, str] = {}
    sessions: list[str] = []
    for headers in conversation:
        values = {name.lower(): value[0] for name, value in headers.items()}
        found |= key(values)
        sessions += [values[SESSION]] if SESSION in values else []
    # Those of a cassette that is being added to have their names already.
    named = [session for session in sessions if re.fullmatch(r"session-\d+", session)]
    free = (name for number in itertools.count(1) if (name := f"session-{number}") not in named)
    return found | {session: session if session in named else next(free) for session in dict.fromkeys(sessions)}


def hide(text: T, names: Mapping[str, str]) -> T:
    """Return a text with each secret replaced, also where a URL, JSON, or JSON within JSON spells it otherwise."""
    if isinstance(text, bytes):
        return hide(text.decode("latin-1"), names).encode("latin-1")
    if not text or not names:
        return text
    longest_first = sorted(names, key=len, reverse=True)
    pattern = "|".join(map(_spelt, longest_first))
    return re.sub(pattern, lambda match: names[longest_first[(match.lastindex or 1) - 1]], text)


def few(headers: Headers, names: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the headers that may be written down."""
    kept = {name.lower(): values for name, values in headers.items() if name.lower() in _HEADERS}
    return {name: [hide(value, names) for value in kept[name]] for name in sorted(kept)}


def unversioned(message: Json) -> Json:
    """Return a message whose `clientInfo` names no version: a release of this package changes no conversation."""
    params = message.get("params") if isinstance(message, dict) else None
    if isinstance(params, dict):
        for holder, name in ((params, "clientInfo"), (params.get("_meta"), META + "clientInfo")):
            if isinstance(holder, dict) and isinstance(holder.get(name), dict):
                holder[name]["version"] = "*"
    return message


def _spelt(secret: str) -> str:
    """Return a pattern, one group, of a secret in which JSON may have put backslashes, any number of times."""
    escaped = "".join(
        r"\\+" if char == "\\" else rf"\\*{re.escape(char)}" if char in '"/' else re.escape(char) for char in secret
    )
    pattern = f"({escaped}|{re.escape(quote(secret))})"
    return pattern if len(secret) >= _UNMISTAKABLE else rf"(?<!\w){pattern}(?!\w)"
