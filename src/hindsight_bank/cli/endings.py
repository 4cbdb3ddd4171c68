"""How a command ends: an exit code and a sentence for each class of error; the codes are in the package's docstring."""

import os
from typing import Final

from hindsight_bank import errors

KEY_VARIABLE: Final = "HINDSIGHT_API_KEY"

OK: Final = 0
USAGE: Final = 2
NOT_REACHED: Final = 5
UNKNOWN: Final = 6
SOME_FAILED: Final = 10
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

_REPORT: Final = "please report it, with what --debug shows"
_LOG: Final = "the server's log tells more"
_LOOK: Final = "look before you repeat it: it may have run"

# Statuses whose own sentence says what to do: redirects, where no MCP endpoint is, and a request too large.
_TOLD: Final = (*range(300, 400), 404, 405, 413)

# The first class that fits an error counts: a subclass stands before its base.
_ENDINGS: Final[tuple[tuple[type[Exception], int, str], ...]] = (
    (errors.SettingsError, USAGE, ""),
    (errors.ArgumentsError, USAGE, ""),
    (errors.CredentialsError, 3, ""),
    (errors.UnauthorizedError, 3, "set HINDSIGHT_API_KEY, or store the key with hindsight-bank login"),
    (errors.NotFoundError, 4, ""),
    (errors.UnreachableError, NOT_REACHED, "check the URL, and that the server is running"),
    (errors.BackingOffError, NOT_REACHED, "wait a moment and try again"),
    (errors.AnswerLostError, UNKNOWN, _LOOK),
    (errors.DeadlineError, UNKNOWN, f"is the server busy? {_LOG}"),
    (errors.StatusError, 7, f"is this a Hindsight server? if so, {_LOG}"),
    (errors.RPCError, 7, _LOG),
    (errors.ToolError, 7, ""),  # the server's own sentence
    (errors.IncompatibleServer, 8, ""),
    (errors.ProtocolError, 8, f"is this a Hindsight server? if so, {_REPORT}"),
    (errors.AnswerError, 8, _REPORT),
    (ModuleNotFoundError, 9, "pip install 'hindsight-bank[cli]'"),
    (OSError, 11, ""),
    (Exception, 1, f"this is a fault of hindsight-bank: {_REPORT}"),
)


def ending(error: Exception, *, writes: bool = False) -> tuple[int, str]:
    """Return the exit code for an error, and a sentence that says what went wrong and what to do about it.

    Args:
        error: What ended the command.
        writes: Whether the command is one that must not be repeated blindly.
    """
    code, advice = next((code, advice) for kind, code, advice in _ENDINGS if isinstance(error, kind))
    outcome = error.outcome if isinstance(error, errors.BankError) else None
    if code == UNKNOWN and outcome == "not_sent":
        code, advice = NOT_REACHED, "nothing was sent"
    if writes and code > UNKNOWN and outcome == "unknown":
        return code, f"{str(error).removesuffix('.')}; {_LOOK}"
    what = str(error) or type(error).__name__
    if isinstance(error, errors.UnauthorizedError) and KEY_VARIABLE in os.environ:
        what, advice = f"HTTP {error.status}: the server refused the key in {KEY_VARIABLE}", "set another, or unset it"
    elif isinstance(error, errors.UnauthorizedError):  # whose message speaks to programmers
        what = f"HTTP {error.status}: the server wants an API key, or another one"
    elif _says_what_to_do(error, what):
        advice = ""
    elif isinstance(error, ModuleNotFoundError):
        what = f"the package {error.name} is missing"
        advice = advice.replace("cli", "pages") if error.name == "textual" else advice
    elif isinstance(error, OSError) and not isinstance(error, errors.BankError):
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
    return code, f"{what.removesuffix('.')}; {advice}" if advice else what


def _says_what_to_do(error: Exception, what: str) -> bool:
    if isinstance(error, errors.StatusError):
        return error.status in _TOLD
    return isinstance(error, errors.ProtocolError) and "; " in what
