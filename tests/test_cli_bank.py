"""The command line on a bank: connect, status, recall, reflect, browse, disconnect."""

import io
import json
import os
import signal
import subprocess
import threading
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import COMMAND, FACT, HOSTILE, ID, ITEM, Run, bound, pages
from wire_server import ANSWERS, MEMORY, Hindsight, Move, WireServer, tool_result

from hindsight_bank import Binding
from hindsight_bank.cli import browsing, endings

Start = Callable[..., WireServer]

FOUND = {**ANSWERS["recall"], "results": [FACT]}
MISSING = {"error": "Bank 'alice' not found"}


# -- the binding -------------------------------------------------------------------------------------------------------


def test_a_bank_is_connected_used_and_disconnected(start_bank: Start, run: Run, config: Path) -> None:
    """Ours: the way of a new user."""
    server = start_bank(recall=FOUND)
    assert run("recall", "x").code == 2
    connected = run("connect", server.url, "alice")
    assert (connected.code, connected.err) == (0, "")
    assert f"connected; kept in {config}" in connected.out
    assert json.loads(config.read_bytes()) == {"format": 1, "server_url": server.url, "bank_id": "alice"}
    assert run("recall", "What does Alice drink?").code == 0
    assert server.requests[-1].arguments == {"query": "What does Alice drink?"}
    ended = run("disconnect")
    assert f"hindsight-bank logout {server.url} alice" in ended.out
    assert not config.exists()
    assert run("disconnect") == (2, "", f"hindsight-bank: there is no binding at {config}: nothing to remove\n")


def test_without_a_binding_one_sentence_says_how_to_connect(run: Run, config: Path) -> None:
    """Ours: no default server."""
    for command in (["status"], ["recall", "x"], ["memories"], ["retain", "x"], ["bank"], ["login"]):
        ran = run(*command)
        assert (ran.code, ran.out) == (2, "")
        sentence = f"there is no binding at {config}: connect with `hindsight-bank connect URL BANK`"
        assert ran.err == f"hindsight-bank: {sentence}\n"


def test_connecting_to_what_is_no_bank_keeps_nothing(start_bank: Start, run: Run, config: Path) -> None:
    """Ours: connect checks and tries before it saves."""
    missing = start_bank(get_bank=MISSING).url
    for url, bank_id, code in [
        ("http://evil.test", "alice", 2),
        (missing, "Alice", 2),
        (missing, "alice", 4),
        ("http://127.0.0.1:1", "alice", 5),
    ]:
        ran = run("connect", url, bank_id)
        assert (ran.code, ran.err.count("\n"), config.exists()) == (code, 1, False)


def test_a_bank_that_is_missing_may_be_connected_on_purpose(start_bank: Start, run: Run, tmp_path: Path) -> None:
    """Ours: connecting never makes a bank; the first retain does, where one says so."""
    server = start_bank(get_bank=MISSING)
    connected = run("connect", server.url, "alice", "--new-bank")
    assert connected.code == 0
    assert "bank    alice: not there yet " in connected.out
    assert connected.out.endswith('Now have the first retain make the bank:\nhindsight-bank retain --new-bank "…"\n')
    assert json.loads(run("connect", server.url, "alice", "--new-bank", "--json").out)["exists"] is False
    for command in (["status"], ["retain", "x"], ["recall", "x"], ["memories"], ["memories", "--all"]):
        refused = run(*command)
        assert refused.code == 4
        assert refused.err == (
            f"hindsight-bank: no bank alice on {server.url}: Bank 'alice' not found; check its name, or have the first"
            ' retain make it: hindsight-bank retain --new-bank "…" (connect takes --new-bank too)\n'
        )
    assert run("retain", "x", "--new-bank").code == 0
    elsewhere = str(tmp_path / "a binding.json")
    connected = run("connect", server.url, "alice", "--new-bank", "-b", elsewhere)
    assert connected.out.endswith(f"hindsight-bank retain --new-bank --binding '{elsewhere}' \"…\"\n")


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_a_spinner_is_for_a_terminal_only(
    variable: str, start_bank: Start, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours, docs/cli.md; force-color.org: FORCE_COLOR asks for colour, and for nothing that moves."""
    bound(start_bank())
    monkeypatch.setenv(variable, "1")
    assert run("recall", "tea").err == ""


def test_a_long_path_is_whole(start_bank: Start, run: Run, tmp_path: Path) -> None:
    """Ours: what is copied from the terminal, or read from a pipe, must lead there."""
    server = start_bank()
    file = str(tmp_path / "a folder" / ("long-" * 40) / "binding.json")
    for command in (["connect", server.url, "alice"], ["status"], ["disconnect"]):
        ran = run(*command, "--binding", file)
        assert (ran.code, file in ran.out) == (0, True)


def test_connecting_elsewhere_says_what_it_replaces(start_bank: Start, run: Run) -> None:
    """Ours: one binding, one bank."""
    bound(start_bank(), "bob")
    assert "It replaces bob on http://127.0.0.1" in run("connect", start_bank().url, "alice").out


def test_a_binding_may_lie_elsewhere_or_be_done_without(
    start_bank: Start, run: Run, config: Path, tmp_path: Path
) -> None:
    """Ours: --binding FILE, or --server and --bank together."""
    server, path = start_bank(), str(tmp_path / "work.json")
    assert run("connect", server.url, "alice", "-b", path).code == 0
    assert json.loads(run("status", "-b", path, "--json").out)["binding"] == path
    shown = json.loads(run("status", "--server", server.url, "--bank", "alice", "--json").out)
    assert (shown["binding"], shown["server_url"]) == (None, server.url)
    assert not config.exists()
    assert run("status", "--server", server.url).code == 2
    assert run("disconnect", "--binding", path).code == 0


def test_old_settings_are_answered_with_the_command_that_works(
    start_bank: Start, run: Run, config: Path, tmp_path: Path
) -> None:
    """Ours: what the sentence says is what one does, and the old file stays as it is."""
    server, content = start_bank(), b'{"repository": "/srv/project", "command": "uvx hindsight-api"}'
    config.parent.mkdir(parents=True)
    other = tmp_path / "my old.json"
    for path, more in ((config, []), (other, ["--binding", str(other)])):
        path.write_bytes(content)
        ran = run("status", *more)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert "a repository folder, the launch of a package" in ran.err
        assert ran.err.endswith("URL BANK`\n" if not more else f"URL BANK --binding '{other}'`\n")
        assert run("connect", server.url, "alice", *more).code == 0
        assert run("status", *more).code == 0
        assert run("disconnect", *more).code == 0
        assert run("status", *more).code == 2
        assert path.read_bytes() == content


def test_status_is_one_json_document_for_programs(start_bank: Start, run: Run, config: Path) -> None:
    """Ours: stable keys."""
    server = bound(start_bank())
    shown = json.loads(run("status", "--json").out)
    assert isinstance(shown.pop("seconds"), float)
    assert shown == {
        "binding": str(config),
        "server_url": server.url,
        "bank_id": "alice",
        "key": "none",
        "exists": True,
        "server": "",
        "protocol": "2026-07-28",
        "memories": 1,
    }


# -- recall and reflect ------------------------------------------------------------------------------------------------


def test_options_become_the_arguments_of_the_tool(start_bank: Start, run: Run, tmp_path: Path) -> None:
    """Ours: what is not given is not sent."""
    server = bound(start_bank(recall=FOUND, list_memories=pages(3)))
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "properties": {"drink": {"type": "string"}}}')
    filters = ["--tag", "a", "--tag", "b", "--tags-match", "all_strict"]
    tags = {"tags": ["a", "b"], "tags_match": "all_strict"}
    more: list[str] = ["--max-tokens", "9", "--budget", "low", *filters]
    cases: list[tuple[list[str], dict[str, Any]]] = [
        (["recall", "q", "--type", "world", "--prefer-observations", *more], {"types": ["world"]}),
        (["reflect", "q", "--context", "c", "--schema", str(schema), "--based-on", *more], {"context": "c"}),
        (["memories", "--type", "world", "--text", "tea", "--limit", "2", "--offset", "1", *filters], {"q": "tea"}),
        (["memory", ID], {"memory_id": ID}),
        (["bank"], {}),
    ]
    for command, arguments in cases:
        assert run(*command).code == 0
        sent = server.requests[-1].arguments
        assert sent.items() >= arguments.items()
        if filters[0] in command:
            assert sent.items() >= tags.items()
    reflected = next(request for request in server.requests if request.label == "reflect").arguments
    assert reflected["response_schema"]["properties"] == {"drink": {"type": "string"}}
    assert reflected["include_based_on"] is True


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize(
    "command", [["recall", "x"], ["reflect", "x"], ["memories"], ["memories", "--all"], ["memory", ID]]
)
def test_a_memory_is_shown_inert_at_any_width(
    columns: int, command: list[str], start_bank: Start, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: what a memory says is shown, never obeyed, and nothing is cut."""
    monkeypatch.setenv("COLUMNS", str(columns))
    bound(
        start_bank(
            recall=FOUND,
            reflect={**ANSWERS["reflect"], "text": HOSTILE},
            list_memories=pages(1),
            get_memory={**MEMORY, "text": HOSTILE, "metadata": {"\x1b]0;x\a": "[red]"}},
        )
    )
    ran = run(*command)
    assert (ran.code, ran.err) == (0, "")
    assert not set("\x1b\a\u202e") & set(ran.out)
    words = "".join(ran.out.replace("│", " ").split())
    assert "[bold]tea[/bold]" in words
    assert r"\x1b[31m" in words
    if command[0] != "reflect":
        assert ID in words
    assert max(map(len, ran.out.splitlines())) <= columns


@pytest.mark.parametrize("command", [["recall", "x"], ["reflect", "x"], ["memories"], ["memory", ID], ["bank"]])
def test_json_is_one_document_of_plain_ascii(command: list[str], start_bank: Start, run: Run) -> None:
    """Ours: the result as `to_dict` has it, and nothing in it that a terminal obeys."""
    bound(start_bank(recall=FOUND, list_memories=pages(1), get_memory={**MEMORY, "text": HOSTILE}))
    ran = run(*command, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.isascii()
    assert "\x1b" not in ran.out
    assert isinstance(json.loads(ran.out), dict)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["memories", "--limit", "-1"], "list_memories: Expected `int` >= 0 @ $.limit"),
        (["memories", "--offset", "-1"], "list_memories: Expected `int` >= 0 @ $.offset"),
        (["recall", "x", "--max-tokens", "0"], "recall: Expected `int` >= 1 @ $.max_tokens"),
        (["reflect", "x", "--max-tokens", "0"], "reflect: Expected `int` >= 1 @ $.max_tokens"),
        (["retain", " "], "retain: Expected text that is not blank @ $.content"),
        (["retain", "x", "--timestamp", "yesterday"], "retain: Expected an ISO 8601 time @ $.timestamp"),
        (["retain", "x", "--timestamp", "2026-03-02T10:00"], "retain: Expected a time with its UTC offset"),
        (["status", "-b", ""], "the name of the binding's file is empty: give one, on the command line --binding FILE"),
        (
            ["status", "-b", "/dev/null/x"],
            "cannot be read: Not a directory; mend that, or choose another file with --b",
        ),
    ],
)
def test_what_is_wrong_in_a_command_is_told_before_anything_connects(
    command: list[str], says: str, start_bank: Start, run: Run
) -> None:
    """Ours: the earliest moment."""
    server = bound(start_bank())
    ran = run(*command)
    assert (ran.code, ran.out, ran.err.count("\n"), server.connections) == (2, "", 1, 0)
    assert says in ran.err


def test_nothing_found_is_said(start_bank: Start, run: Run) -> None:
    """Ours: an empty answer is no empty screen."""
    bound(start_bank(list_memories=pages(0)))
    assert run("recall", "x").out == "Nothing was found.\n"
    for command in (["memories"], ["memories", "--all"]):
        assert run(*command).out == "No memories.\n"
        assert run(*command, "--type", "world").out == "No memories.\n"
        known = "The types that servers know are world, experience, observation."
        assert run(*command, "--type", "facts").out == f"No memories. {known}\n"


def test_a_structured_answer_is_shown_and_its_absence_explained(start_bank: Start, run: Run, tmp_path: Path) -> None:
    """Hindsight 0.10 and later: structured_output, or structured_output_error."""
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "properties": {"drink": {"type": "string"}}}')
    answer = {**ANSWERS["reflect"], "structured_output": {"drink": "tea"}}
    fake = Hindsight("modern", {"reflect": answer})
    bound(start_bank(fake))
    assert '"drink": "tea"' in run("reflect", "x", "--schema", str(schema)).out
    fake.answers["reflect"] = {**answer, "structured_output": None, "structured_output_error": "no"}
    assert "No structured answer: no" in run("reflect", "x", "--schema", str(schema)).out


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (None, 11, "schema.json: No such file or directory"),
        ("{", 2, "is no JSON: Expecting property name"),
        ("[]", 2, "holds no JSON Schema of type object"),
        ('{"type": "nonsense"}', 2, "response_schema"),
    ],
)
def test_a_schema_that_is_none_is_refused_before_anything_is_sent(
    content: str | None, code: int, says: str, start_bank: Start, run: Run, tmp_path: Path
) -> None:
    """Ours: one sentence that names the file."""
    server = bound(start_bank())
    if content is not None:
        (tmp_path / "schema.json").write_text(content)
    ran = run("reflect", "x", "--schema", str(tmp_path / "schema.json"))
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert says in ran.err
    assert "reflect" not in server.log


# -- browsing ----------------------------------------------------------------------------------------------------------


def test_a_page_says_where_it_is_and_how_to_go_on(start_bank: Start, run: Run) -> None:
    """Ours: 20 at a time, unless one says so."""
    bound(start_bank(list_memories=pages(45)))
    assert "1 to 20 of 45; next: --offset 20" in run("memories").out
    assert "41 to 45 of 45\n" in run("memories", "--offset", "40").out
    assert "None here, 45 in all." in run("memories", "--offset", "99").out
    assert len(json.loads(run("memories", "--json", "--limit", "7").out)["items"]) == 7


def test_all_memories_stream_as_lines_of_json(start_bank: Start, run: Run) -> None:
    """Ours: a line each, in constant memory."""
    bound(start_bank(list_memories=pages(250)))
    lines = run("memories", "--all", "--json").out.splitlines()
    assert [json.loads(line)["id"][-3:] for line in lines] == [f"{number:03}" for number in range(1, 251)]
    shown = run("memories", "--all").out
    assert shown.count(ITEM["id"][:20]) == 250


def test_a_missing_memory_has_an_exit_code_of_its_own(start_bank: Start, run: Run) -> None:
    """Ours: 4; the sentence is the server's."""
    bound(start_bank(get_memory={"error": f"Memory {ID} not found"}))
    ran = run("memory", ID)
    assert (ran.code, ran.out) == (4, "")
    assert "not found" in ran.err


# -- how it ends -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("config")
def test_a_reader_that_leaves_early_ends_a_stream_quietly(start_bank: Start) -> None:
    """Python, signal, Note on SIGPIPE: `| head` leaves early."""
    bound(start_bank(list_memories=pages(5000)))
    command = [*COMMAND, "memories", "--all", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        assert process.stdout
        assert process.stderr
        assert json.loads(process.stdout.readline())["id"] == ID
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == b""


@pytest.mark.usefixtures("config")
def test_an_interrupt_while_the_server_thinks_ends_quietly(start_bank: Start) -> None:
    """POSIX shells: 130 is 128 and SIGINT."""
    server = bound(start_bank(reflect=lambda _: [Move.HANG]))
    with subprocess.Popen([*COMMAND, "reflect", "x"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        server.wait_until_asked("reflect")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == (b"", b"")
        assert process.returncode == 130


@pytest.mark.usefixtures("config")
def test_a_full_disk_is_one_sentence(start_bank: Start) -> None:
    """Linux: /dev/full."""
    bound(start_bank())
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run([*COMMAND, "bank", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 11
    assert ran.stderr.startswith("hindsight-bank: No space left on device\n")


@pytest.mark.usefixtures("config")
def test_a_spinner_shows_the_seconds_in_a_terminal_and_leaves_nothing_in_the_result(
    start_bank: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: what passes goes to standard error, and to a terminal only."""
    import pty  # noqa: PLC0415 - POSIX only

    monkeypatch.setenv("TERM", "xterm")
    thinks = threading.Event()
    fake = Hindsight()
    fake.answers["reflect"] = lambda request: [thinks, fake.told(request, tool_result(ANSWERS["reflect"]))]
    bound(start_bank(fake))
    primary, replica = pty.openpty()
    with subprocess.Popen([*COMMAND, "reflect", "x", "--json"], stdout=subprocess.PIPE, stderr=replica) as process:
        os.close(replica)
        shown = b""
        while b" 1 s" not in shown:
            shown += os.read(primary, 4096)
        thinks.set()
        out, _ = process.communicate(timeout=60)
    os.close(primary)
    assert b"reflect" in shown
    assert json.loads(out)["text"] == "Tea."


@pytest.mark.parametrize(
    "command",
    [
        ["memories", "--all", "--limit", "3"],
        ["status", "--bank", "alice"],
        ["login", "http://127.0.0.1:1"],
        ["retain", "x", "--file", "y"],
        ["retain", "--file", "y", "--tag", "z"],
        ["retain", "x", "--report", "y"],
        ["retain", "x", "--metadata", "nothing"],
        ["completion", "powershell"],
    ],
)
def test_options_that_exclude_each_other_are_a_usage_error(command: list[str], run: Run) -> None:
    """Ours: with the usage of the command, before anything is done."""
    ran = run(*command)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"usage: hindsight-bank {command[0]}")


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_shell_completes_commands_and_options(shell: str, run: Run) -> None:
    """shtab: a script, read once by the shell."""
    out = run("completion", shell).out
    assert "memories" in out
    assert "new-bank" in out


def test_bash_reads_its_script() -> None:
    """GNU bash: complete -p lists what is completed."""
    script = f'eval "$({COMMAND[0]} -m hindsight_bank completion bash)"; complete -p hindsight-bank'
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)  # noqa: S607
    assert "hindsight-bank" in ran.stdout


def test_pages_open_on_the_connected_bank_in_a_terminal_only(
    start_bank: Start, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: a full screen in a pipe is none; without textual, the extra is named."""
    server = bound(start_bank())
    ran = run("pages")
    assert (ran.code, ran.err) == (
        2,
        "hindsight-bank: pages need a terminal; in a pipe, hindsight-bank memories lists\n",
    )
    shown: list[str] = []
    monkeypatch.setattr("hindsight_bank.pages.run", lambda bank: shown.append(bank.server_url))
    monkeypatch.setattr("sys.stdin", _Terminal())
    monkeypatch.setattr("sys.stdout", _Terminal())
    browsing.pages(Namespace(server=None, binding=None, timeout=None))
    assert shown == [server.url]
    code, sentence = endings.ending(ModuleNotFoundError(name="textual"))
    assert (code, sentence) == (9, "the package textual is missing; pip install 'hindsight-bank[pages]'")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_binding_saved_is_the_one_loaded_by_programs(start_bank: Start, run: Run) -> None:
    """Ours: `Bank.from_binding()` takes what `hindsight-bank connect` wrote."""
    server = start_bank()
    run("connect", server.url, "alice")
    assert Binding.load() == Binding(server.url, "alice")
