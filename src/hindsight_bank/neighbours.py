"""What else answers at a server that has no MCP endpoint where it was looked for; asked only after it said so.

Nothing works by it: what is found becomes one sentence. No key is sent, nothing that is answered is quoted, and all of
it is over within two seconds.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Final
from urllib.parse import urlsplit

from hindsight_bank.deadline import Deadline
from hindsight_bank.endpoint import Endpoint
from hindsight_bank.errors import BankError, IncompatibleServer
from hindsight_bank.link import listed
from hindsight_bank.reply import EVENTS
from hindsight_bank.session import Client
from hindsight_bank.toolset import AGENTS, PUT_SEARCH, Toolset
from hindsight_bank.transport import Limits, Transport

_SECONDS: Final = 2.0
# Where the older generations have their one endpoint for all banks: as released, and as documented.
_SHARED: Final = ("/mcp/mcp", "/mcp")


def found(
    url: str, wanted: Toolset, reach: Callable[[str], Transport], client: Client, limits: Limits, deadline: Deadline
) -> IncompatibleServer | None:
    """Return what a server is that has no MCP endpoint at `url`, None if that remains unknown.

    Args:
        url: The endpoint that is not there.
        wanted: The tools that were looked for.
        reach: Makes a transport to another URL of the same server.
        client: What we call ourselves.
        limits: Bounds of each exchange.
        deadline: The call's.
    """
    soon = Deadline("looking around", min(_SECONDS, deadline.remaining()))
    for place in _event_streams(url):
        with suppress(BankError):
            if _opens_with_an_endpoint(reach(place), soon):
                return IncompatibleServer(
                    f"the server speaks only HTTP+SSE, the deprecated transport of MCP 2024-11-05 (at {place}), which"
                    " this client does not: update it to a Hindsight that speaks Streamable HTTP"
                )
    for path in _SHARED:
        with suppress(BankError), closing(Endpoint(reach(_beside(url, path)), client, limits)) as endpoint:
            _, tools = listed(endpoint, soon)
            for toolset in (PUT_SEARCH, AGENTS):
                if toolset.within(tools):
                    return _moved(url, path, wanted, toolset)
    return None


def _moved(url: str, path: str, wanted: Toolset, toolset: Toolset) -> IncompatibleServer:
    cure = f"pass path={path!r}" if toolset is wanted else f"use {toolset.client}(..., path={path!r}) for it"
    return IncompatibleServer(
        f"the server has no MCP endpoint at {url}, but one for all banks at {path}, with"
        f" {', '.join(toolset.tools)}: {toolset.generation}; {cure}",
        missing=[] if toolset is wanted else [name for name in wanted.tools if name not in toolset.tools],
    )


def _event_streams(url: str) -> Iterator[str]:
    """Yield where servers of HTTP+SSE have the stream that a client opens first."""
    yield url
    yield url.rstrip("/") + "/sse"
    yield _beside(url, "/mcp/sse")
    yield _beside(url, "/sse")


def _opens_with_an_endpoint(transport: Transport, deadline: Deadline) -> bool:
    """Tell whether a GET opens a stream that says first where to POST (MCP 2024-11-05, "HTTP with SSE")."""
    with closing(transport), transport.get([("Accept", EVENTS), ("Accept-Encoding", "identity")], deadline) as reply:
        return reply.is_stream() and reply.first_event() == "endpoint"


def _beside(url: str, path: str) -> str:
    return urlsplit(url)._replace(path=path).geturl()
