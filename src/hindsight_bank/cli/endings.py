"""How a command ends: the exit code and the advice of each class of error; the table is in the package's docstring."""

from typing import Final

from hindsight_bank import errors

OK: Final = 0
FAULT: Final = 1
USAGE: Final = 2
EXTRA_MISSING: Final = 9
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

# The first class that fits an error counts: a subclass stands before its base.
_ENDINGS: Final[tuple[tuple[type[errors.BankError], int, str], ...]] = (
    (errors.SettingsError, USAGE, ""),
    (errors.ArgumentsError, USAGE, ""),
    (errors.CredentialsError, 3, "see to the key and try again"),
    (errors.UnauthorizedError, 3, "name the environment variable that holds the key: --key-env NAME"),
    (errors.NotFoundError, 4, "check the name"),
    (errors.UnreachableError, 5, "check the URL, and that the server is running"),
    (errors.BackingOffError, 5, "wait a moment and try again"),
    (errors.AnswerLostError, 6, "look before you repeat it: it may have run"),
    (errors.DeadlineError, 6, "is the server busy? its log tells more"),
    (errors.StatusError, 7, "is this a Hindsight server? its log tells more"),
    (errors.RPCError, 7, "the server's log tells more"),
    (errors.ToolError, 7, "the server's log tells more"),
    (errors.IncompatibleServer, 8, "use a server that has them"),
    (errors.ProtocolError, 8, "please report it, with --debug"),
    (errors.AnswerError, 8, "please report it, with --debug"),
)


def ending(error: Exception) -> tuple[int, str]:
    """Return the exit code of an error, and what to do about it."""
    for kind, code, advice in _ENDINGS:
        if isinstance(error, kind):
            return code, advice
    return FAULT, "this is a fault of hindsight-bank: please report it, with --debug"
