"""The error tree: drawn as it is, whole, picklable, and discreet."""

import copy
import inspect
import pickle
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hindsight_bank import errors
from hindsight_bank.discreet import discreet
from hindsight_bank.errors import BankError, DeadlineError, RPCError, ToolError

# One value for each attribute that a class of the tree takes by keyword.
VALUES: dict[str, Any] = {
    "outcome": "unknown",
    "source": "api_key",
    "tool": "recall",
    "problems": ("Expected `int` @ $.max_tokens", "Expected `str` @ $.query"),
    "retry_after": 2.5,
    "seconds": 0.3,
    "operation": "reflect",
    "status": 503,
    "code": -32600,
    "data": {"supported": ["2026-07-28"]},
    "missing": ("reflect", "get_bank"),
    "server": "hindsight-mcp-server 1.1.0",
    "what": "memory",
    "path": "settings.json",
    "found": ("a repository folder",),
}


def tree(root: type[BankError] = BankError) -> list[type[BankError]]:
    ours = (child for child in root.__subclasses__() if child.__module__ == errors.__name__)
    return [root, *(found for child in ours for found in tree(child))]


def full(kind: type[BankError]) -> BankError:
    """Make an error of the kind with a value other than the default in every attribute."""
    names = [p.name for p in inspect.signature(kind).parameters.values() if p.kind is p.KEYWORD_ONLY]
    return kind("the sentence", **{name: VALUES[name] for name in names})


every_class = pytest.mark.parametrize("kind", tree(), ids=lambda kind: kind.__name__)


def drawn() -> dict[str, tuple[str | None, str | None, list[str]]]:
    """Read the drawing: name → (parent, second base in brackets, attributes)."""
    found: dict[str, tuple[str | None, str | None, list[str]]] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"((?:│   )*(?:[├└]── )?)([A-Z]\w+)(?: \((\w+)\))? {2,}(.*)", line):
            depth = len(match[1]) // 4
            path[depth:] = [match[2]]
            attributes = re.findall(r"(?<=\s)\.(\w+)", match[4])
            found[match[2]] = (path[depth - 1] if depth else None, match[3], attributes)
    return found


def test_the_drawing_names_every_class_and_no_other() -> None:
    """Ours: errors.py opens with the tree as it is."""
    assert sorted(drawn()) == sorted(kind.__name__ for kind in tree())


@every_class
def test_the_drawing_shows_the_bases_and_attributes_of_each_class(kind: type[BankError]) -> None:
    """Ours: what is drawn can be caught and read."""
    parent, second, attributes = drawn()[kind.__name__]
    bases = [base.__name__ for base in kind.__bases__]
    assert bases == [parent or "Exception", *([second] if second else [])]
    assert all(hasattr(kind("x"), name) for name in attributes)


@every_class
def test_every_class_is_public_and_documents_its_attributes(kind: type[BankError]) -> None:
    """Ours: what can be raised can be imported, and its docstring tells what it carries."""
    import hindsight_bank  # noqa: PLC0415 - the public face

    assert getattr(hindsight_bank, kind.__name__) is kind
    assert kind.__name__ in errors.__all__
    told = "".join(inspect.cleandoc(base.__doc__ or "") for base in kind.__mro__)  # 3.13 strips the indentation itself
    assert all(f"\n    {name}: " in told for name in vars(kind("x")))


@every_class
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])  # noqa: S301
def test_an_error_survives_pickling_and_copying_whole(
    kind: type[BankError], again: Callable[[BankError], BankError]
) -> None:
    """Ours: process pools send errors by pickle."""
    error = full(kind)
    error.add_note("seen in a worker")
    twin = again(error)
    assert type(twin) is kind
    assert (str(twin), twin.args, vars(twin)) == (str(error), error.args, vars(error))
    assert twin.outcome == error.outcome


@pytest.mark.parametrize(
    ("names", "outcome"),
    [
        (
            (
                "BankError SettingsError ReconnectRequired CredentialsError ClosedError ArgumentsError BackingOffError"
                " UnreachableError DeadlineError"
            ),
            "not_sent",
        ),
        ("StatusError UnauthorizedError RPCError IncompatibleServer ToolError NotFoundError", "refused"),
        ("AnswerLostError ProtocolError AnswerError", "unknown"),
    ],
)
def test_an_error_says_what_became_of_the_request(names: str, outcome: str) -> None:
    """Public report: hindsight #3114 (a repeated write stores twice), so every error tells whether it may have run."""
    assert {getattr(errors, name)("x").outcome for name in names.split()} == {outcome}


def test_every_class_has_an_outcome_in_the_table_above() -> None:
    """Ours: a class added later is given its outcome on purpose."""
    table = test_an_error_says_what_became_of_the_request.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert sorted(name for names, _ in table for name in names.split()) == sorted(k.__name__ for k in tree())


def test_an_outcome_given_to_one_error_stays_with_it() -> None:
    """Ours: outcomes are set on the instance, never on the class."""
    assert DeadlineError("x", outcome="unknown").outcome == "unknown"
    assert DeadlineError("x").outcome == "not_sent"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (RPCError("no such method", code=-32601), "JSON-RPC error -32601: no such method"),
        (ToolError("boom", tool="retain"), "retain: boom"),
        (ToolError("boom"), "boom"),
    ],
)
def test_the_sentence_of_the_server_is_kept_apart_from_ours(error: RPCError | ToolError, text: str) -> None:
    """Ours: str() says where it comes from, .message is what the server said."""
    assert str(error) == text
    assert text.endswith(error.message)


def _frames(error: BaseException) -> set[str]:
    """Return the functions whose frames, and so locals, the error and all that hangs on it still hold."""
    names: set[str] = set()
    chain: list[BaseException | None] = [error]
    for link in chain:
        if link is not None:
            names |= {frame.f_code.co_name for frame, _ in traceback.walk_tb(link.__traceback__)}
            chain += [link.__cause__, link.__context__]
    return names


@discreet
def entrance(key: str, *, chained: bool = True) -> None:
    """Fail three levels deep, with a context and, apart from it, perhaps a cause."""
    del key
    try:
        cut("the key")
    except OSError as error:
        cause = error
    try:
        parse("the memory")
    except ValueError:
        if chained:
            raise ToolError("boom", tool="retain") from cause
        raise ToolError("boom", tool="retain")  # noqa: B904 - on purpose


def cut(key: str) -> None:
    raise OSError(len(key))


def parse(memory: str) -> None:
    raise ValueError(len(memory))


@pytest.mark.parametrize(("chained", "context"), [(True, OSError), (False, ValueError)])
def test_a_public_call_leaves_no_frame_of_ours_in_its_errors(*, chained: bool, context: type[Exception]) -> None:
    """Public report: openai-python #1196 (crash reports of tracebacks with locals carried live keys)."""
    with pytest.raises(ToolError, match=r"^retain: boom$") as caught:
        entrance("the key", chained=chained)
    error = caught.value
    assert type(error.__cause__) is (OSError if chained else type(None))
    assert type(error.__context__) is context  # what was suppressed is gone
    assert _frames(error) == {test_a_public_call_leaves_no_frame_of_ours_in_its_errors.__name__}


def test_an_error_that_the_caller_is_handling_keeps_its_frames() -> None:
    """Ours: a call made in an except clause hangs the caller's own error on ours; that one is not ours to strip."""
    own = ValueError("of the caller")
    with pytest.raises(ToolError) as caught:
        _call_while_handling(own)
    assert caught.value.__context__ is not own
    assert "_call_while_handling" in {frame.f_code.co_name for frame, _ in traceback.walk_tb(own.__traceback__)}


def _call_while_handling(error: Exception) -> None:
    try:
        raise error
    except ValueError:
        entrance("the key")


@pytest.mark.parametrize("kind", [OSError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_another_exception_keeps_its_lines_but_no_locals(kind: type[BaseException]) -> None:
    """Ours: a fault of the caller's or of ours is to be found, by the lines that led to it."""
    with pytest.raises(kind) as caught:
        discreet(_chained)("the key", kind)
    error = caught.value
    assert type(error.__context__) is ValueError
    assert {"_chained", "cut_by"} <= _frames(error)
    assert "parse" in _frames(error.__context__)
    for link in (error, error.__context__):
        stack = traceback.TracebackException.from_exception(link, capture_locals=True).stack
        assert not [frame for frame in stack if "the key" in str(frame.locals) and frame.filename != __file__]
        assert not [frame.name for frame in stack if frame.locals and frame.name in ("_chained", "cut_by", "parse")]


def _chained(key: str, kind: type[BaseException]) -> None:
    try:
        parse(key)
    except ValueError:
        cut_by(key, kind)


def cut_by(key: str, kind: type[BaseException]) -> None:
    raise kind(len(key))


def test_results_pass_unchanged() -> None:
    """Ours: an entrance is the function it lets in to."""
    assert discreet(len)("abc") == 3
    assert discreet(cut).__name__ == "cut"


def test_the_page_of_errors_tells_what_to_do_about_each() -> None:
    """Ours: docs/errors.md; a class, an attribute or an outcome that changes is told there."""
    page = (Path(__file__).parent.parent / "docs" / "errors.md").read_text("utf-8")
    rows = re.findall(r"^\| `([A-Z]\w+)` \| (.+?) \| .+? \| (.+?) \|$", page, re.MULTILINE)
    classes = {name: set(attributes) - {"tool", "operation"} for name, (base, _, attributes) in drawn().items() if base}
    assert [(name, set(re.findall(r"`\.(\w+)`", advice))) for name, _, advice in rows] == [*classes.items()]
    assert [name for name, outcome, _ in rows if f"`{getattr(errors, name).outcome}`" not in outcome] == []
