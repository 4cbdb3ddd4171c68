"""The demo, offline and live."""

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest
from command_line import Run, keyed
from test_cli import COMMAND
from wire_server import Hindsight, WireServer

from hindsight_bank import DeadlineError, SettingsError, ToolError
from hindsight_bank.cli import demo, main, steps
from hindsight_bank.cli.screen import Screen

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


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_offline_demo_shows_every_step_within_the_width(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: a tour without a server, on a terminal of any width."""
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
    """Ours: what is replayed from a cassette does not vary."""
    outputs = []
    for _ in range(2):
        main(["demo", "--offline"])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudoterminals")
def test_a_terminal_gets_colours() -> None:
    """Ours: colours where a terminal shows them, plain text elsewhere."""
    import pty  # noqa: PLC0415 - POSIX only

    primary, replica = pty.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen([*COMMAND, "demo", "--offline"], stdout=replica, stderr=replica, env=env)
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
    """Ours: what is shown is what runs, and can be copied."""
    source = demo.code(step)
    assert ast.parse(source).body
    assert "return" not in source
    assert "noqa" not in source
    assert step.__doc__
    assert "\n" not in step.__doc__


def test_the_last_tag_of_a_note_is_its_alone() -> None:
    """Ours: the demo finds out by it which texts are visible."""
    tags = [tag for note in steps.NOTES for tag in note.tags]
    assert all(tags.count(note.tags[-1]) == 1 for note in steps.NOTES)


def test_texts_that_never_show_up_end_the_wait_with_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: `retain` only queues, and nobody waits for ever."""
    monkeypatch.setattr(demo, "_PATIENCE", 0.0)
    with pytest.raises(DeadlineError, match="none was visible") as caught:
        demo.Demo(Screen(), live=True)._wait(cast("Any", None))
    assert caught.value.outcome == "unknown"


def test_the_demo_goes_on_with_the_texts_that_show_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours: a server that is slow with one text still shows the rest."""

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
    """Hindsight 1.1.0 without an LLM: reflect is refused in-band, all else works."""

    def reflect(_bank: Any) -> None:
        """Fail."""
        raise ToolError("no language model", tool="reflect")

    monkeypatch.setattr(steps, "reflect", reflect)
    demo.Demo(Screen(), live=True)._reflect(cast("Any", None))
    assert "except ToolError" in capsys.readouterr().out


def test_a_bank_that_holds_memories_is_left_alone() -> None:
    """Ours: the demo writes into a bank of its own only."""
    bank = SimpleNamespace(bank_id="alice", list_memories=lambda **_: SimpleNamespace(total=3))
    with pytest.raises(SettingsError, match="alice holds 3 memories"):
        demo._refuse_used(cast("Any", bank))


def test_the_key_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours: a key on the command line would be seen by all users of the machine."""
    monkeypatch.setenv("HINDSIGHT_API_KEY", "sesame\n")
    assert main(["demo", "http://127.0.0.1:1"]) == 3
    assert "begins or ends with whitespace" in capsys.readouterr().err


def test_a_demo_that_needs_a_key_says_where_it_takes_it_from(start_bank: Callable[..., WireServer], run: Run) -> None:
    """Ours: a new bank has no stored key, so there is nothing to log in to."""
    ran = run("demo", start_bank(keyed(Hindsight())).url)
    assert (ran.code, ran.err) == (
        3,
        "hindsight-bank: HTTP 401: the server wants an API key; set HINDSIGHT_API_KEY\n",
    )


@pytest.mark.live
def test_the_demo_runs_on_a_real_server(capsys: pytest.CaptureFixture[str]) -> None:
    """Hindsight at HINDSIGHT_LIVE_URL."""
    url = os.environ["HINDSIGHT_LIVE_URL"]
    assert main(["demo", url]) == 0
    out = capsys.readouterr().out
    assert "5 of 5 texts are visible" in out
    assert f"curl -X DELETE {url}/v1/default/banks/demo-" in out
