"""A verified connection: its server has all the tools, and the bank exists."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec
from attrs import frozen
from msgspec import Raw

import hindsight_bank
from hindsight_bank import arguments, failures, jsonrpc
from hindsight_bank.censor import veiling
from hindsight_bank.deadline import Deadline
from hindsight_bank.endpoint import Endpoint
from hindsight_bank.errors import IncompatibleServer, NotFoundError, ToolError
from hindsight_bank.session import MODERN, SERVER_INFO, server_label
from hindsight_bank.shown import Shown
from hindsight_bank.toolset import ALL, KNOWN, SIX, Toolset

# Arguments that are no memories and ask for none: a sentence that names them helps.
_WORDS: Final = {"bank_id", "agent_id", "memory_id", "type", "types", "budget", "tags_match", "strategy", "update_mode"}
# tools/list is one page on every Hindsight; this ends a server that pages for ever.
_MOST_PAGES: Final = 50
# In bytes; real ones have about 60.
_LONGEST_INFO: Final = 4096


class _Meta(msgspec.Struct):
    """What we read of `_meta`."""

    server: Raw = msgspec.field(name=SERVER_INFO, default=Raw(b"null"))


class _Page(msgspec.Struct):
    """What we read of the result of tools/list."""

    tools: list[arguments.ServerTool]
    nextCursor: str | None = None
    resultType: str = "complete"
    meta: _Meta | None = msgspec.field(name="_meta", default=None)

    def server(self) -> str:
        """Return what the server calls itself here, if it does."""
        text = self.meta.server if self.meta else Raw()
        if not 0 < len(text) <= _LONGEST_INFO:
            return ""
        try:
            return server_label(msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError):
            return ""


@frozen(kw_only=True)
class Health(Shown):
    """What `Bank.health` found.

    Attributes:
        bank: The bank's profile.
        seconds: How long the server took to send it.
        server: The server's name and version as it reports them; up to Hindsight 0.5.4 the version is its framework's.
        protocol: The MCP revision in use, for example ``"2026-07-28"``.
    """

    bank: "hindsight_bank.BankProfile"
    seconds: float
    server: str
    protocol: str


class Link:
    """A verified connection: the endpoint, and what its server said of itself."""

    def __init__(
        self, endpoint: Endpoint, toolset: Toolset, tools: Mapping[str, arguments.ServerSchema], server: str
    ) -> None:
        self.endpoint = endpoint
        self.toolset = toolset
        self.tools = tools
        self.server = server
        # The older generations have no tool that tells whether a bank exists.
        self.bank_seen = toolset is not SIX
        self.makes_bank = False
        self.failed = False
        self.holds: set[object] = set()
        self.retired = False

    def call(self, tool: str, given: Mapping[str, Any], deadline: Deadline) -> Any:
        """Call a tool with judged arguments and return its typed answer."""
        schema = self.tools[tool]
        given = self.toolset.spelled(given, schema.names)
        schema.judge(given, self.server)
        with veiling([value for name, value in given.items() if name not in _WORDS]):
            message = self.endpoint.request(
                "tools/call",
                {"name": tool, "arguments": given},
                deadline,
                name=tool,
                decode=self.toolset.decoder(tool),
                repeatable=tool != self.toolset.writes,
                mirrored=schema.mirrored(given),
            )
            try:
                return self.toolset.answer(tool, message.result, self.endpoint.clean)
            except ToolError as error:
                if tool == self.toolset.writes and not failures.is_before_writing(error):
                    error.outcome = "unknown"
                raise

    def check_bank(self, deadline: Deadline) -> None:
        """Raise `NotFoundError` unless the bank exists.

        Up to Hindsight 0.7.2, known by a list_memories without `tags`, get_bank makes the bank it is asked for; there
        a bank without memories cannot be told from a missing one.
        """
        if self.bank_seen:
            return
        if "tags" in self.tools["list_memories"].names:
            try:
                self.call("get_bank", {}, deadline)
            except NotFoundError as error:
                raise self._missing(error.message) from None
        elif not self.call("list_memories", {"limit": 1}, deadline).total:
            raise self._missing("the bank is empty or does not exist, which this server cannot tell apart")
        self.bank_seen = True

    def _missing(self, message: str) -> NotFoundError:
        if self.makes_bank:
            way = "the first retain makes it"
        else:
            way = "check the bank id, or let the first retain make the bank: Bank(..., allow_new_bank=True)"
        error = NotFoundError(f"{message}; {way}", tool="get_bank", what="bank")
        error.message = message  # the server's sentence alone
        return error


def verified(endpoint: Endpoint, toolset: Toolset, deadline: Deadline) -> Link:
    """Ask an endpoint for its tools and return a link that has all of the toolset's."""
    server, tools = listed(endpoint, deadline)
    schemas = {name: toolset.schema(name, tools[name]) for name in toolset.tools if name in tools}
    faults = {name: schema.fault for name, schema in schemas.items() if schema.fault and endpoint.revision == MODERN}
    if missing := [name for name in toolset.tools if name not in schemas or name in faults]:
        found = _unusable(faults) if faults else _found(toolset, missing, tools)
        raise IncompatibleServer(f"the server ({server or 'unnamed'}) {found}", missing=missing, server=server)
    return Link(endpoint, toolset, schemas, server)


def listed(endpoint: Endpoint, deadline: Deadline) -> tuple[str, dict[str, Raw]]:
    """Return the server's name and version as it reports them, and the inputSchema of each Hindsight tool it has."""
    tools: dict[str, Raw] = {}
    params: dict[str, Any] = {}
    for _ in range(_MOST_PAGES):
        message = endpoint.request("tools/list", params, deadline, decode=jsonrpc.decode)
        page = jsonrpc.result(message, _Page)
        if page.resultType != "complete":
            raise failures.unfinished(page.resultType, endpoint.clean)
        # Copied: each would keep the whole page.
        tools |= {tool.name: tool.inputSchema.copy() for tool in page.tools if tool.name in KNOWN}
        if page.nextCursor is None or page.nextCursor == params.get("cursor"):
            break
        params = {"cursor": page.nextCursor}
    return endpoint.server or endpoint.clean(page.server()), tools


def _unusable(faults: Mapping[str, str]) -> str:
    """Say why tools that are listed are as good as missing (MCP 2026-07-28, Tools, "x-mcp-header")."""
    listed_with = " and ".join(f"{tool} with an x-mcp-header {fault}" for tool, fault in faults.items())
    return f"lists {listed_with}: MCP {MODERN} forbids to use such a tool; the server must mend its inputSchema"


def _found(wanted: Toolset, missing: Collection[str], tools: Collection[str]) -> str:
    """Say what a server is that lacks tools, and what to do."""
    lacks = f"lacks {', '.join(missing)}"
    for other in ALL:
        if other is not wanted and other.within(tools):
            return f"{lacks}, but has {', '.join(other.tools)}: {other.generation}; use {other.client} for it"
    if some := [name for name in SIX.tools if name in tools]:
        return (
            f"{lacks}; it has {', '.join(some)} of the six tools that Bank needs: update a Hindsight older than 0.4.14,"
            " or have a later one show what it hides (HINDSIGHT_API_MCP_ENABLED_TOOLS, or the bank's settings)"
        )
    if len(missing) == len(wanted.tools):
        return f"is an MCP server, but no Hindsight: it has none of {', '.join(missing)}; check the server URL"
    return f"{lacks}; {wanted.client} needs all of {wanted.generation}"
