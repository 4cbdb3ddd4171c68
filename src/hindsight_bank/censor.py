"""What a server says, made fit for an error: bounded, inert, without keys, session ids and the call's own words."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import groupby
from typing import Any, Final

# In characters: what is told of a sentence, and what is looked at for it.
_EXCERPT: Final = 300
_READ: Final = 2000
# In characters: the shortest line of a call that is veiled as a whole, and the shortest run out of a longer one, which
# a server may have cut. Less says nothing, and would veil what is useful.
_WORD: Final = 6
_RUN: Final = 16

_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
# pydantic quotes what it refuses, and FastMCP passes that on.
_QUOTED_INPUT: Final = re.compile(r"input_value=.*?(?=, input_type=|$)", re.DOTALL)

_said: Final[ContextVar[Any]] = ContextVar("said", default=None)


@contextmanager
def veiling(arguments: Any) -> Iterator[None]:
    """Let no error tell what the call in this block says: its texts are memories, or ask for them."""
    token = _said.set(arguments)
    try:
        yield
    finally:
        _said.reset(token)


class Censor:
    """Makes what a server says fit for an error."""

    def __init__(self, key: str | None) -> None:
        self.keyed = key is not None
        self._secrets = set() if key is None else {key}

    def hide(self, secret: str) -> None:
        """Let no error tell `secret` from now on."""
        self._secrets.add(secret)

    def clean(self, text: str) -> str:
        """Return a sentence on one line, bounded, without secrets and without the arguments it quotes."""
        text = _QUOTED_INPUT.sub("input_value=…", self._without_secrets(text))
        text = _one_line(text)[:_READ]
        text = _OwnWords([text]).veil(text).strip()
        return text if len(text) <= _EXCERPT else text[:_EXCERPT] + " …"

    def veil(self, value: Any) -> Any:
        """Return any JSON value without secrets."""
        return self._veiled(value, _OwnWords(map(_one_line, texts(value))))

    def _veiled(self, value: Any, own: "_OwnWords") -> Any:
        if isinstance(value, str):
            line = _one_line(text := self._without_secrets(value))
            return text if (veiled := own.veil(line)) == line else veiled
        if isinstance(value, list):
            return [self._veiled(item, own) for item in value]
        if isinstance(value, dict):
            return {self._veiled(name, own): self._veiled(item, own) for name, item in value.items()}
        return value

    def _without_secrets(self, text: str) -> str:
        for secret in list(self._secrets):
            text = text.replace(secret, "***")
        return text


class _OwnWords:
    """What the call says itself, as far as some texts repeat it."""

    def __init__(self, heard: Iterable[str]) -> None:
        said = list(texts(_said.get()))
        words = {part.strip() for text in said for part in (_one_line(text), *_CONTROLS.split(text))}
        self._words = sorted(words, key=len, reverse=True)
        runs = {run for text in heard for run in _runs(text)}
        self._runs = {run for word in self._words for run in _runs(word) if run in runs} if runs else set()

    def veil(self, text: str) -> str:
        for word in self._words:
            if len(word) >= _WORD:
                text = text.replace(word, "***")
        if not self._runs:
            return text
        own = [False] * len(text)
        for place, run in enumerate(_runs(text)):
            if run in self._runs:
                own[place : place + _RUN] = [True] * _RUN
        parts = groupby(zip(text, own, strict=True), key=lambda pair: pair[1])
        return "".join("***" if hidden else "".join(char for char, _ in part) for hidden, part in parts)


def _runs(text: str) -> Iterator[str]:
    return (text[place : place + _RUN] for place in range(len(text) - _RUN + 1))


def texts(value: Any, *, names: bool = True) -> Iterator[str]:
    """Yield every text in a JSON value; names of members too, after their values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts(item, names=names)
        if names and isinstance(value, dict):
            yield from value


def _one_line(text: str) -> str:
    return _CONTROLS.sub(" ", text)
