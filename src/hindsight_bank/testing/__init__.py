"""Record your code's conversations with a bank once and replay them ever after: offline, exact, without secrets.

A pytest fixture that gives each test a cassette of its own:

    @pytest.fixture
    def bank(request):
        path = Path(__file__).parent / "cassettes" / request.node.name
        mode = os.environ.get("RECORD", "none")
        with cassette(path, record_mode=mode), Bank("http://localhost:8888", "alice") as bank:
            yield bank


    def test_alice_is_served_tea(bank):
        assert "tea" in bank.recall("What does Alice drink?").results[0].text

``RECORD=once pytest`` records, from a real server, the tests that have no cassette yet. Without it no server is asked:
a test fails as soon as it says something else than was recorded, and if it stops before the end of the recording.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from os import PathLike, fspath
from typing import Any

try:
    from vcr import VCR
    from vcr.cassette import Cassette
except ModuleNotFoundError as missing:
    missing.msg = "hindsight_bank.testing needs vcrpy: pip install 'hindsight-bank[testing]'"
    raise

from hindsight_bank.testing.matchers import bank_body, bank_headers, bank_uri
from hindsight_bank.testing.script import Files, Script
from hindsight_bank.testing.strict import AGAIN, refuse_strangers, summary

__all__ = ["bank_vcr", "cassette", "played"]


@contextmanager
def cassette(path: str | PathLike[str], *, record_mode: str = "none") -> Iterator[Cassette]:
    """Replay one conversation, or record it, and fail unless all of it was replayed.

    Open the bank inside, ``with cassette("tea"), Bank(...) as bank:``, so that connecting and closing are part of the
    conversation. Messages are numbered: threads that share a bank replay only if they take turns as they did.

    Args:
        path: The file; ``.yaml`` is added where it is missing.
        record_mode: ``"none"`` replays and asks no server; ``"once"`` records if there is no such file, else replays;
            ``"all"`` records again. Nothing is written of a conversation that ends in an exception.

    Yields:
        vcrpy's cassette.

    Raises:
        AssertionError: The conversation ended before the recording did, or nothing was said at all.
        vcr.errors.CannotOverwriteExistingCassetteException: A request is not in the cassette, or there is no cassette.
            The message says what differs, and how to record again.
    """
    with played(bank_vcr(record_mode=record_mode).use_cassette(fspath(path))) as tape:
        yield tape


def bank_vcr(
    cassette_library_dir: str | PathLike[str] | None = None,
    *,
    record_mode: str = "none",
    **options: Any,
) -> VCR:
    """Make the `vcr.VCR` behind `cassette`, for contexts and decorators of your own; pair it with `played`.

    It matches method, URI, MCP headers and JSON body (so order too: messages are numbered), but neither which server is
    asked, nor its session ids, nor the version of this package. It writes UTF-8 files of YAML with bodies as text:

    * few headers and no keys; where a body repeats the key that a request carried, it says ``KEY``;
    * session ids as ``session-1`` and so on, the server of a bank as ``http://localhost:8888``;
    * of ``tools/list`` the names and inputSchemas of Hindsight's tools, without descriptions (4 KB of 66).

    Requests of the code under test to other services are recorded beside it, with the same few headers.

    Args:
        cassette_library_dir: Where cassettes live; None for the working directory.
        record_mode: As for `cassette`.
        options: What else `vcr.VCR` takes, for example `ignore_hosts`.

    Returns:
        A VCR with the matchers ``bank_uri``, ``bank_headers`` and ``bank_body`` and the serializer ``bank``.
    """
    settings = {
        "serializer": "bank",
        "match_on": ("method", "bank_uri", "bank_headers", "bank_body"),
        "path_transformer": VCR.ensure_suffix(".yaml"),
        "record_on_exception": False,
        "decode_compressed_response": True,
        "drop_unused_requests": record_mode == "all",
    }
    library = None if cassette_library_dir is None else fspath(cassette_library_dir)
    vcr = VCR(cassette_library_dir=library, record_mode=record_mode, **(settings | options))
    for matcher in (bank_uri, bank_headers, bank_body):
        vcr.register_matcher(matcher.__name__, matcher)
    vcr.register_serializer("bank", Script)
    vcr.register_persister(Files)
    return vcr


@contextmanager
def played(context: AbstractContextManager[Cassette]) -> Iterator[Cassette]:
    """Fail unless all of a cassette is played.

    Args:
        context: What a VCR's `use_cassette` returns.

    Yields:
        The cassette.

    Raises:
        AssertionError: Part of the cassette, or all of it, was not played, or nothing was played or recorded.
    """
    with context as tape:
        recorded = 0 if tape.record_mode == "all" else len(tape)
        refused = refuse_strangers(tape)
        yield tape
        if refused:  # said already, and the rest is what follows from it
            return
        where = tape._path  # noqa: SLF001 - `path` is missing in vcrpy 9.0
        unplayed = [request for index, request in enumerate(tape.requests[:recorded]) if not tape.play_counts[index]]
        if unplayed:
            lines = "".join(f"\n  {summary(request)}" for request in unplayed)
            raise AssertionError(f"{len(unplayed)} of {recorded} requests in {where} were not made:{lines}\n{AGAIN}")
        if not len(tape):
            raise AssertionError(f"there is no cassette {where}, and no request was made")
