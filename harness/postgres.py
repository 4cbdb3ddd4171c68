"""PostgreSQL for one server: pg0, the binary that Hindsight brings, with a home that stop removes again."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.processes import Account, Background, HarnessError, failure, say

_USER = "hindsight-harness"  # PostgreSQL refuses to run as root: as root we run it as this user, and make it if need be
_SECONDS_TO_START = 60


@dataclass(frozen=True)
class Postgres:
    """The database that belongs to a harness directory, empty at each start."""

    directory: Path
    logs: Path

    def start(self, pg0: Path, port: int) -> str:
        """Start the database and return its URL."""
        if os.geteuid() == 0:
            _make_user()
        self.home.mkdir(parents=True)
        account = self._account
        if account.user is not None and account.group is not None:
            os.chown(self.home, account.user, account.group)
        # A copy: a directory below root's home is closed to the user.
        command = [shutil.copy(pg0, self.home), "start", "--name", "bank", "--port", str(port)]
        command += ["--username", "hindsight", "--password", "hindsight", "--database", "hindsight"]
        env = {"PATH": os.defpath, "HOME": str(self.home), "TMPDIR": str(self.home)}
        launcher = self._process.start(command, env, self.home, account)
        try:
            status = launcher.wait(_SECONDS_TO_START)
        except subprocess.TimeoutExpired:
            what = f"PostgreSQL has not started after {_SECONDS_TO_START} seconds."
            raise failure(what, self._process.log) from None
        if status:
            what = f"PostgreSQL did not start (status {status})."
            raise failure(what, self._process.log)
        return f"postgresql://hindsight:hindsight@127.0.0.1:{port}/hindsight"

    def stop(self) -> None:
        """Stop the database and remove its home."""
        self._process.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    @cached_property
    def home(self) -> Path:
        """Where pg0 unpacks PostgreSQL and keeps the data."""
        if os.geteuid() != 0:
            return self.directory / "postgres"
        return Path("~" + _USER).expanduser() / hashlib.sha256(bytes(self.directory)).hexdigest()[:16]
