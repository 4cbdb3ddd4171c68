"""The command line as a person and a script meet it. Authority: ours, except where a test says otherwise."""

import ast
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hindsight_bank
from hindsight_bank import BankError, ClosedError, DeadlineError, SettingsError, ToolError, cli
from hindsight_bank.cli import demo, endings, main, steps
from hindsight_bank.cli.inert import inert, one_line
from hindsight_bank.cli.screen import Column, Screen

STEPS = (
    steps.connect,
    steps.retain,
    steps.health,
    steps.wait,
    steps.recall,
    steps.reflect,
    steps.browse,
    steps.fetch,
    steps.break_a_rule,
    steps.miss_a_memory,
)
# An escape sequence, console markup, an override of the reading direction, a bell, a line break.
HOSTILE = "\x1b[31mred\x1b[0m [bold]bold[/bold] \u202egnp.exe \a \n end"


COMMAND = (sys.executable, "-c", "import sys; from hindsight_bank.cli import main; sys.exit(main())")


# -- the demo ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_offline_demo_shows_every_step_within_the_width(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["demo", "--offline"]) == 0
    out, err = capsys.readouterr()
    flat = " ".join(out.replace("│", " ").split())
    for fact in (
        "all six tools are there",
        *(note.text for note in steps.NOTES),
        "hindsight-mcp-server 1.1.0",
        "2026-07-28",
        "5 of 5 texts are visible",
        "What tea does Mira like",
        "Mira Okafor likes ginger tea and cannot eat peanuts.",
        "except ArgumentsError",
        "not_sent",
        "except NotFoundError",
        "refused",
    ):
        assert fact in flat
    assert max(map(len, out.splitlines())) <= columns
    assert "\x1b" not in out
    assert err == ""


def test_the_offline_demo_is_the_same_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for _ in range(2):
        main(["demo", "--offline"])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudoterminals")
def test_a_terminal_gets_colours() -> None:
    import pty  # noqa: PLC0415 - POSIX only

    primary, replica = pty.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen([*COMMAND, "demo", "--offline"], stdout=replica, stderr=replica, env=env)  # noqa: S603
    os.close(replica)
    shown = b""
    with suppress(OSError):  # when the other end is closed
        while chunk := os.read(primary, 4096):
            shown += chunk
    os.close(primary)
    assert process.wait(60) == 0
    assert b"\x1b[1;32m" in shown


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_shown_as_code_that_python_reads(step: Any) -> None:
    source = demo.code(step)
    assert ast.parse(source).body
    assert "return" not in source
    assert "noqa" not in source
    assert step.__doc__
    assert "\n" not in step.__doc__


def test_the_last_tag_of_a_note_is_its_alone() -> None:
    tags = [tag for note in steps.NOTES for tag in note.tags]
    assert all(tags.count(note.tags[-1]) == 1 for note in steps.NOTES)


def test_texts_that_never_show_up_end_the_wait_with_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_PATIENCE", 0.0)
    with pytest.raises(DeadlineError, match="none was visible") as caught:
        demo.Demo(Screen(), live=True)._wait(cast("Any", None))
    assert caught.value.outcome == "unknown"


def test_the_demo_goes_on_with_the_texts_that_show_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wait(bank: Any) -> set[str]:
        """See two."""
        return {"food", "home"} if bank is None else set()

    monkeypatch.setattr(demo, "_PATIENCE", 0.05)
    monkeypatch.setattr(demo, "_PAUSE", 0.01)
    monkeypatch.setattr(steps, "wait", wait)
    demo.Demo(Screen(), live=True)._wait(cast("Any", None))
    out = capsys.readouterr().out
    assert "2 of 5 texts are visible" in out
    assert "goes on with these" in out


def test_a_server_without_a_language_model_does_not_end_the_demo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def reflect(_bank: Any) -> None:
        """Fail."""
        raise ToolError("no language model", tool="reflect")

    monkeypatch.setattr(steps, "reflect", reflect)
    demo.Demo(Screen(), live=True)._reflect(cast("Any", None))
    assert "except ToolError" in capsys.readouterr().out


def test_a_bank_that_holds_memories_is_left_alone() -> None:
    bank = SimpleNamespace(bank_id="alice", list_memories=lambda **_: SimpleNamespace(total=3))
    with pytest.raises(SettingsError, match="alice holds 3 memories"):
        demo._refuse_used(cast("Any", bank))


def test_a_key_comes_from_the_variable_that_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOME_KEY", "sesame")
    assert demo._key("SOME_KEY") == "sesame"
    assert demo._key(None) is None
    assert main(["demo", "http://127.0.0.1:1", "--key-env", "OTHER_KEY"]) == 3
    assert "OTHER_KEY is not set" in capsys.readouterr().err


@pytest.mark.live
def test_the_demo_runs_on_a_real_server(capsys: pytest.CaptureFixture[str]) -> None:
    """Authority: the server at HINDSIGHT_LIVE_URL."""
    url = os.environ["HINDSIGHT_LIVE_URL"]
    assert main(["demo", url]) == 0
    out = capsys.readouterr().out
    assert "5 of 5 texts are visible" in out
    assert f"curl -X DELETE {url}/v1/default/banks/demo-" in out


# -- strangers' text ---------------------------------------------------------------------------------------------------


@given(st.text())
def test_inert_text_steers_no_terminal(text: str) -> None:
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
    for text in ("Łódź, 東京", "می\u200cرود", "👩\u200d🚀", "[bold]", "a\nb"):
        assert inert(text) == text
    assert inert("a\tb\xa0c") == "a b c"


@pytest.mark.parametrize("columns", [40, 120])
def test_nothing_shown_can_be_markup_or_an_escape(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
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
    """Authority: the table in the docstring of the package, which --help prints too."""
    documented = {
        name: int(code)
        for code, names in re.findall(r"^ +(\d+)  .*?  +((?:\w+Error|\w+Server)\b.*)$", cli.__doc__ or "", re.MULTILINE)
        for name in names.split()
    }
    code, _ = endings.ending(kind("message"))
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
    assert main(["demo", url]) == code
    err = capsys.readouterr().err
    assert err.startswith("hindsight-bank: ")
    assert sentence in err
    assert err.count("\n") == 1


def test_debug_shows_where_an_error_came_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "http://127.0.0.1:1", "--debug"]) == 5
    err = capsys.readouterr().err
    assert "httpx.ConnectError" in err
    assert "hindsight_bank.errors.UnreachableError" in err


def test_a_fault_of_ours_asks_to_be_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(demo, "run", run)
    assert main(["demo", "--offline"]) == 1
    assert "hindsight-bank: AssertionError; this is a fault of hindsight-bank" in capsys.readouterr().err


def test_an_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", run)
    assert main(["demo", "--offline"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_closed_pipe_ends_quietly() -> None:
    with subprocess.Popen(  # noqa: S603 - our own command
        [*COMMAND, "demo", "--offline"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(60) == endings.PIPE_CLOSED
        assert process.stderr.read() == b""


@pytest.mark.parametrize("missing", ["rich", "vcr"])
def test_a_missing_extra_is_one_sentence(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
    with pytest.raises(SystemExit) as caught:
        main(args)
    assert caught.value.code == endings.USAGE
    assert "usage: hindsight-bank" in capsys.readouterr().err


def test_help_tells_the_exit_codes_and_imports_nothing_heavy() -> None:
    code = """if 1:
        import sys
        from hindsight_bank.cli import main
        try:
            main(["--help"])
        except SystemExit:
            heavy = {"rich", "httpx", "msgspec", "attrs", "vcr", "keyring", "jsonschema", "asyncio"}
            print(heavy & set(sys.modules), file=sys.stderr)
    """
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert "130  interrupted by Ctrl-C" in result.stdout
    assert (result.returncode, result.stderr) == (0, "set()\n")


def test_an_alphabet_that_the_terminal_lacks_is_no_error() -> None:
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    result = subprocess.run(  # noqa: S603 - our own command
        [*COMMAND, "demo", "--offline"], env=env, capture_output=True, check=False
    )
    assert result.returncode == 0
    assert b"ginger tea" in result.stdout
