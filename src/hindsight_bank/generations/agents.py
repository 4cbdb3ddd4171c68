"""The generation of `hindsight_search`, `hindsight_think`, `hindsight_store` and `hindsight_agents`."""

import ssl
from typing import Literal, cast

import hindsight_bank  # noqa: TC001 - typing.get_type_hints needs it; what it names loads only then
from hindsight_bank.backoff import Manner
from hindsight_bank.binding import SharedSettings, check_free_id
from hindsight_bank.connected import checked_options
from hindsight_bank.discreet import discreet
from hindsight_bank.generations.shared import SharedBank
from hindsight_bank.toolset import AGENTS

ThinkBudget = Literal["low", "mid", "high"]


class AgentBank(SharedBank):
    """A bank of a server with ``hindsight_search``, ``_think``, ``_store`` and ``_agents``, used as `Bank` is.

    Hindsight 0.0.8 to 0.0.16 documents these tools; no released server is known to have them. What any call may raise
    is the same as for `Bank`. Connecting checks the tools, not the bank.

    Args:
        server_url: The server's base URL: ``https://host[:port]``, or plain http on loopback. No path.
        agent_id: The agent whose bank it is: any text that is not empty and has no control characters. None for the
            server's own, its setting ``HINDSIGHT_AGENT_ID``.
        path: Where the endpoint is.
        api_key: As for `Bank`, as are all below.
        timeout: Seconds for a whole call; None for each tool's own (60, think 330).
        connect_timeout: Seconds to make one TCP and TLS connection.
        max_request_bytes: The largest request.
        max_response_bytes: The largest answer.
        backoff: What calls do while a failed connection cools down.
        ssl_context: For https with certificates of your own.
        proxy: URL of an HTTP proxy.

    Raises:
        SettingsError: A setting breaks its rule.
        CredentialsError: The key cannot be a key.
    """

    @discreet
    def __init__(
        self,
        server_url: str,
        agent_id: str | None = None,
        *,
        path: str = "/mcp",
        api_key: str | None = None,
        timeout: float | None = None,
        connect_timeout: float = 10.0,
        max_request_bytes: int = 4 * 2**20,
        max_response_bytes: int = 32 * 2**20,
        backoff: Manner = "wait",
        ssl_context: ssl.SSLContext | None = None,
        proxy: str | None = None,
    ) -> None:
        options = checked_options(
            api_key=api_key,
            connect_timeout=connect_timeout,
            max_request_bytes=max_request_bytes,
            max_response_bytes=max_response_bytes,
            backoff=backoff,
            ssl_context=ssl_context,
            proxy=proxy,
        )
        settings = SharedSettings(server_url, path)
        self._agent_id = None if agent_id is None else check_free_id("agent_id", agent_id)
        super().__init__(settings, options, AGENTS, agent_id, timeout)

    @property
    def agent_id(self) -> str | None:
        """The agent's id; None where it is left to the server."""
        return self._agent_id

    @discreet
    def hindsight_search(
        self, query: str, *, top_k: int | None = None, timeout: float | None = None
    ) -> "hindsight_bank.AgentSearchResult":
        """Search the agent's memories.

        Args:
            query: The question, in plain words.
            top_k: How many to return at most, at least 1; the server's default is 10.
            timeout: Seconds for the whole call; None for the bank's.

        Returns:
            The memories, best first.

        Raises:
            ArgumentsError: An argument breaks its rule or is unknown to this server; nothing was sent.
            NotFoundError: The bank does not exist.
            ToolError: The server could not search.
        """
        given = {"query": query, "agent_id": self.agent_id, "top_k": top_k}
        return cast("hindsight_bank.AgentSearchResult", self._call("hindsight_search", timeout, given))

    @discreet
    def hindsight_think(
        self, query: str, *, budget: ThinkBudget | None = None, timeout: float | None = None
    ) -> "hindsight_bank.AgentThought":
        """Have the server answer a question from the agent's memories.

        Args:
            query: The question.
            budget: How hard to think; the server's default is ``"low"``.
            timeout: Seconds for the whole call; None for the bank's.

        Returns:
            The answer, and what it rests on.

        Raises:
            ArgumentsError: An argument breaks its rule or is unknown to this server; nothing was sent.
            NotFoundError: The bank does not exist.
            ToolError: The server could not answer.
        """
        given = {"query": query, "agent_id": self.agent_id, "budget": budget}
        return cast("hindsight_bank.AgentThought", self._call("hindsight_think", timeout, given))

    @discreet
    def hindsight_store(
        self, content: str, *, context: str | None = None, timeout: float | None = None
    ) -> "hindsight_bank.AgentReceipt":
        """Store a memory of the agent. Sent once only: when the outcome is unknown (``error.outcome``), search first.

        Args:
            content: What to remember; not blank.
            context: Its context or topic.
            timeout: Seconds for the whole call; None for the bank's.

        Returns:
            The receipt: the memory is stored.

        Raises:
            ArgumentsError: An argument breaks its rule or is unknown to this server; nothing was sent.
            ToolError: The server could not store it.
        """
        given = {"content": content, "agent_id": self.agent_id, "context": context}
        return cast("hindsight_bank.AgentReceipt", self._call("hindsight_store", timeout, given))

    @discreet
    def hindsight_agents(self, *, timeout: float | None = None) -> "hindsight_bank.AgentList":
        """List the memory banks of the server.

        Args:
            timeout: Seconds for the whole call; None for the bank's.

        Returns:
            All of them; each is an agent's.

        Raises:
            ToolError: The server could not list them.
        """
        return cast("hindsight_bank.AgentList", self._call("hindsight_agents", timeout, {}))
