"""Processes that outlive the command that started them, and that a later command finds and stops.

Invariant: a process, and whatever inherits its files, holds a lock on its pid file for as long as it lives. A pid file
whose lock is free therefore names nobody, however its process ended, and a number that the system has since given to a
stranger is never signalled.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_POLL = 0.05  # seconds
_LAST_LINES = 20


class HarnessError(Exception):
    """What went wrong, in a sentence for the person at the terminal."""


def say(text: str) -> None:
    """Report progress; standard output is for results."""
    print(f"harness: {text}", file=sys.stderr, flush=True)


def failure(what: str, log: Path) -> HarnessError:
    """Make an error that names a log file and shows its end."""
    lines = re.sub(r"\x1b\[[\d;]*m", "", log.read_text(encoding="utf-8", errors="replace")).splitlines()
    return HarnessError("\n    ".join([f"{what} The end of {log}:", *filter(None, lines[-_LAST_LINES:])]))


@contextmanager
def exclusive(file: Path) -> Iterator[int]:
    """Keep others out while the file's descriptor is open here or in a process that inherited it."""
    with file.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another command that works in {file.parent}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def run(command: Sequence[str | Path], log: Path, lock: int) -> None:
    """Run a command to its end and end all of it if we are ended first.

    The command inherits the lock: where we had no time to end it, others wait for it.

    Raises:
        HarnessError: The command failed.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[lock],
            start_new_session=True,
        )
        try:
            status = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if status:
        raise failure(f"{' '.join(map(str, command))} failed (status {status}).", log)


@dataclass(frozen=True)
class Account:
    """The user and the group to become; None stays who we are."""

    user: int | None = None
    group: int | None = None


@dataclass(frozen=True)
class Background:
    """One background process with its pid file and its log."""

    directory: Path
    name: str
    stop_signal: signal.Signals = signal.SIGTERM
    heir: Path | None = None
    """A file that begins with the pid of the process that carries on, where the started one only prepares it."""

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return self.directory / f"{self.name}.log"

    @property
    def _pid_file(self) -> Path:
        return self.directory / f"{self.name}.pid"

    def start(
        self, command: Sequence[str | Path], env: Mapping[str, str], cwd: Path, account: Account | None = None
    ) -> subprocess.Popen[bytes]:
        """Start the process in a session of its own."""
        account = account or Account()
        with self._pid_file.open("w") as pid_file, self.log.open("wb") as log:
            fcntl.flock(pid_file, fcntl.LOCK_EX)
            return subprocess.Popen(
                # The process writes its own pid: were it ours to write, a signal at the wrong moment would lose it.
                ["/bin/sh", "-c", 'echo $$ && exec "$@" >&2', "sh", *command],
                stdin=subprocess.DEVNULL,
                stdout=pid_file,
                stderr=log,
                pass_fds=[pid_file.fileno()],
                start_new_session=True,
                env=env,
                cwd=cwd,
                user=account.user,
                group=account.group,
                extra_groups=None if account.group is None else [],
            )

    def alive(self) -> bool:
        """Tell whether the process or one of its children still lives."""
        with suppress(FileNotFoundError), self._pid_file.open() as pid_file:
            try:
                fcntl.flock(pid_file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def stop(self) -> None:
        """Ask the process to end, then make it end; return when it is gone."""
        if not self._end(self.stop_signal, 20.0):
            self.kill()

    def kill(self) -> None:
        """Make the process end at once, as in a crash; return when it is gone."""
        if not self._end(signal.SIGKILL, 10.0):
            raise HarnessError(f"The process of {self._pid_file} cannot be stopped.")

    def _end(self, signum: signal.Signals, patience: float) -> bool:
        """Signal the process, and its heir once there is one; tell whether it was gone in time."""
        told: set[int] = set()
        deadline = time.monotonic() + patience
        while self.alive():
            if time.monotonic() > deadline:
                return False
            leader = self._leader()
            if leader is not None and leader not in told:
                told.add(leader)
                with suppress(ProcessLookupError):
                    os.killpg(leader, signum)
            time.sleep(_POLL)
        return True

    def _leader(self) -> int | None:
        """Return whose group to signal now: the heir's once there is one, since the started process has then ended."""
        for file in filter(None, (self.heir, self._pid_file)):
            with suppress(OSError):
                words = file.read_text(encoding="utf-8").split()
                if words and words[0].isdecimal():
                    return int(words[0])
        return None
