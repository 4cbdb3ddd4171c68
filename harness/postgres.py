"""PostgreSQL for one server: pg0, the binary that Hindsight brings, in a home that stop removes again."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from harness.processes import Account, Background, HarnessError, failure

_USER = "hindsight-harness"
_SECONDS_TO_START = 60


class Postgres:
    """The database of one harness directory, empty at each start.

    PostgreSQL refuses to run as root. As root we therefore run it as a user made for it, in that user's home: the
    directory itself may lie where only root can go.
    """

    def __init__(self, directory: Path, logs: Path) -> None:
        if os.geteuid() == 0:
            user = _unprivileged_user()
            self._account = Account(user.pw_uid, user.pw_gid)
            self._home = Path(user.pw_dir) / hashlib.sha256(bytes(directory)).hexdigest()[:16]
        else:
            self._account = Account()
            self._home = directory / "postgres"
        postmaster = self._home / ".pg0/instances/bank/data/postmaster.pid"
        # SIGINT is PostgreSQL's fast shutdown, which does not wait for clients. While initdb still prepares the data,
        # the file begins with a negative number: no heir yet.
        self._process = Background(logs, "postgres", stop_signal=signal.SIGINT, heir=postmaster)

    def start(self, pg0: Path, port: int) -> str:
        """Start the database and return its URL."""
        self._home.mkdir()
        binary = shutil.copy(pg0, self._home)
        if self._account.user is not None and self._account.group is not None:
            os.chown(self._home, self._account.user, self._account.group)
        launcher = self._process.start(
            [binary, "start", "--name=bank", f"--port={port}"]
            + [f"--{option}=hindsight" for option in ("username", "password", "database")],
            env={"PATH": os.defpath, "HOME": str(self._home), "TMPDIR": str(self._home)},
            cwd=self._home,
            account=self._account,
        )
        try:
            status: int | str = launcher.wait(_SECONDS_TO_START)
        except subprocess.TimeoutExpired:
            status = f"no answer in {_SECONDS_TO_START} seconds"
        if status:
            raise failure(f"PostgreSQL did not start (status: {status}).", self._process.log)
        return f"postgresql://hindsight:hindsight@127.0.0.1:{port}/hindsight"

    def stop(self) -> None:
        """Stop the database and remove its home."""
        self._process.stop()
        shutil.rmtree(self._home, ignore_errors=True)


def _unprivileged_user() -> pwd.struct_passwd:
    message = ""
    for _ in range(20):
        with suppress(KeyError):
            return pwd.getpwnam(_USER)
        command = ["useradd", "--system", "--create-home", "--shell", "/bin/false", _USER]
        try:
            message = subprocess.run(command, capture_output=True, text=True, check=False).stderr.strip()
        except OSError as error:
            message = str(error)
        time.sleep(0.1)  # another start may be adding the same user, and then holds the file's lock
    raise HarnessError(f"PostgreSQL does not run as root, and the user {_USER} cannot be made for it: {message}")
