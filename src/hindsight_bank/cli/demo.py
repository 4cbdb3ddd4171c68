"""The command `demo`: each step of the main job is shown as code, run, and its result shown."""

import inspect
import os
import textwrap
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.resources import as_file, files
from typing import Final, ParamSpec, TypeVar

from hindsight_bank import (
    ArgumentsError,
    Bank,
    BankError,
    CredentialsError,
    DeadlineError,
    NotFoundError,
    SettingsError,
    ToolError,
    UnauthorizedError,
    __version__,
)
from hindsight_bank.cli import steps, views
from hindsight_bank.cli.endings import KEY_VARIABLE
from hindsight_bank.cli.screen import Screen

P = ParamSpec("P")
R = TypeVar("R")

# What demo.yaml was recorded with; cassettes name every server so.
RECORDED_URL: Final = "http://localhost:8888"
RECORDED_BANK: Final = "demo"

# Seconds: how long the server's language model may take to extract the facts, and between two looks.
_PATIENCE: Final = 120.0
_PAUSE: Final = 0.25


def demo(args: Namespace) -> None:
    """Run the demo on a server, or replay the recording of one."""
    screen = Screen()
    screen.heading(f"hindsight-bank {__version__}")
    screen.say("The main job, each step as the code that runs it. The people are invented.")
    if args.offline:
        screen.say("A replay of a conversation with a real server: nothing is sent, and no time is measured.")
        _replay(screen)
        screen.say("\nOn a server of your own: hindsight-bank demo URL")
        return
    bank_id = args.bank or f"{datetime.now(UTC).astimezone():demo-%Y%m%d-%H%M%S}"
    key = os.environ.get(KEY_VARIABLE)
    try:
        Demo(screen, live=True).run(args.url, bank_id, key)
    except UnauthorizedError as error:
        if key is not None:
            raise
        raise CredentialsError(f"HTTP {error.status}: the server wants an API key; set {KEY_VARIABLE}") from error
    if not args.bank:
        header = f' -H "Authorization: Bearer ${KEY_VARIABLE}"' if key is not None else ""
        screen.say(f"\nThe bank {bank_id} stays on the server. To delete it:")
        screen.note(f"curl -X DELETE{header} {args.url.rstrip('/')}/v1/default/banks/{bank_id}", "bold")


def _replay(screen: Screen) -> None:
    from hindsight_bank.testing import cassette  # noqa: PLC0415 - slow to load, needed only here

    with as_file(files("hindsight_bank.cli") / "demo.yaml") as recording, cassette(recording):
        Demo(screen, live=False).run(RECORDED_URL, RECORDED_BANK, None)


class Demo:
    """One run of all steps.

    Args:
        screen: Where it shows.
        live: Whether a server answers: then time is measured, and passes between two looks.
    """

    def __init__(self, screen: Screen, *, live: bool) -> None:
        self._screen = screen
        self._live = live
        self._number = 0
        self._took = ""

    def run(self, server_url: str, bank_id: str, key: str | None) -> None:
        """Run all steps in a bank that is new or empty."""
        with self._step(steps.connect, server_url, bank_id, key) as bank:
            self._screen.done(f"connected to {bank.server_url}{self._took}: all six tools are there")
            _refuse_used(bank)
            self._retain(bank)
            self._health(bank)
            self._wait(bank)
            self._recall(bank)
            self._reflect(bank)
            self._browse(bank)
            self._errors(bank)

    def _tell(self, step: Callable[..., object]) -> None:
        """Show a step: its name, its sentence, its code."""
        self._number += 1
        self._screen.heading(f"{self._number} {step.__name__.replace('_', ' ')}")
        self._screen.say(step.__doc__ or "")
        self._screen.code(code(step))

    def _step(self, step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Show a step and run it."""
        self._tell(step)
        began = time.perf_counter()
        with self._screen.spinner(step.__name__):
            result = step(*args, **kwargs)
        self._took = f" in {time.perf_counter() - began:.2f} s" if self._live else ""
        return result

    def _retain(self, bank: Bank) -> None:
        self._tell(steps.retain)
        with self._screen.progress("accepted", len(steps.NOTES)) as bar:

            def passing() -> Iterator[steps.Note]:
                for count, note in enumerate(steps.NOTES, start=1):
                    yield note
                    bar.reach(count)
                    self._screen.done(note.text)

            steps.retain(bank, passing())

    def _health(self, bank: Bank) -> None:
        health = self._step(steps.health, bank)
        views.health(self._screen, health, f"{health.seconds * 1000:.0f} ms" if self._live else "not measured")

    def _wait(self, bank: Bank) -> None:
        self._tell(steps.wait)
        began, seen = time.monotonic(), 0
        with self._screen.progress("visible", len(steps.NOTES)) as bar:
            while seen < len(steps.NOTES) and time.monotonic() - began < _PATIENCE:
                tags = steps.wait(bank)
                seen = sum(note.tags[-1] in tags for note in steps.NOTES)
                bar.reach(seen)
                if self._live and seen < len(steps.NOTES):
                    time.sleep(_PAUSE)
        if not seen:
            raise DeadlineError(
                f"the server accepted the texts, but none was visible after {_PATIENCE:g} s",
                seconds=_PATIENCE,
                operation="wait",
                outcome="unknown",
            )
        took = f" after {time.monotonic() - began:.1f} s" if self._live else ""
        self._screen.done(f"{seen} of {len(steps.NOTES)} texts are visible{took}")
        if seen < len(steps.NOTES):
            self._screen.say("The demo goes on with these; the server is still busy with the others.", "yellow")

    def _recall(self, bank: Bank) -> None:
        found = self._step(steps.recall, bank).results
        views.facts(self._screen, found)
        self._screen.done(f"{len(found)} facts{self._took}")

    def _reflect(self, bank: Bank) -> None:
        try:
            answer = self._step(steps.reflect, bank)
        except (ArgumentsError, ToolError) as error:  # a server before 0.7.0, or without a language model
            views.caught(self._screen, error)
            return
        views.reflection(self._screen, answer)
        tokens = f", {answer.usage.total_tokens} tokens" if answer.usage else ""
        self._screen.done(f"answered{self._took}{tokens}")

    def _browse(self, bank: Bank) -> None:
        memories = self._step(steps.browse, bank)
        views.memories(self._screen, memories)
        self._screen.done(f"{len(memories)} memories{self._took}")
        views.memory(self._screen, self._step(steps.fetch, bank, memories[0].id))

    def _errors(self, bank: Bank) -> None:
        for step in (steps.break_a_rule, steps.miss_a_memory):
            try:
                self._step(step, bank)
            except BankError as error:
                views.caught(self._screen, error)


def code(step: Callable[..., object]) -> str:
    """Return the body of a step: what follows its signature and its docstring, a line each, without ``return``."""
    lines = inspect.getsource(step).splitlines()[2:]
    if lines[-1].lstrip().startswith("return "):
        lines.pop()
    return textwrap.dedent("\n".join(lines))


def _refuse_used(bank: Bank) -> None:
    """Keep the demo's memories out of a bank that holds others."""
    try:
        total = bank.list_memories(limit=0).total
    except NotFoundError:
        return
    if total:
        raise SettingsError(
            f"the bank {bank.bank_id} holds {total} memories already: the demo wants a new or empty one;"
            " leave out --bank and it makes its own"
        )
