"""What a server says when it refuses: an HTTP answer other than success, turned into the error that fits.

Everything quoted here is a server's word, so it goes through the `Censor` first: bounded, inert, without our secrets.
"""

import email.utils
import html
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec
from attrs import field, frozen

from hindsight_bank import jsonrpc
from hindsight_bank.censor import Censor, texts
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

# The statuses of a path that nothing is served at, and of one that takes no POST.
NO_ENDPOINT: Final = (404, 405)
_TOO_LARGE: Final = 413
# By these a server refuses a request unread (JSON-RPC 2.0, 5.1). Any other may come from what ran, or from a relay that
# lost sight of it: SDKs say -32000 of a closed connection, and -32001 of a timeout. MCP's own come with a 4xx.
_UNREAD: Final = (-32700, -32600, -32601, -32602)
_SEE_OTHER: Final = 303
_INTERNAL_ERROR: Final = -32603
_TITLE: Final = re.compile(r"<title[^>]{0,99}>([^<]*)", re.IGNORECASE)


@frozen
class Refusal:
    """An HTTP answer other than success."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    def rpc_error(self) -> jsonrpc.Error | None:
        """Return the JSON-RPC error in the body, whatever its id: servers put null or a placeholder there."""
        try:
            return jsonrpc.decode(self.body).error
        except ProtocolError:
            return None

    def error(self, url: str, censor: Censor) -> BankError:
        """Return the error for a refusal that came from `url`."""
        status, says = self.status, self._excerpt(censor)
        if status in (401, 403):
            return UnauthorizedError(
                f"HTTP {status}: the server wants {'another' if censor.keyed else 'an'} API key{says};"
                " pass it as api_key=..., for example from stored_key(server_url, bank_id)",
                status=status,
            )
        transient = status == 429 or status >= 500  # noqa: PLR2004 - HTTP
        if not transient and (error := self.rpc_error()):
            return rpc_error(error, censor, refused=error.code != _INTERNAL_ERROR)
        if 300 <= status < 400:  # noqa: PLR2004 - HTTP
            return StatusError(
                f"HTTP {status}: the server redirects to {self._target(censor)}, not followed: give the address that it"
                " redirects to, or have a login page or proxy before it let these requests pass",
                status=status,
                outcome="unknown" if status == _SEE_OTHER else "refused",  # which leads to what came of a POST
            )
        if status in NO_ENDPOINT:
            return StatusError(
                f"HTTP {status}: there is no MCP endpoint at {url}{says}; check the server URL, and that the server has"
                " MCP enabled (HINDSIGHT_API_MCP_ENABLED)",
                status=status,
            )
        cure = "; the request is larger than what answered takes: send less in one call" if status == _TOO_LARGE else ""
        return StatusError(
            f"HTTP {status}{says}{cure}",
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
        elif kind.endswith(("/json", "+json")):
            text = _said(self.body)
        elif kind == "text/html":
            title = censor.clean(_title(self.body))
            page = f"a web page ({title})" if title else "a web page"
            return f": {page}, so something before Hindsight answered, or this is no Hindsight"
        else:
            return f" with a body of type {censor.clean(kind)}"
        text = censor.clean(text)
        return f": {text}" if text else ""


def rpc_error(error: jsonrpc.Error, censor: Censor, *, refused: bool = False) -> BankError:
    """Return the error for a JSON-RPC error; its code tells whether the request may have run, if nothing else did."""
    said = censor.clean(error.message)
    outcome: Outcome = "refused" if refused or error.code in _UNREAD else "unknown"
    if error.code == UNSUPPORTED_VERSION:
        return IncompatibleServer(f"the server speaks no protocol revision of ours: {said}", outcome=outcome)
    try:
        data = censor.veil(error.data)
    except RecursionError:
        data = None
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
        return ": ".join(texts(msgspec.json.decode(body), names=False))
    except (msgspec.DecodeError, RecursionError):
        return ""


def _title(body: bytes) -> str:
    """Return the title of a web page, empty if it has none; decoded, as above."""
    found = _TITLE.search(body.decode(errors="replace"))
    return html.unescape(found[1]) if found else ""
