"""The generation of `hindsight_put` and `hindsight_search`."""

import ssl
from typing import cast

import hindsight_bank  # noqa: TC001 - typing.get_type_hints needs it; what it names loads only then
from hindsight_bank.backoff import Manner
from hindsight_bank.binding import SharedSettings, check_free_id
from hindsight_bank.connected import checked_options
from hindsight_bank.discreet import discreet
from hindsight_bank.generations.shared import SharedBank
from hindsight_bank.toolset import PUT_SEARCH


class PutSearchBank(SharedBank):
    """A bank of a server with the tools ``hindsight_put`` and ``hindsight_search``, used as `Bank` is.

    Hindsight 0.0.8 to 0.0.16 documents them. What any call may raise is the same as for `Bank`. Connecting checks the
    tools, not the bank: such a server makes a bank at the first put, and finds nothing in one that does not exist.

    Args:
        server_url: The server's base URL: ``https://host[:port]``, or plain http on loopback. No path.
        bank_id: The bank: any text that is not empty and has no control characters, such as ``alice@example.com``.
        path: Where the endpoint is. Releases have it at ``/mcp/mcp``; their documentation says ``/mcp``.
        api_key: As for `Bank`, as are all below.
        timeout: Seconds for a whole call; None for 60.
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
        bank_id: str,
        *,
        path: str = "/mcp/mcp",
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
        self._bank_id = check_free_id("bank_id", bank_id)
        super().__init__(settings, options, PUT_SEARCH, bank_id, timeout)

    @property
    def bank_id(self) -> str:
        """The bank's id."""
        return self._bank_id

    @discreet
    def hindsight_put(
        self, content: str, context: str, *, explanation: str | None = None, timeout: float | None = None
    ) -> "hindsight_bank.PutReceipt":
        """Store a text in the bank. Sent once only: when the outcome is unknown (``error.outcome``), search first.

        Args:
            content: What to remember; not blank.
            context: What kind of memory it is, for example ``"work_history"``.
            explanation: Why it is stored; servers do nothing with it.
            timeout: Seconds for the whole call; None for the bank's.

        Returns:
            The receipt: the fact is stored.

        Raises:
            ArgumentsError: An argument breaks its rule or is unknown to this server; nothing was sent.
            ToolError: The server could not store it.
            AnswerError: The server said something that is neither success nor failure: the outcome is unknown.
        """
        given = {"bank_id": self.bank_id, "content": content, "context": context, "explanation": explanation}
        return cast("hindsight_bank.PutReceipt", self._call("hindsight_put", timeout, given))

    @discreet
    def hindsight_search(
        self,
        query: str,
        *,
        max_tokens: int | None = None,
        explanation: str | None = None,
        timeout: float | None = None,
    ) -> "hindsight_bank.PutSearchResult":
        """Search the bank for facts that bear on a question.

        Args:
            query: The question, in plain words.
            max_tokens: Roughly how much text to return at most, in tokens, at least 1; the server's default is 4096.
            explanation: Why it is searched; servers do nothing with it.
            timeout: Seconds for the whole call; None for the bank's.

        Returns:
            The facts, best first; none also for a bank that does not exist.

        Raises:
            ArgumentsError: An argument breaks its rule or is unknown to this server; nothing was sent.
            ToolError: The server could not search.
        """
        given = {"bank_id": self.bank_id, "query": query, "max_tokens": max_tokens, "explanation": explanation}
        return cast("hindsight_bank.PutSearchResult", self._call("hindsight_search", timeout, given))
