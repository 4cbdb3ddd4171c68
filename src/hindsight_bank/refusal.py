"""What a server says when it refuses: an HTTP answer other than success, turned into the error that fits.

Everything quoted here is a server's word, so it goes through the `Censor` first: bounded, inert, without our secrets.
"""

import email.utils
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec
from attrs import field, frozen
from msgspec import UNSET

from hindsight_bank import jsonrpc
from hindsight_bank.errors import (
    BankError,
    IncompatibleServer,
    Outcome,
    ProtocolError,
    RPCError,
    StatusError,
    UnauthorizedError,
)
from hindsight_bank.session import UNSUPPORTED_VERSION

_EXCERPT: Final = 300
_INTERNAL_ERROR: Final = -32603
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
# pydantic quotes what it refuses, and FastMCP passes that on.
_QUOTED_INPUT: Final = re.compile(r"input_value=.*?(?=, input_type=|$)", re.DOTALL)


class Censor:
    """Makes what a server says fit for an error."""

    def __init__(self, key: str | None) -> None:
        self.keyed = key is not None
        self._secrets = set() if key is None else {key}

    def hide(self, secret: str) -> None:
        """Let no error tell `secret` from now on."""
        self._secrets.add(secret)

    def clean(self, text: str) -> str:
        """Return a sentence on one line, bounded, without secrets and without the arguments it quotes."""
        text = _CONTROLS.sub(" ", _QUOTED_INPUT.sub("input_value=…", self.veil(text))).strip()
        return text if len(text) <= _EXCERPT else text[:_EXCERPT] + " …"

    def veil(self, value: Any) -> Any:
        """Return any JSON value without secrets."""
        if isinstance(value, str):
            for secret in list(self._secrets):
                value = value.replace(secret, "***")
        elif isinstance(value, list):
            return [self.veil(item) for item in value]
        elif isinstance(value, dict):
            return {self.veil(name): self.veil(item) for name, item in value.items()}
        return value


@frozen
class Refusal:
    """An HTTP answer other than success."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    def rpc_error(self) -> jsonrpc.Error | None:
        """Return the JSON-RPC error in the body, whatever its id: servers put null or a placeholder there."""
        try:
            error = jsonrpc.decode(self.body).error
        except ProtocolError:
            return None
        return None if error is UNSET else error

    def error(self, url: str, censor: Censor) -> BankError:
        """Return the error for a refusal that came from `url`."""
        status, says = self.status, self._excerpt(censor)
        if status in (401, 403):
            return UnauthorizedError(
                f"HTTP {status}: the server wants {'another' if censor.keyed else 'an'} API key{says};"
                " pass Bank(..., api_key=...), for example with stored_key(server_url, bank_id)",
                status=status,
            )
        transient = status == 429 or status >= 500  # noqa: PLR2004 - HTTP
        if not transient and (error := self.rpc_error()):
            return rpc_error(error, censor)
        if 300 <= status < 400:  # noqa: PLR2004 - HTTP
            return StatusError(f"HTTP {status}: the server redirects to {self._target(censor)}", status=status)
        if status == 404:  # noqa: PLR2004 - HTTP
            return StatusError(f"HTTP 404: there is no MCP endpoint at {url}{says}", status=status)
        return StatusError(
            f"HTTP {status}{says}",
            status=status,
            retry_after=retry_after(self.headers.get("retry-after")),
            outcome="unknown" if status >= 500 else "refused",  # noqa: PLR2004 - HTTP
        )

    def _target(self, censor: Censor) -> str:
        """Return where a redirect leads, without query, fragment and user."""
        target = re.split(r"[?#]", self.headers.get("location") or "nowhere")[0]
        return censor.clean(re.sub(r"(?<=//)[^/]*@", "", target))

    def _excerpt(self, censor: Censor) -> str:
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in ("", "text/plain"):
            text = self.body.decode(errors="replace")
        elif kind == "application/json":
            text = _said(self.body)
        else:
            return f" with a body of type {censor.clean(kind)}"
        text = censor.clean(text)
        return f": {text}" if text else ""


def rpc_error(error: jsonrpc.Error, censor: Censor) -> BankError:
    """Return the error for a JSON-RPC error, whatever its HTTP status."""
    said = censor.clean(error.message)
    if error.code == UNSUPPORTED_VERSION:
        return IncompatibleServer(f"the server speaks no protocol revision of ours: {said}")
    try:
        data = censor.veil(error.data)
    except RecursionError:
        data = None
    outcome: Outcome = "unknown" if error.code == _INTERNAL_ERROR else "refused"
    return RPCError(said, code=error.code, data=data, outcome=outcome)


def retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, given as a number or a date; None for anything else."""
    if value is None:
        return None
    with suppress(ValueError, OverflowError):
        return max(float(int(value)), 0.0)
    with suppress(ValueError, TypeError, OverflowError):
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    return None


def _said(body: bytes) -> str:
    """Return the texts of a JSON body: decoded, since escapes may spell a secret so that it is not found."""
    try:
        return ": ".join(_texts(msgspec.json.decode(body)))
    except (msgspec.DecodeError, RecursionError):
        return ""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
