"""Whatever goes wrong below leaves as one of our errors, and says whether the request had gone out."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import httpx

from hindsight_bank.errors import AnswerLostError, BankError, UnreachableError
from hindsight_bank.network import Exchange

# Whose exceptions come from below.
_BELOW: Final = ("builtins", "h11", "httpcore", "socket", "ssl")
_UNREACHED: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


@contextmanager
def translated(exchange: Exchange) -> Iterator[None]:
    """Turn httpx's exceptions into ours, and what should not come from below, with what is known of the exchange."""
    try:
        yield
    except (BankError, MemoryError, RecursionError):
        raise
    except (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, httpx.StreamError) as error:
        if isinstance(error, httpx.ProtocolError):
            error.args = ()  # it quotes the bytes that could not be read
        error.__cause__ = error.__context__ = None
        raise _translate(error, exchange) from error.with_traceback(None)
    except Exception as error:  # an assertion of httpcore's, what h11 refuses to send; it may quote keys
        if type(error).__module__.partition(".")[0] not in _BELOW:
            raise  # of a signal handler, or of what stands in for the network in tests
        raise _broken(type(error), exchange) from None


def _translate(error: Exception, exchange: Exchange) -> BankError:
    if isinstance(error, httpx.TimeoutException):
        if exchange.is_connecting_late():
            return UnreachableError(f"no connection to {exchange.server} within {exchange.connect_limit:g} s")
        return exchange.deadline.error("unknown" if exchange.sent else "not_sent")
    if isinstance(error, _UNREACHED):
        hint = " (does it speak plain http?)" if "WRONG_VERSION_NUMBER" in str(error) else ""
        return UnreachableError(f"no connection to {exchange.server}: {error}{hint}")
    return _broken(type(error), exchange)


def _broken(kind: type[Exception], exchange: Exchange) -> BankError:
    if exchange.forked():
        return AnswerLostError("the process was forked during the request, which goes on in the parent alone")
    if not exchange.sent:
        return UnreachableError(f"the connection broke while the request was being sent ({kind.__name__})")
    return AnswerLostError(f"the connection broke before the whole answer was here ({kind.__name__})")
