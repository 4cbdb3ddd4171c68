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

``RECORD=once pytest`` asks a server for the conversations that have no cassette yet. Without it no server is asked: a
test fails as soon as it says something else than what was recorded, and if it stops before the end of the recording.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from hindsight_bank.arguments import undescribed
from hindsight_bank.connection import TOOLS
from hindsight_bank.session import META

try:
    import yaml
    from vcr import VCR
    from vcr.cassette import Cassette
    from vcr.persisters.filesystem import CassetteNotFoundError
    from vcr.request import Request
    from vcr.serialize import deserialize, serialize
    from vcr.serializers import yamlserializer
    from vcr.util import read_body
except ModuleNotFoundError as missing:
    missing.msg = "hindsight_bank.testing needs vcrpy: pip install 'hindsight-bank[testing]'"
    raise

__all__ = ["bank_vcr", "cassette", "played"]

_ORIGIN: Final = "http://localhost:8888"
_ENDPOINT: Final = re.compile(r"(https?)://([^/?#]+)(?=/mcp/)")
# All else, whoever sent it, stays out of cassettes: keys, cookies, dates, names of machines and programs.
_KEPT: Final = (
    *("accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"),
    *("location", "retry-after"),
)
_KEYS: Final = ("authorization", "proxy-authorization", "x-api-key", "api-key")
_SESSION: Final = "mcp-session-id"
# Line breaks to YAML, which it would not give back as they are.
_BREAKS: Final = re.compile("[\x85\u2028\u2029\ufeff]")
_LONG: Final = 80


@contextmanager
def cassette(path: str | PathLike[str], *, record_mode: str = "none") -> "Iterator[Cassette]":
    """Replay one conversation, or record it, and fail unless all of it was replayed.

    Open the bank inside, so that connecting and closing belong to the conversation:
    ``with cassette("tea"), Bank(...) as bank:``. Also a decorator.

    Args:
        path: The file; ``.yaml`` is added where it is missing.
        record_mode: ``"none"`` replays and never asks a server; ``"once"`` records if there is no such file and else
            replays; ``"all"`` records again. A conversation that ends in an exception is not recorded.

    Yields:
        vcrpy's cassette.

    Raises:
        AssertionError: The conversation ended before the recording did, or nothing was said at all.
        CannotOverwriteExistingCassetteException: vcrpy's, with the differences: a request was not recorded so.
    """
    with played(bank_vcr(record_mode=record_mode).use_cassette(fspath(path))) as tape:
        yield tape


def bank_vcr(
    cassette_library_dir: str | PathLike[str] | None = None, *, record_mode: str = "none", **options: Any
) -> "VCR":
    """Make the `vcr.VCR` that `cassette` uses, for contexts and decorators of your own; pair it with `played`.

    Requests match on method, URI, JSON body (ids and thereby order included) and MCP headers; which server is asked, its
    session ids and this package's version do not matter. Written down are UTF-8 files of YAML with bodies as text:

    * few headers, and no keys: where a body repeats the key that a request carried, it says ``KEY``;
    * session ids as ``session-1`` and so on, the server of a bank as ``http://localhost:8888``;
    * of ``tools/list`` only the six tools' names and inputSchemas, without descriptions (3 KB of 66).

    Other HTTP requests of the code under test are recorded too, with the same few headers; see vcrpy's `ignore_hosts`.

    Args:
        cassette_library_dir: Where cassettes live; None for the working directory.
        record_mode: As for `cassette`.
        options: What else `vcr.VCR` takes.

    Returns:
        A VCR with the matchers ``bank_uri``, ``bank_body`` and ``bank_headers`` and the serializer ``bank``.
    """
    vcr = VCR(
        cassette_library_dir=None if cassette_library_dir is None else fspath(cassette_library_dir),
        record_mode=record_mode,
        **{
            "serializer": "bank",
            "match_on": ("method", "bank_uri", "bank_headers", "bank_body"),
            "path_transformer": VCR.ensure_suffix(".yaml"),
            "record_on_exception": False,
            "decode_compressed_response": True,
            "drop_unused_requests": record_mode == "all",
            **options,
        },
    )
    for matcher in (_bank_uri, _bank_headers, _bank_body):
        vcr.register_matcher(matcher.__name__.removeprefix("_"), matcher)
    vcr.register_serializer("bank", _Script)
    vcr.register_persister(_Files)
    return vcr


@contextmanager
def played(context: "AbstractContextManager[Cassette]") -> "Iterator[Cassette]":
    """Fail unless everything on a cassette was played: ``with played(vcr.use_cassette("tea.yaml")):``.

    Args:
        context: A cassette of any VCR, about to be entered.

    Yields:
        The cassette.

    Raises:
        AssertionError: Part of the cassette, or all of it, was not played, or nothing was played or recorded.
    """
    with context as tape:
        recorded = 0 if tape.record_mode == "all" else len(tape)
        yield tape
        unplayed = [request for index, request in enumerate(tape.requests[:recorded]) if not tape.play_counts[index]]
        if unplayed or not len(tape):
            requests = "".join(f"\n  {_summary(request)}" for request in unplayed)
            raise AssertionError(
                f"{tape.path}: {len(unplayed)} of {recorded} recorded requests were not made:{requests}"
                if recorded
                else f"{tape.path}: nothing was recorded and nothing was said"
            )


def _summary(request: "Request") -> str:
    what = (request.method, request.headers.get("mcp-method"), request.headers.get("mcp-name"), request.uri)
    return " ".join(filter(None, what))


# -- matchers: vcrpy passes the request that is made, then one that was recorded --------------------------------------


def _bank_uri(made: "Request", recorded: "Request") -> None:
    ours, theirs = (_ENDPOINT.sub(_ORIGIN, request.uri) for request in (made, recorded))
    if ours != theirs:
        raise AssertionError(f"{ours}, recorded was {theirs}")


def _bank_headers(made: "Request", recorded: "Request") -> None:
    for name in ("mcp-protocol-version", "mcp-method", "mcp-name"):
        ours, theirs = made.headers.get(name), recorded.headers.get(name)
        if ours != theirs:
            raise AssertionError(f"{name}: {ours}, recorded was {theirs}")
    if (_SESSION in made.headers) != (_SESSION in recorded.headers):
        raise AssertionError(f"{_SESSION} is sent with only one of them")


def _bank_body(made: "Request", recorded: "Request") -> None:
    said, wanted = _canonical(read_body(made)), _canonical(read_body(recorded))
    if said != wanted != _canonical(_veil([made.headers], [], [])(read_body(made))):
        lines = difflib.unified_diff(wanted.splitlines(), said.splitlines(), "recorded", "made", n=1, lineterm="")
        raise AssertionError("\n".join(lines))


def _canonical(body: str | bytes | None) -> str:
    """Return a body as text that is equal where the JSON is: ``true`` is not ``1``, order of keys is nothing."""
    text = body.decode(errors="backslashreplace") if isinstance(body, bytes) else body or ""
    try:
        return json.dumps(_unversioned(json.loads(text)), sort_keys=True, indent=1, ensure_ascii=False)
    except ValueError:
        return text


def _unversioned(message: Any) -> Any:
    """Return a message whose `clientInfo` has no version: a release of this package says the same as the one before."""
    params = message.get("params") if isinstance(message, dict) else None
    if isinstance(params, dict):
        for holder, name in ((params, "clientInfo"), (params.get("_meta"), META + "clientInfo")):
            if isinstance(holder, dict) and isinstance(holder.get(name), dict):
                holder[name]["version"] = "*"
    return message


# -- what is written down ----------------------------------------------------------------------------------------------


class _Files:
    """The persister: UTF-8, whatever the locale."""

    @staticmethod
    def load_cassette(cassette_path: str, serializer: Any) -> Any:
        try:
            text = Path(cassette_path).read_text("utf-8")
        except FileNotFoundError:
            raise CassetteNotFoundError from None
        return deserialize(text, serializer)

    @staticmethod
    def save_cassette(cassette_path: str, cassette_dict: Any, serializer: Any) -> None:
        path = Path(cassette_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(serialize(cassette_dict, serializer), "utf-8", newline="\n")
