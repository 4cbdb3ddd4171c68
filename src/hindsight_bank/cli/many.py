"""`retain --file`: each line of a file handed to the bank, and a report of what became of it."""

import json
import math
from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import Any, BinaryIO, Final

from hindsight_bank import (
    ArgumentsError,
    Bank,
    BankError,
    IncompatibleServer,
    NotFoundError,
    SettingsError,
    ToolError,
    UnauthorizedError,
)
from hindsight_bank.cli import endings, output
from hindsight_bank.cli.opening import chosen, opened
from hindsight_bank.cli.report import Report
from hindsight_bank.cli.screen import Bar, Screen

_KEYS: Final = frozenset(
    ("content", "context", "timestamp", "tags", "metadata", "document_id", "strategy", "update_mode")
)
# Faults of the line's own, and faults that would meet every line.
_ITS_OWN: Final = (ArgumentsError, ToolError)
_HOPELESS: Final = (UnauthorizedError, IncompatibleServer, NotFoundError)
# So many faults of neither kind, one after the other, end a run.
_PATIENCE: Final = 3

_WORDS: Final = {
    "accepted": "accepted",
    "before": "accepted before",
    "bad": "bad",
    "refused": "refused by the server",
    "not_sent": "not sent",
    "unknown": "unknown (may have run)",
}


def retain_file(args: Namespace) -> int:
    """Retain each line of a file that was not accepted before, and return the exit code."""
    path = Path(args.file)
    if args.file == "-" or (path.exists() and not path.is_file()):
        raise SettingsError(f"--file {args.file} is no regular file: write the lines into one, for the report's sake")
    place = Path(args.report or f"{path}.report")
    binding = chosen(args)
    screen = Screen(stderr=True)
    told = "nothing was sent"
    with path.open("rb") as file:
        total = sum(1 for line in file if line.strip())
        file.seek(0)
        try:
            with (
                opened(binding, timeout=args.timeout, new_bank=args.new_bank) as bank,
                Report.opened(place, binding) as report,
                screen.progress("lines", total) as bar,
            ):
                run = Run(bank, report, screen, repeat_unknown=args.repeat_unknown)
                try:
                    _take_all(run, file, bar)
                finally:
                    told = f"{_told(run, total)}; report: {place}"
        except KeyboardInterrupt:
            screen.note(f"interrupted: {told}; run it again to go on")
            raise
    _summary(args, run, total, place)
    if run.stopped:
        raise run.stopped
    return run.ending()


def _take_all(run: "Run", file: BinaryIO, bar: Bar) -> None:
    """Take each line that is not blank, until the last or one that ends the run."""
    for number, line in enumerate(file, start=1):
        if line.strip():
            run.take(number, line.strip())
        bar.reach(run.taken)
        if run.stopped:
            break


class Run:
    """One run over a file.

    Attributes:
        counts: How many lines came to which end: accepted (now), before (accepted by an earlier run), bad, refused,
            not_sent, unknown.
        stopped: The error that ends the run before the last line, if one does.
    """

    def __init__(self, bank: Bank, report: Report, screen: Screen, *, repeat_unknown: bool) -> None:
        self.counts = dict.fromkeys(("accepted", "before", "bad", "refused", "not_sent", "unknown"), 0)
        self.stopped: BankError | None = None
        self._bank = bank
        self._report = report
        self._screen = screen
        self._repeat_unknown = repeat_unknown
        self._in_a_row = 0
        # By document: the line that was not accepted; and when the latest was, and the latest that replaces. Times are
        # places in the report, so that a run knows them from the runs before it.
        self._held: dict[str, int] = {}
        self._latest: dict[str, float] = {}
        self._replaced: dict[str, float] = {}

    @property
    def taken(self) -> int:
        """How many lines came to an end."""
        return sum(self.counts.values())

    def take(self, number: int, line: bytes) -> None:
        """Retain a line, unless an earlier run did, or may have and would do it twice.

        The lines of one document keep their order: none is sent before an earlier one was accepted, and what an earlier
        one would undo is sent again after it.
        """
        name, earlier, place = self._report.before(line)
        document = ""
        try:
            given = _object_in(line)
            document = _document(given)
            _check_keys(given)
        except ValueError as error:
            self._failed(number, name, "bad", str(error))
            self._held[document] = number
            return
        if earlier == "accepted" and not self._undone(document, given, place):
            self.counts["before"] += 1
            self._stands(document, given, place)
        elif earlier == "unknown" and not (self._repeat_unknown or _replaces(given)):
            self._count(number, "unknown", "it may have run before; only --repeat-unknown sends it again")
            self._held[document] = number
        elif document and document in self._held:
            held = f"line {self._held[document]}, of the same document, was not accepted"
            if earlier is None:
                self._report.tell(name, number, "not_sent", error=held)
            self._count(number, "not_sent", held)
        elif not self._send(number, name, given):
            self._held[document] = number
        else:
            self._stands(document, given, math.inf)

    def ending(self) -> int:
        """Return the exit code of a run that came to the last line."""
        if self.counts["unknown"]:
            return endings.UNKNOWN
        return endings.SOME_FAILED if any(self.counts[end] for end in ("bad", "refused", "not_sent")) else endings.OK

    def _undone(self, document: str, given: dict[str, Any], place: int) -> bool:
        """Tell whether a line must be sent again, since one that stands before it in the file was accepted after it."""
        later = self._latest if _replaces(given) else self._replaced
        return place < later.get(document, -1)

    def _stands(self, document: str, given: dict[str, Any], place: float) -> None:
        """Remember when a line was accepted."""
        for latest in (self._latest, self._replaced) if _replaces(given) else (self._latest,):
            latest[document] = max(place, latest.get(document, -1))

    def _send(self, number: int, name: str, given: dict[str, Any]) -> bool:
        """Send a line, and tell whether it was accepted."""
        self._report.announce(name, number)
        try:
            receipt = self._bank.retain(**given)
        except BankError as error:
            own = isinstance(error, _ITS_OWN) and not isinstance(error, _HOPELESS)
            self._in_a_row = 0 if own else self._in_a_row + 1
            if isinstance(error, _HOPELESS) or self._in_a_row == _PATIENCE:
                self.stopped = error
            end = "bad" if isinstance(error, ArgumentsError) else error.outcome
            self._failed(number, name, end, f"{type(error).__name__}: {error}")
        except KeyboardInterrupt:
            self.counts["unknown"] += 1
            raise
        else:
            self._in_a_row = 0
            self.counts["accepted"] += 1
            self._report.tell(name, number, "accepted", operation_id=receipt.operation_id)
            return True
        return False

    def _failed(self, number: int, name: str, end: str, sentence: str) -> None:
        self._report.tell(name, number, end, error=sentence)
        self._count(number, end, sentence)

    def _count(self, number: int, end: str, sentence: str) -> None:
        self.counts[end] += 1
        self._screen.note(f"line {number}: {end.replace('_', ' ')}: {sentence}")


def _object_in(line: bytes) -> dict[str, Any]:
    """Return the object that a line holds, or raise `ValueError` saying what it holds instead."""
    try:
        given = json.loads(line, object_pairs_hook=_object)
    except json.JSONDecodeError as error:  # which quotes nothing
        raise ValueError(f"it is no JSON: {error.msg}, column {error.colno}") from None
    except (UnicodeDecodeError, RecursionError):
        raise ValueError("it is no JSON") from None
    if not isinstance(given, dict):
        raise ValueError("it is no object with a content")  # noqa: TRY004 - as above
    return given


def _check_keys(given: dict[str, Any]) -> None:
    """Raise `ValueError` unless an object is arguments of `Bank.retain`."""
    if "content" not in given:
        raise ValueError("it is no object with a content")
    if strange := sorted(given.keys() - _KEYS):
        raise ValueError(f"it has the key {strange[0]!r}, which is none of {', '.join(sorted(_KEYS))}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, each of whose keys is there once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"it has the key {twice!r} twice")
    return found


def _replaces(given: dict[str, Any]) -> bool:
    """Tell whether a text takes the place of the one before, so that sending it twice does no harm."""
    return bool(_document(given)) and given.get("update_mode") != "append"


def _document(given: dict[str, Any]) -> str:
    """Return the document that a text belongs to, or an empty string."""
    document = given.get("document_id")
    return document if isinstance(document, str) else ""


def _told(run: Run, total: int) -> str:
    """Return how many lines came to which end, in words."""
    told = [f"{count} {_WORDS[end]}" for end, count in run.counts.items() if count]
    if left := total - run.taken:
        told.append(f"{left} left")
    return ", ".join(told) or "no lines"


def _summary(args: Namespace, run: Run, total: int, place: Path) -> None:
    """Show how many lines came to which end."""
    if args.json:
        output.document({**run.counts, "report": str(place)})
        return
    Screen().note(f"{_told(run, total)}; report: {place}")
