"""Modules loaded at first use, and what else no fork may cut in two.

A thread that is importing holds a lock of CPython's, one a module; one that makes a TLS context holds OpenSSL's. A
child forked meanwhile inherits them held, by a thread that it does not have, and hangs when it needs them. So a fork
waits until nothing of the kind is being done by us; not for ever, since what is being loaded may itself wait for the
thread that forks.
"""

import importlib
import os
import threading
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Final

_PATIENCE: Final = 5.0  # seconds


class _Gate:
    """One thread loads, or one forks."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._passed = False

    def before_fork(self) -> None:
        self._passed = self.lock.acquire(timeout=_PATIENCE)

    def after_in_parent(self) -> None:
        if self._passed:
            self.lock.release()

    def after_in_child(self) -> None:
        if self._passed:
            self.lock.release()
        else:
            self.lock = threading.RLock()


_gate: Final = _Gate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_gate.before_fork, after_in_parent=_gate.after_in_parent, after_in_child=_gate.after_in_child
    )


def unforked() -> AbstractContextManager[object]:
    """Return a context to do in what no fork may cut in two."""
    return _gate.lock


def load(name: str) -> ModuleType:
    """Return the module of that full name."""
    with unforked():
        return importlib.import_module(name)
