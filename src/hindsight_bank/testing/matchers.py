"""When a request is a recorded one. vcrpy passes the request that is made, then one that was recorded."""

import difflib
import json

from vcr.request import Request
from vcr.util import read_body

from hindsight_bank.testing.scrubbers import Body, Json, hide, key, local, unversioned


def bank_uri(made: Request, recorded: Request) -> None:
    """Compare URIs; any server of a bank is as good as any other."""
    _compare("uri", local(made.uri), local(recorded.uri))


def bank_headers(made: Request, recorded: Request) -> None:
    """Compare what MCP says in headers; a session id is as good as any other."""
    for name in ("mcp-protocol-version", "mcp-method", "mcp-name"):
        _compare(name, made.headers.get(name), recorded.headers.get(name))
    _compare("has a mcp-session-id", *("mcp-session-id" in request.headers for request in (made, recorded)))


def bank_body(made: Request, recorded: Request) -> None:
    """Compare bodies: as JSON where they are, without the client's version, and with keys hidden as they were."""
    body = read_body(made)
    said, wanted = _canonical(body), _canonical(read_body(recorded))
    if wanted not in (said, _canonical(hide(body, key(made.headers)))):
        lines = difflib.unified_diff(wanted.splitlines(), said.splitlines(), "recorded", "made", n=1, lineterm="")
        raise AssertionError("\n".join(lines))


def _compare(what: str, made: object, recorded: object) -> None:
    if made != recorded:
        raise AssertionError(f"{what}: {made}, recorded was {recorded}")


def _canonical(body: Body) -> str:
    """Return a body as text that is equal where the JSON is: ``true`` is not ``1``, the order of keys is nothing."""
    text = body.decode(errors="backslashreplace") if isinstance(body, bytes) else body or ""
    try:
        value: Json = unversioned(json.loads(text))
    except ValueError:
        return text
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False)
