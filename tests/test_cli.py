"""The command line as a person and a script meet it."""

import ast
import importlib
import os
import re
import subprocess
import sys
import tomllib
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from examples import ROOT
from hypothesis import given
from hypothesis import strategies as st

import hindsight_bank
from hindsight_bank import BankError, ClosedError, cli
from hindsight_bank.cli import demo, endings, grammar, main
from hindsight_bank.cli.screen import Column, Screen
from hindsight_bank.inert import inert, one_line

# An escape sequence, console markup, an override of the reading direction, a bell, a line break.
HOSTILE = "\x1b[31mred\x1b[0m [bold]bold[/bold] \u202egnp.exe \a \n end"

COMMAND = (sys.executable, "-c", "import sys; from hindsight_bank.cli import main; sys.exit(main())")


# -- strangers' text ---------------------------------------------------------------------------------------------------


@given(st.text())
def test_inert_text_steers_no_terminal(text: str) -> None:
    """Unicode, general categories Cc, Cs, Zl, Zp, and UAX #9: what controls a terminal or the reading direction."""
    for character in inert(text):
        assert character == "\n" or unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(character) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )
    assert "\n" not in one_line(text)


def test_inert_text_keeps_words_as_they_are() -> None:
    """Ours: joiners belong to words, and brackets are no markup."""
    for text in ("Łódź, 東京", "می\u200cرود", "👩\u200d🚀", "[bold]", "a\nb"):
        assert inert(text) == text
    assert inert("a\tb\xa0c") == "a b c"


@pytest.mark.parametrize("columns", [40, 120])
def test_nothing_shown_can_be_markup_or_an_escape(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: what a server says is shown, never obeyed."""
    monkeypatch.setenv("COLUMNS", str(columns))
    screen = Screen()
    screen.heading(HOSTILE)
    screen.say(HOSTILE)
    screen.done(HOSTILE)
    screen.rows([Column("type"), Column("text", share=1)], [(HOSTILE, HOSTILE)])
    screen.fields(HOSTILE, [(HOSTILE, HOSTILE)])
    screen.answer(HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)])
    screen.caught(ValueError(HOSTILE), [("outcome", HOSTILE)])
    with screen.progress(HOSTILE, 1) as bar, screen.spinner(HOSTILE):
        bar.reach(1)
    out = capsys.readouterr().out
    assert not set("\x1b\a\u202e") & set(out)
    assert out.count("[bold]") >= 9


# -- how it ends -------------------------------------------------------------------------------------------------------


def error_classes() -> Iterable[type[BankError]]:
    public = (getattr(hindsight_bank, name) for name in hindsight_bank.__all__)
    return [kind for kind in public if isinstance(kind, type) and issubclass(kind, BankError)]


@pytest.mark.parametrize("kind", error_classes())
def test_the_documented_exit_code_is_the_one_given(kind: type[BankError]) -> None:
    """Ours: the table in the docstring of the package, which --help prints too."""
    documented = {
        name: int(code)
        for code, names in re.findall(r"^ +(\d+)  .*?  +((?:\w+Error|\w+Server)\b.*)$", cli.__doc__ or "", re.MULTILINE)
        for name in names.split()
    }
    error = kind("message")
    error.outcome = "unknown"
    code, _ = endings.ending(error)
    inherited = next((documented[base.__name__] for base in kind.__mro__ if base.__name__ in documented), 1)
    assert code == inherited
    assert (code == 1) == (kind in (BankError, ClosedError))


@pytest.mark.parametrize(
    ("url", "code", "sentence"),
    [
        ("http://127.0.0.1:1", 5, "check the URL, and that the server is running"),
        ("http://192.0.2.1", 2, "plain http is for loopback only"),
        ("http://127.0.0.1:1/mcp/alice/", 2, "a server URL has no path"),
    ],
)
def test_an_error_is_one_line_on_standard_error(
    url: str, code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours: a person reads it, and a script can tell the exit code."""
    assert main(["demo", url]) == code
    err = capsys.readouterr().err
    assert err.startswith("hindsight-bank: ")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (hindsight_bank.ToolError("reflect: the query is empty."), "reflect: the query is empty."),
        (hindsight_bank.RPCError("It failed.", code=1), "JSON-RPC error 1: It failed; the server's log tells more"),
        (hindsight_bank.StatusError("HTTP 404: no; check the URL", status=404), "HTTP 404: no; check the URL"),
        (hindsight_bank.StatusError("HTTP 413; send less", status=413), "HTTP 413; send less"),
        (hindsight_bank.ProtocolError("it is too large; ask for less"), "it is too large; ask for less"),
    ],
)
def test_advice_is_given_once_and_where_it_helps(error: BankError, sentence: str) -> None:
    """Ours: a sentence that says what to do, or what was wrong in the call, gets no second one."""
    assert endings.ending(error)[1] == sentence


@pytest.mark.parametrize(
    ("error", "writes", "code", "says"),
    [
        (hindsight_bank.AnswerLostError("cut", outcome="not_sent"), True, 5, "cut; nothing was sent"),
        (hindsight_bank.AnswerLostError("cut"), True, 6, "cut; look before you repeat it: it may have run"),
        (hindsight_bank.StatusError("HTTP 503", status=503, outcome="unknown"), True, 7, "HTTP 503; look before you"),
        (hindsight_bank.StatusError("HTTP 503", status=503, outcome="unknown"), False, 7, "HTTP 503; is this a Hind"),
        (hindsight_bank.StatusError("HTTP 400", status=400, outcome="refused"), True, 7, "HTTP 400; is this a Hind"),
    ],
)
def test_whether_it_may_have_run_is_told(error: BankError, writes: bool, code: int, says: str) -> None:
    """Ours: a person who repeats a retain must know."""
    ended, sentence = endings.ending(error, writes=writes)
    assert (ended, sentence[: len(says)]) == (code, says)


def test_debug_shows_where_an_error_came_from(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: --debug prints the traceback, causes included."""
    assert main(["demo", "http://127.0.0.1:1", "--debug"]) == 5
    err = capsys.readouterr().err
    assert "ConnectionRefusedError" in err
    assert "hindsight_bank.errors.UnreachableError" in err


def test_a_fault_of_ours_asks_to_be_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours: what is no BankError is no fault of the user's."""

    def run(_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(demo, "demo", run)
    assert main(["demo", "--offline"]) == 1
    assert "hindsight-bank: AssertionError; this is a fault of hindsight-bank" in capsys.readouterr().err


@pytest.mark.parametrize(("room", "function"), [(demo, "demo"), (grammar, "parsed"), (importlib, "import_module")])
def test_an_interrupt_ends_quietly(
    room: Any, function: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """POSIX shells: 130 is 128 and SIGINT; also while the arguments are read or the command is being loaded."""

    def run(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(room, function, run)
    assert main(["demo", "--offline"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("loaded", ["hindsight_bank", "hindsight_bank.errors", "argparse", "hindsight_bank.cli.demo"])
def test_an_interrupt_while_the_program_loads_ends_quietly(loaded: str) -> None:
    """POSIX shells: 130 is 128 and SIGINT; from the first module that the installed program imports."""
    program = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]["hindsight-bank"]
    module, _, function = program.partition(":")
    code = f"""if 1:
        import sys
        class Interrupt:
            def find_spec(self, name, *_):
                if name == {loaded!r}:
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupt())
        from {module} import {function}
        sys.exit({function}())
    """
    result = subprocess.run([sys.executable, "-c", code, "demo", "--offline"], capture_output=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, b"", b"")


def test_a_closed_pipe_ends_quietly() -> None:
    """Python, signal, Note on SIGPIPE: a reader such as `head` may leave early."""
    with subprocess.Popen([*COMMAND, "demo", "--offline"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(60) == endings.PIPE_CLOSED
        assert process.stderr.read() == b""


@pytest.mark.parametrize("missing", ["rich", "vcr"])
def test_a_missing_extra_is_one_sentence(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours: the command line is an extra, and says how to install it."""
    for name in [
        name for name in sys.modules if name.split(".")[0] == missing or name.startswith("hindsight_bank.cli.")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "hindsight_bank.testing", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["demo", "--offline"]) == 9
    err = capsys.readouterr().err
    assert f"the package {missing} is missing; pip install 'hindsight-bank[cli]'" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("args", [[], ["demo"], ["demo", "--offline", "http://127.0.0.1:1"], ["nonsense"]])
def test_a_wrong_command_says_how_to_do_it(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: the usage on standard error, and the exit code of usage errors."""
    with pytest.raises(SystemExit) as caught:
        main(args)
    assert caught.value.code == endings.USAGE
    assert "usage: hindsight-bank" in capsys.readouterr().err


def test_an_unknown_option_is_answered_with_the_usage_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: among its options is the right one."""
    with pytest.raises(SystemExit) as caught:
        main(["recall", "x", "--types", "world"])
    err = capsys.readouterr().err
    assert caught.value.code == endings.USAGE
    assert "usage: hindsight-bank recall" in err
    assert "unrecognized arguments: --types world" in err


@pytest.mark.parametrize("value", ["0", "-1", "nan", "soon"])
def test_a_timeout_that_is_none_is_told_in_the_words_of_a_shell(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: math.inf is Python's."""
    with pytest.raises(SystemExit) as caught:
        main(["status", "--timeout", value])
    assert caught.value.code == endings.USAGE
    told = "argument --timeout: a number of seconds greater than 0; inf for no limit\n"
    assert capsys.readouterr().err.endswith(told)


def test_options_that_stand_before_their_command_are_told_their_place(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: where an option stands is easily got wrong."""
    with pytest.raises(SystemExit):
        main(["--json", "recall", "x"])
    assert capsys.readouterr().err.endswith("unrecognized arguments: --json: options stand after recall\n")


@pytest.mark.parametrize("args", [["--debug", "demo", "http://x y"], ["demo", "--debug", "http://x y"]])
def test_debug_may_stand_before_the_command_too(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: it is the one option that every command takes."""
    assert main(args) == endings.USAGE
    assert "Traceback" in capsys.readouterr().err


def test_help_tells_the_exit_codes_and_imports_nothing_heavy() -> None:
    """Ours: --help is answered at once."""
    code = """if 1:
        import sys
        from hindsight_bank.cli import main
        try:
            main(["--help"])
        except SystemExit:
            heavy = {"rich", "click", "httpx", "httpcore", "msgspec", "attrs", "attr", "vcr", "keyring", "jsonschema"}
            heavy |= {"asyncio", "ssl", "socket", "logging", "platformdirs", "shtab", "json"}
            print(heavy & set(sys.modules), file=sys.stderr)
    """
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "130  interrupted by Ctrl-C" in result.stdout
    assert (result.returncode, result.stderr) == (0, "set()\n")


def test_the_command_line_uses_the_public_names_only() -> None:
    """Ours: what it can do, any program can; text is made inert for pages too."""
    public = {"hindsight_bank", "hindsight_bank.errors", "hindsight_bank.version"}
    public |= {"hindsight_bank.inert", "hindsight_bank.pages", "hindsight_bank.testing"}
    used = {
        node.module
        for path in Path(cli.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hindsight_bank")
    }
    assert {name for name in used if not name.startswith("hindsight_bank.cli")} <= public


def test_an_alphabet_that_the_terminal_lacks_is_no_error() -> None:
    """Ours: PYTHONIOENCODING may be narrower than what is shown."""
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    result = subprocess.run([*COMMAND, "demo", "--offline"], env=env, capture_output=True, check=False)
    assert result.returncode == 0
    assert b"ginger tea" in result.stdout
