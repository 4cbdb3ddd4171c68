"""One memory bank: six verbs, each a tool of the server's, and three conveniences made of them."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack, cast

import hindsight_bank  # noqa: TC001 - typing.get_type_hints needs it; what it names loads only then
from hindsight_bank.connected import Connected, checked_options, positive
from hindsight_bank.discreet import discreet
from hindsight_bank.errors import ArgumentsError, ProtocolError, SettingsError

if TYPE_CHECKING:
    import ssl

    from hindsight_bank.backoff import Manner

Budget = Literal["low", "mid", "high"]
UpdateMode = Literal["replace", "append"]
TagsMatch = Literal["any", "all", "any_strict", "all_strict", "exact"]


class BankOptions(TypedDict, total=False):
    """What `Bank` takes beside server, bank and key."""

    timeout: float | None
    connect_timeout: float
    max_request_bytes: int
    max_response_bytes: int
    backoff: "Manner"
    allow_new_bank: bool
    ssl_context: "ssl.SSLContext | None"
    proxy: str | None


class Bank(Connected):
    """A Hindsight memory bank, used synchronously from any thread, event loop or forked process.

    Nothing happens at construction but the checking of settings. The first call, `connect` or ``with`` connects, and
    checks that the server has all six tools and that the bank exists. Every call has its own deadline and raises a
    subclass of `BankError` when it does not end in a whole, valid answer.

    The deadline covers everything, the look-up of the server's name included; being polite to the server afterwards
    (cancelling, ending a session) may take a quarter of a second more. What any call may raise:

    * nothing was sent: `ArgumentsError`, `ClosedError`, `BackingOffError`, `UnreachableError`;
    * the server said no: `ToolError`, `NotFoundError`, `UnauthorizedError`, `StatusError`, `RPCError`,
      `IncompatibleServer`;
    * no valid answer came back: `DeadlineError`, `AnswerLostError`, `AnswerError`, `ProtocolError`.

    Args:
        server_url: The server's base URL: ``https://host[:port]``, or plain http on loopback. No path.
        bank_id: The bank: one or more of ``a-z0-9_-``.
        api_key: Sent as ``Authorization: Bearer``. None sends none: a key is never looked up behind your back; see
            `stored_key`.
        timeout: Seconds for a whole call of any tool; None for each tool's own (60, reflect 330); `math.inf` for none.
        connect_timeout: Seconds to make one TCP and TLS connection.
        max_request_bytes: The largest request; current servers refuse more than 4 MiB.
        max_response_bytes: The largest answer.
        backoff: While a failed connection cools down, calls ``"wait"`` within their deadline or ``"raise"``
            `BackingOffError`.
        allow_new_bank: Accept a bank that does not exist yet, which the first `retain` then makes; until then all
            else raises `NotFoundError`.
        ssl_context: For https with certificates of your own; None for the public ones.
        proxy: URL of an HTTP proxy, ``http://host:port``. None for none: the environment's proxies are not used.

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
        api_key: str | None = None,
        timeout: float | None = None,
        connect_timeout: float = 10.0,
        max_request_bytes: int = 4 * 2**20,
        max_response_bytes: int = 32 * 2**20,
        backoff: "Manner" = "wait",
        allow_new_bank: bool = False,
        ssl_context: "ssl.SSLContext | None" = None,
        proxy: str | None = None,
    ) -> None:
        # What a bank talks with loads with the first one: httpx, msgspec and attrs take longer than all else together.
        from hindsight_bank import binding, connection  # noqa: PLC0415 - as said

        self._binding = binding.Binding(server_url, bank_id)
        super().__init__(timeout)
        options = checked_options(
            api_key=api_key,
            connect_timeout=connect_timeout,
            max_request_bytes=max_request_bytes,
            max_response_bytes=max_response_bytes,
            backoff=backoff,
            allow_new_bank=allow_new_bank,
            ssl_context=ssl_context,
            proxy=proxy,
        )
        self._connection = connection.Connection(self._binding, options)

    @classmethod
    @discreet
    def from_binding(
        cls,
        binding: "hindsight_bank.Binding | str | os.PathLike[str] | None" = None,
        *,
        api_key: str | None = None,
        **options: Unpack[BankOptions],
    ) -> Self:
        """Make a bank of a binding, as `Binding.save` or ``hindsight-bank connect`` wrote it.

        Args:
            binding: The binding, or its file; None for the file in the user's configuration folder.
            api_key: As for `Bank`: None sends none; `stored_key` reads the one that ``hindsight-bank login`` stored.
            options: What else `Bank` takes.

        Returns:
            The bank, not yet connected.

        Raises:
            ReconnectRequired: The file holds settings made for coding agents, which are never used.
            SettingsError: There is no binding, or others may have written it, or an option breaks its rule.
            CredentialsError: The key cannot be a key.
        """
        from hindsight_bank.binding import Binding  # noqa: PLC0415 - as in the constructor

        if not isinstance(binding, Binding):
            binding = Binding.load(binding)
        return cls(binding.server_url, binding.bank_id, api_key=api_key, **options)

    @classmethod
    @discreet
    def from_environment(cls, **options: Unpack[BankOptions]) -> Self:
        """Make a bank of HINDSIGHT_API_URL, HINDSIGHT_BANK_ID and, where the server wants a key, HINDSIGHT_API_KEY.

        Args:
            options: What else `Bank` takes.

        Returns:
            The bank, not yet connected.

        Raises:
            SettingsError: The URL or the bank id is missing or breaks its rule, or an option does.
            CredentialsError: The key cannot be a key; an empty one cannot.
        """
        from hindsight_bank.binding import canonical_origin, check_bank_id  # noqa: PLC0415 - as in the constructor
        from hindsight_bank.credentials import check_key  # noqa: PLC0415 - as above

        key = check_key(os.environ.get("HINDSIGHT_API_KEY"), "HINDSIGHT_API_KEY")
        server_url = _variable("HINDSIGHT_API_URL", canonical_origin)
        return cls(server_url, _variable("HINDSIGHT_BANK_ID", check_bank_id), api_key=key, **options)

    @property
    def server_url(self) -> str:
        """The server's base URL in canonical form."""
        return self._binding.server_url

    @property
    def bank_id(self) -> str:
        """The bank's id."""
        return self._binding.bank_id

    # -- the six tools -------------------------------------------------------------------------------------------------

    @discreet
    def retain(
        self,
        content: str,
        *,
        context: str | None = None,
        timestamp: datetime | str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, str] | None = None,
        document_id: str | None = None,
        strategy: str | None = None,
        update_mode: UpdateMode | None = None,
        timeout: float | None = None,
    ) -> "hindsight_bank.RetainReceipt":
        """Hand a text to the bank, which extracts and stores its facts in the background.

        The receipt says *accepted*, never *stored*: with a fast model the facts show up in `list_memories` within a
        second, and observations that sum up several later. Sent once only; when the outcome is unknown
        (``error.outcome``), look before repeating, or give a `document_id`.

        Args:
            content: What to remember; not blank.
            context: What kind of text this is; the server's default is ``"general"``.
            timestamp: When it happened: an aware datetime or an ISO 8601 string with offset; None for now.
            tags: Labels to filter by later.
            metadata: Strings kept with each fact.
            document_id: Your name for this text. Retaining the same one again replaces what it held, so a retain whose
                outcome is unknown is safe to repeat if it has one (not with ``update_mode="append"``).
            strategy: The name of a retain strategy of the bank. From Hindsight 0.4.21.
            update_mode: ``"replace"``, the server's default, or ``"append"`` for a known `document_id`. From 0.5.0.
            timeout: Seconds for the whole call; None for the bank's.

        Returns:
            The receipt, with the id of the background operation where the server tells it.

        Raises:
            ArgumentsError: An argument breaks its rule or is unknown to this server; nothing was sent.
            ToolError: The server refused the text.
        """
        return cast("hindsight_bank.RetainReceipt", self._call("retain", timeout, locals()))

    @discreet
    def recall(
        self,
        query: str,
        *,
        max_tokens: int | None = None,
        budget: Budget | None = None,
        types: Sequence[str] | None = None,
        prefer_observations: bool | None = None,
        tags: Sequence[str] | None = None,
        tags_match: TagsMatch | None = None,
        tag_groups: Sequence[Mapping[str, Any]] | None = None,
        query_timestamp: datetime | str | None = None,
        min_scores: Mapping[str, Any] | None = None,
        temporal_window: Mapping[str, Any] | None = None,
        include_chunks: bool | None = None,
        max_chunk_tokens: int | None = None,
        include_entities: bool | None = None,
        max_entity_tokens: int | None = None,
        include_source_facts: bool | None = None,
        max_source_facts_tokens: int | None = None,
        timeout: float | None = None,
    ) -> "hindsight_bank.RecallResult":
        """Search the bank for facts that bear on a question.

        Args:
            query: The question, in plain words.
            max_tokens: Roughly how much text to return at most, in tokens, not results; the server's default is 4096.
            budget: How hard to search; the server's default is ``"high"``.
            types: Only these kinds of fact: ``"world"``, ``"experience"``, ``"observation"``.
            prefer_observations: Leave out facts that a returned observation already sums up. From 0.8.4.
            tags: Only facts with these tags; how they combine is `tags_match`. Excludes `tag_groups`.
            tags_match: ``"any"``, the server's default, and ``"all"`` include untagged facts; ``"any_strict"`` and
                ``"all_strict"`` do not; ``"exact"`` wants exactly these tags.
            tag_groups: Compound tag filters, for example ``[{"and": [{"tags": ["a"]}, {"tags": ["b"]}]}]``. From 0.6.0.
            query_timestamp: The moment from which the question is asked: aware datetime or ISO 8601 with offset.
            min_scores: Least scores, for example ``{"final": 0.2}``. From 0.8.4.
            temporal_window: Only facts of a time span, ``{"start": ..., "end": ...}``, aware datetimes or ISO 8601 with
                offset. From 0.9.2.
            include_chunks: Return the source texts too. From 1.1.0, as are the five below.
            max_chunk_tokens: How much of them; default 8192.
            include_entities: Return the entities of the facts too.
            max_entity_tokens: How much of them; default 500.
            include_source_facts: Return the facts behind observations too.
            max_source_facts_tokens: How much of them; default 4096.
            timeout: Seconds for the whole call; None for the bank's.

        Returns:
            The facts, best first. No results do not prove that a bank exists: some servers answer so for any id.

        Raises:
            ArgumentsError: An argument breaks its rule or is unknown to this server; nothing was sent.
            ToolError: The server refused the search.
        """
        return cast("hindsight_bank.RecallResult", self._call("recall", timeout, locals()))

    @discreet
    def reflect(
        self,
        query: str,
        *,
        context: str | None = None,
        budget: Budget | None = None,
        max_tokens: int | None = None,
        response_schema: Mapping[str, Any] | None = None,
        tags: Sequence[str] | None = None,
        tags_match: TagsMatch | None = None,
        apply_all_directives: bool | None = None,
        include_based_on: bool | None = None,
        include_trace: bool | None = None,
        timeout: float | None = None,
    ) -> "hindsight_bank.ReflectResult":
        """Have the server's language model answer a question from the bank's memories.

        Args:
            query: The question.
            context: Why it is asked.
            budget: How hard to think; the server's default is ``"low"``.
            max_tokens: The longest answer, in tokens; the server's default is 4096.
            response_schema: A JSON Schema of type object with properties: the answer then comes in
                ``structured_output`` too, checked against it, or ``structured_output_error`` says why it does not.
            tags: Only memories with these tags, as for `recall`.
            tags_match: How tags combine, as for `recall`.
            apply_all_directives: Apply every active directive, whatever its tags. From 0.8.6.
            include_based_on: Return what the answer rests on. From 0.7.0; before, it always comes.
            include_trace: Return the steps taken. From 0.8.3; before, they always come.
            timeout: Seconds for the whole call; None for the bank's. The server ends a reflection after 300 s.

        Returns:
            The answer.

        Raises:
            ArgumentsError: An argument breaks its rule or is unknown to this server; nothing was sent.
            ToolError: The server could not answer, for example for want of a language model.
            AnswerError: ``structured_output`` breaks `response_schema`.
        """
        if response_schema is not None:
            response_schema = _judged(response_schema)
        result = cast("hindsight_bank.ReflectResult", self._call("reflect", timeout, locals()))
        if response_schema is not None and result.structured_output is not None:
            _conform(result.structured_output, response_schema)
        return result

    @discreet
    def list_memories(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the tool's word
        q: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        tags: Sequence[str] | None = None,
        tags_match: TagsMatch | None = None,
        timeout: float | None = None,
    ) -> "hindsight_bank.MemoryPage":
        """Browse the bank, newest first, without ranking.

        Args:
            type: Only this kind: ``"world"``, ``"experience"`` or ``"observation"``, or another that the server has, as
                old banks have ``"opinion"``. The set is the server's: a misspelt kind is no error, but finds nothing.
            q: Only memories whose text contains this.
            limit: The most items; the server's default is 100. 0 returns only the total.
            offset: How many to skip.
            tags: Only memories with these tags, as for `recall`. From 0.8.5.
            tags_match: How tags combine, as for `recall`. From 0.8.5.
            timeout: Seconds for the whole call; None for the bank's.

        Returns:
            One page, and the total that the filters match.

        Raises:
            ArgumentsError: An argument breaks its rule or is unknown to this server; nothing was sent.
        """
        return cast("hindsight_bank.MemoryPage", self._call("list_memories", timeout, locals()))

    @discreet
    def get_memory(self, memory_id: str, *, timeout: float | None = None) -> "hindsight_bank.Memory":
        """Fetch one memory.

        Args:
            memory_id: The id, a UUID, as `recall` and `list_memories` give it.
            timeout: Seconds for the whole call; None for the bank's.

        Returns:
            The memory, invalidated ones included.

        Raises:
            NotFoundError: The bank has no such memory.
            ToolError: The id is no UUID.
        """
        return cast("hindsight_bank.Memory", self._call("get_memory", timeout, locals()))

    @discreet
    def get_bank(self, *, timeout: float | None = None) -> "hindsight_bank.BankProfile":
        """Fetch the bank's profile: its name, mission and disposition.

        Args:
            timeout: Seconds for the whole call; None for the bank's.

        Returns:
            The profile.

        Raises:
            NotFoundError: The bank does not exist.
        """
        return cast("hindsight_bank.BankProfile", self._call("get_bank", timeout, locals()))

    # -- made of them --------------------------------------------------------------------------------------------------

    @discreet
    def iter_memories(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the tool's word
        q: str | None = None,
        tags: Sequence[str] | None = None,
        tags_match: TagsMatch | None = None,
        page_size: int = 100,
        timeout: float | None = None,
    ) -> "Iterator[hindsight_bank.MemoryItem]":
        """Yield every memory that `list_memories` would list, page by page, in constant memory.

        Pages are cut by position: memories stored meanwhile push others back, and those already seen on the page before
        are dropped; memories deleted meanwhile pull others forward, and as many may be skipped.

        Args:
            type: As for `list_memories`.
            q: As for `list_memories`.
            tags: As for `list_memories`.
            tags_match: As for `list_memories`.
            page_size: How many to ask for at a time, at least 1.
            timeout: Seconds for each page; None for the bank's.

        Yields:
            The items, newest first.

        Raises:
            ArgumentsError: `page_size` breaks its rule, or, when iteration begins, a filter does.
            ProtocolError: The server has no end of pages.
        """
        size = positive("page_size", page_size, ArgumentsError)

        def memories() -> "Iterator[hindsight_bank.MemoryItem]":
            offset, before = 0, frozenset[str]()
            while True:
                page = self.list_memories(
                    type=type, q=q, limit=size, offset=offset, tags=tags, tags_match=tags_match, timeout=timeout
                )
                if not page.items:
                    return
                # Less is no proof: what is stored between counting and reading is on a page behind the last.
                if offset > page.total + size:
                    raise ProtocolError("list_memories: the server has no end of pages, as if it ignored `offset`")
                yield from (item for item in page.items if item.id not in before)
                offset += len(page.items)
                before = frozenset(item.id for item in page.items)

        # A plain generator would stay in the traceback of an error, with the page before in its locals.
        items = memories()
        return iter(discreet(lambda: next(items, None)), None)

    @discreet
    def health(self, *, timeout: float | None = None) -> "hindsight_bank.Health":
        """Fetch the bank's profile and tell how long it took, and what server and protocol answered.

        Args:
            timeout: Seconds for the whole check; None for the bank's.

        Returns:
            What was found.
        """
        from hindsight_bank.link import Health  # noqa: PLC0415 - loaded with the first bank

        deadline = self._deadline("health", timeout)
        link = self._connection.open(deadline)
        began = time.perf_counter()
        profile = cast("hindsight_bank.BankProfile", self._connection.call("get_bank", {}, deadline))
        took = time.perf_counter() - began
        return Health(bank=profile, seconds=took, server=link.server, protocol=link.endpoint.revision or "")

    def __repr__(self) -> str:
        binding = vars(self).get("_binding")  # none yet where the constructor failed
        return f"Bank({binding.server_url!r}, {binding.bank_id!r})" if binding else "Bank(of unusable settings)"


def _variable(name: str, rule: Callable[[str], str]) -> str:
    """Return what an environment variable holds, if it keeps a rule."""
    if not (value := os.environ.get(name)):
        raise SettingsError(f"the environment variable {name} is not set")
    try:
        return rule(value)
    except SettingsError as error:
        raise SettingsError(f"{name}: {error}") from None


def _judged(response_schema: Mapping[str, Any]) -> dict[str, Any]:
    from hindsight_bank import arguments  # noqa: PLC0415 - loaded with the first bank

    return arguments.response_schema(response_schema)


def _conform(structured_output: Any, response_schema: Mapping[str, Any]) -> None:
    from hindsight_bank import answers  # noqa: PLC0415 - loaded with the first bank

    answers.conform(structured_output, response_schema)
