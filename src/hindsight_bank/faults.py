"""Whatever goes wrong below leaves as one of our errors, and says whether the request had gone out."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import httpx

from hindsight_bank.errors import AnswerLostError, BankError, UnreachableError
from hindsight_bank.http1 import FramingError
from hindsight_bank.network import Exchange

# Our connections raise OSError and FramingError; httpx, and what stands in for the network in tests, the others.
_BELOW: Final = (
    OSError,
    FramingError,
    httpx.HTTPError,
    httpx.InvalidURL,
    httpx.CookieConflict,
    httpx.StreamError,
)
_LATE: Final = (TimeoutError, httpx.TimeoutException)
_UNREACHED: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


@contextmanager
def translated(exchange: Exchange) -> Iterator[None]:
    """Turn what is the network's fault into our errors, with what is known of the exchange."""
    try:
        yield
    except BankError:
        raise
    except _BELOW as error:
        if isinstance(error, httpx.ProtocolError):
            error.args = ()  # it may quote bytes that could not be read
        error.__cause__ = error.__context__ = None
        raise _translate(error, exchange) from error.with_traceback(None)
    except UnicodeError as error:  # a header that cannot go out, and which the error quotes
        raise _broken(type(error), exchange) from None


def _translate(error: Exception, exchange: Exchange) -> BankError:
    if exchange.forked():
        return _broken(type(error), exchange)
    late = isinstance(error, _LATE) and not getattr(error, "errno", None)  # with one, it is the system that gave up
    if late and exchange.is_connecting_late():
        return UnreachableError(f"no connection to {exchange.server} within {exchange.connect_limit:g} s")
    if late:
        return exchange.deadline.error("unknown" if exchange.sent else "not_sent")
    if isinstance(error, _UNREACHED) or exchange.connecting is not None:
        hint = " (does it speak plain http?)" if "WRONG_VERSION_NUMBER" in str(error) else ""
        return UnreachableError(f"no connection to {exchange.server}: {error}{hint}")
    return _broken(type(error), exchange)


def _broken(kind: type[Exception], exchange: Exchange) -> BankError:
    if exchange.forked():
        return AnswerLostError("the process was forked during the request, which goes on in the parent alone")
    if not exchange.sent:
        return UnreachableError(f"the connection broke while the request was being sent ({kind.__name__})")
    return AnswerLostError(f"the connection broke before the whole answer was here ({kind.__name__})")
