"""Four rooms under fire: SSE framing, JSON-RPC envelopes, tool results and settings.

    python -m fuzz          for FUZZ_SECONDS (600), a quarter for each

An attack looks for an exception outside of `BankError`, for an answer that an oracle gives otherwise, for a hang, and
for memory that is not given back. Each execution is some bytes; those that ever failed are kept in `seeds.json`, and
are tried first by every run and by the test suite.
"""

import gc
import json
import os
import re
import signal
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import drawn
import oracle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from hindsight_bank import Bank, BankError, answers, jsonrpc
from hindsight_bank.deadline import Deadline
from hindsight_bank.endpoint import Endpoint
from hindsight_bank.errors import ProtocolError
from hindsight_bank.network import Exchange
from hindsight_bank.reply import EVENTS, JSON, Reply
from hindsight_bank.session import Client
from hindsight_bank.transport import Limits

SEEDS = Path(__file__).parent / "seeds.json"
LARGEST = 2**16
MOST_REQUESTS = 40
LONGEST_SECONDS = 20
KEPT_BYTES = 2**18


def reply(status: int, headers: dict[str, str], chunks: list[bytes], deadline: Deadline) -> Reply:
    exchange = Exchange(deadline, 1.0, "http://localhost")
    return Reply(status, headers, iter(chunks), lambda: None, exchange=exchange, most_bytes=LARGEST)


# -- SSE framing -------------------------------------------------------------------------------------------------------

LINES = st.sampled_from(
    [
        *(
            "data",
            "data:",
            "data: ",
            "data:{",
            "data: }",
            "data:\u2028é🍵",
            "data: a:b",
            ":",
            ": ping",
            "event",
            "event:message",
        ),
        *(
            "event: other",
            "event:",
            "id: 7",
            "id",
            "id:\0",
            "retry: 5",
            "retry: x",
            "retry: 99999999999999999999",
            "nonsense",
        ),
        *("", "", "", "\ufeff", "\ufeffdata: x", " data: x", "DATA: x", "data : x"),
    ]
)
ENDINGS = st.sampled_from(["\n", "\r\n", "\r", "\n\r", "\v", "\u2028", ""])
STREAMS = st.lists(st.tuples(LINES, ENDINGS), max_size=12).map(lambda parts: "".join(map("".join, parts)).encode())


def mangled(whole: SearchStrategy[bytes]) -> SearchStrategy[bytes]:
    """Draw bytes, often with some cut out, typed over or put in."""

    def mangle(data: bytes, place: int, length: int, over: bytes) -> bytes:
        place = place % (len(data) + 1)
        return data[:place] + over + data[place + length :]

    return whole | st.builds(mangle, whole, st.integers(0, 10**6), st.integers(0, 4), st.binary(max_size=4))


def events(data: bytes) -> list[str] | None:
    """Read a stream as the HTML standard, section 9.2.6, says; None if it is not UTF-8."""
    whole = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1]  # an unfinished line is not looked at
    try:
        text = whole.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    found, said, kind = [], "", ""
    for line in re.split(r"\r\n|\n|\r", text)[:-1]:
        name, _, value = line.partition(":")
        if not line:
            if said and said[:-1] and kind in ("", "message"):
                found.append(said[:-1])
            said, kind = "", ""
        elif name == "data":
            said += value.removeprefix(" ") + "\n"
        elif name == "event":
            kind = value.removeprefix(" ")
    return found


def framing(data: bytes) -> None:
    """Read a stream in pieces of several sizes, and as the standard reads it."""
    for size in (1, 3, len(data) + 1):
        chunks = [data[start : start + size] for start in range(0, len(data), size)]
        read = reply(200, {"content-type": EVENTS}, chunks, Deadline("reading", 10)).messages()
        try:
            said: list[str] | None = [text.decode() for text in read]
        except ProtocolError:
            said = None
        assert said == events(data)


# -- JSON-RPC envelopes ------------------------------------------------------------------------------------------------

IDS: SearchStrategy[Any] = st.sampled_from([1, 2, 3, "1", None, 1.0, True, [], "server-error"])
MEMBERS = {
    "jsonrpc": st.sampled_from(["2.0", "2.0", "2.0", "1.0", 2.0, None]),
    "id": IDS,
    "result": drawn.ANYTHING
    | st.fixed_dictionaries({}, optional={"protocolVersion": st.sampled_from(["2025-11-25", "2025-03-26", "1"])}),
    "error": st.fixed_dictionaries(
        {},
        optional={"code": st.integers(-32800, 5) | drawn.ANYTHING, "message": drawn.ANYTHING, "data": drawn.ANYTHING},
    )
    | st.none()
    | drawn.ANYTHING,
    "method": st.sampled_from(["ping", "roots/list", "notifications/progress", 5, None]),
}
MESSAGES = st.fixed_dictionaries({}, optional=MEMBERS).map(lambda m: json.dumps(m).encode())
BODIES = MESSAGES | st.lists(MESSAGES, max_size=3).map(lambda texts: b"[" + b",".join(texts) + b"]") | STREAMS
EXCHANGES = st.builds(
    lambda status, kind, session, texts: b"%d %s %s\n%s" % (status, kind, session, b"\n".join(texts)),
    st.sampled_from([200, 200, 200, 202, 400, 404, 401, 503]),
    st.sampled_from([JSON.encode(), EVENTS.encode(), b"text/plain"]),
    st.sampled_from([b"-", b"s1", b"\xe9"]),
    st.lists(mangled(BODIES), min_size=1, max_size=4),
)


class FakeTransport:
    """Answers every request with the next of some bodies, for ever, but not more often than any call needs."""

    url = "http://localhost/mcp/alice/"

    def __init__(self, data: bytes) -> None:
        head, _, rest = data.partition(b"\n")
        status, kind, session = [*head.decode("latin-1").split(" "), "", ""][:3]
        self._status = int(status) if status.isascii() and status.isdigit() and len(status) == 3 else 200
        self._headers = {"content-type": kind} | ({"mcp-session-id": session} if session not in ("", "-") else {})
        self._bodies = rest.split(b"\n")
        self.requests = 0

    def post(self, _headers: Any, _body: bytes, deadline: Deadline, *, repeatable: bool = False) -> Reply:
        del repeatable
        return self._next(deadline)

    def get(self, _headers: Any, deadline: Deadline) -> Reply:
        return self._next(deadline)

    def delete(self, _headers: Any, deadline: Deadline) -> Reply:
        return self._next(deadline)

    def close(self) -> None:
        pass

    def _next(self, deadline: Deadline) -> Reply:
        self.requests += 1
        assert self.requests <= MOST_REQUESTS, "a call asks on and on"
        body = self._bodies[self.requests % len(self._bodies)]
        if self._headers["content-type"] == EVENTS:
            body = b"id: %d\ndata: %s\n\n" % (self.requests, body)
        return reply(self._status if self.requests % 3 else 200, self._headers, [body], deadline)


def envelopes(data: bytes) -> None:
    """Call a tool on an endpoint whose server answers all sorts of things."""
    endpoint = Endpoint(FakeTransport(data), Client("fuzz", "1"), Limits(), "k3y-value")  # type: ignore[arg-type]
    with patch("hindsight_bank.resumption.time.sleep"):
        for _ in range(2):
            try:
                params = {"name": "recall", "arguments": {}}
                endpoint.request("tools/call", params, Deadline("recall", 10), name="recall", decode=jsonrpc.decode)
            except BankError as error:
                assert "k3y-value" not in f"{error!r} {vars(error)}"  # noqa: PT017 - any error may come
        endpoint.close()


# -- tool results ------------------------------------------------------------------------------------------------------

PAYLOADS = st.sampled_from(oracle.TOOLS).flatmap(
    lambda tool: drawn.payloads(tool).map(lambda p: b"%s %s" % (tool.encode(), p))
)


def results(data: bytes) -> None:
    """Build an answer, as structured content and as text, where jsonschema takes it for one."""
    name, _, payload = data.partition(b" ")
    tool = name.decode() if name.decode("latin-1") in oracle.TOOLS else "recall"
    right = oracle.accepts_answer(tool, payload)
    texts = [b'{"structuredContent":%s}' % payload]
    with suppress(UnicodeDecodeError):
        texts.append(json.dumps({"content": [{"type": "text", "text": payload.decode()}]}).encode())
    for text in texts:
        try:
            message = answers.decoder(tool)(b'{"jsonrpc":"2.0","id":1,"result":%s}' % text)
            built = answers.answer(tool, message.result, str)
        except BankError:
            built = None
        assert (built is not None) is right


# -- settings ----------------------------------------------------------------------------------------------------------

URLS = st.lists(
    st.sampled_from(
        [
            *(
                "http",
                "https",
                "HTTP",
                "://",
                ":",
                "//",
                "/",
                "\\",
                "localhost",
                "127.0.0.1",
                "127.1",
                "[::1]",
                "[",
                "]",
                "a.b",
            ),
            *(
                "@",
                "?",
                "#",
                "%",
                ":80",
                ":443",
                ":0",
                ":99999",
                ":-1",
                ".",
                "..",
                " ",
                "\t",
                "\0",
                "é",
                "\u2488",
                "xn--",
                "8888",
            ),
        ]
    ),
    max_size=8,
).map("".join) | st.text(max_size=20)
WORDS = (
    st.text(max_size=12)
    | st.from_regex(r"[a-z0-9_-]+", fullmatch=True)
    | st.text(st.characters(codec="ascii"), max_size=30)
)
GIVEN = st.tuples(URLS, WORDS, WORDS | st.none()).map(lambda given: json.dumps(given).encode())


def configured(data: bytes) -> None:
    """Make a bank of any URL, bank id and key: it is refused, or it is stable, and the key is told by neither."""
    try:
        url, bank_id, key = [*map(_text, json.loads(data)), None, None, None][:3]
    except (ValueError, TypeError, RecursionError):
        return
    try:
        bank = Bank(url, bank_id, api_key=key)  # type: ignore[arg-type]  # whatever comes
    except BankError as error:
        told = f"{error!r} {vars(error)}"
    else:
        told = repr(bank)
        assert repr(Bank(bank.server_url, bank.bank_id)) == told
        bank.close()
    assert not key or len(key) < len("k3y-value") or key in f"{url} {bank_id}" or key not in told


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


# -- the attacks -------------------------------------------------------------------------------------------------------

ATTACKS: dict[str, tuple[Callable[[bytes], None], SearchStrategy[bytes]]] = {
    "framing": (framing, mangled(STREAMS)),
    "envelopes": (envelopes, EXCHANGES),
    "results": (results, PAYLOADS),
    "settings": (configured, mangled(GIVEN)),
}


def seeds(name: str) -> list[bytes]:
    """Return what is always tried: bytes that failed once, or that a report was about."""
    kept: dict[str, list[str]] = json.loads(SEEDS.read_text("utf-8"))
    return [text.encode("latin-1") for text in kept[name]]


def keep(name: str, data: bytes) -> None:
    """Add bytes to the seeds."""
    kept: dict[str, list[str]] = json.loads(SEEDS.read_text("utf-8"))
    kept[name] = sorted({*kept[name], data.decode("latin-1")})
    SEEDS.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


def attack(
    name: str, rounds: Iterator[int], how: settings, guard: Callable[[], AbstractContextManager[None]] = nullcontext
) -> int:
    """Try the seeds, then drawn bytes, round by round; return how many; keep what fails, and let it fail."""
    target, strategy = ATTACKS[name]
    last, count = [b""], 0

    def execute(data: bytes) -> None:
        nonlocal count
        last[0], count = data, count + 1
        with guard():
            target(data)

    drawn_bytes = how(given(strategy)(execute))
    try:
        for data in seeds(name):
            execute(data)
        for _ in rounds:
            drawn_bytes()
    except BaseException:
        keep(name, last[0])
        raise
    return count


def kept_memory(name: str) -> int:
    """Return the bytes that are not given back after the seeds were tried again and again."""
    target = ATTACKS[name][0]

    def again() -> int:
        for data in seeds(name) * 5:
            target(data)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    again()
    before = again()
    grown = again() - before
    tracemalloc.stop()
    return grown


def _until(end: float) -> Iterator[int]:
    number = 0
    while time.monotonic() < end:
        yield (number := number + 1)


@contextmanager
def _in_time() -> Iterator[None]:
    """Let an execution fail that does not end: by the processor's time, which a busy machine does not stretch."""
    signal.setitimer(signal.ITIMER_PROF, LONGEST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _hang(_number: int, _frame: Any) -> None:
    raise TimeoutError("an execution does not end")


def main() -> None:
    """Attack for FUZZ_SECONDS and say how often."""
    seconds = float(os.environ.get("FUZZ_SECONDS", "600"))
    how = settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    signal.signal(signal.SIGPROF, _hang)
    total = 0
    for name in ATTACKS:
        count = attack(name, _until(time.monotonic() + seconds / len(ATTACKS)), how, _in_time)
        grown = kept_memory(name)
        assert grown < KEPT_BYTES, f"{name}: {grown} bytes are not given back"
        total += count
        sys.stdout.write(f"fuzz: {name}: {count} executions, {grown} bytes kept\n")
        sys.stdout.flush()
    sys.stdout.write(f"fuzz: {total} executions, 0 failures\n")


if __name__ == "__main__":
    main()
