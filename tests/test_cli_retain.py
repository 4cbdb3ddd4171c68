"""`hindsight-bank retain`: a text, and many; what became of each is known, whatever happens."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import COMMAND, KEY, Run, bound, keyed
from wire_server import ANSWERS, Hindsight, Move, Request, WireServer, encoded, error, http, wait

Start = Callable[..., WireServer]


def texts(server: WireServer) -> list[str]:
    """Return the texts that a server was handed."""
    return [request.arguments["content"] for request in server.requests if request.label == "retain"]


def lines(*values: Any) -> bytes:
    return b"".join((value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n" for value in values)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Return a file of three texts."""
    path = tmp_path / "notes.jsonl"
    path.write_bytes(lines({"content": "one"}, {"content": "two"}, {"content": "three"}))
    return path


def outcomes(notes: Path) -> dict[int, str]:
    """Return the last outcome of each line that the report of a file tells."""
    told = [json.loads(line) for line in Path(f"{notes}.report").read_bytes().splitlines()]
    return {entry["line"]: entry["outcome"] for entry in told[1:]}


# -- one text ----------------------------------------------------------------------------------------------------------


def test_a_text_is_retained_with_all_that_goes_with_it(start_bank: Start, run: Run) -> None:
    """Ours: every argument of the tool."""
    server = bound(start_bank())
    ran = run(
        *("retain", "Alice prefers tea.", "--context", "chat", "--timestamp", "2026-03-02T10:00:00+01:00"),
        *("--tag", "a", "--tag", "b", "--metadata", "source=chat", "--metadata", "x=y=z", "--document-id", "d"),
        *("--strategy", "s", "--update-mode", "append"),
    )
    assert (ran.code, ran.err) == (0, "")
    assert "accepted: alice extracts the facts now" in ran.out
    assert server.requests[-1].arguments == {
        "content": "Alice prefers tea.",
        "context": "chat",
        "timestamp": "2026-03-02T10:00:00+01:00",
        "tags": ["a", "b"],
        "metadata": {"source": "chat", "x": "y=z"},
        "document_id": "d",
        "strategy": "s",
        "update_mode": "append",
    }
    assert json.loads(run("retain", "x", "--json").out)["operation_id"] == "o1"


def test_a_text_may_come_through_a_pipe(start_bank: Start, run: Run) -> None:
    """Ours: UTF-8, whatever the locale says."""
    server = bound(start_bank())
    assert run("retain", stdin="Ольга sang «La Paloma» 🎶\n".encode()).code == 0
    assert texts(server) == ["Ольга sang «La Paloma» 🎶\n"]
    for wrong in (b"\xff\xfe", b"", b" \n"):
        ran = run("retain", stdin=wrong)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert len(texts(server)) == 1


def test_a_retain_whose_answer_is_lost_says_that_it_may_have_run(start_bank: Start, run: Run) -> None:
    """Public report: hindsight #3114 (a repeated write stores twice)."""
    server = bound(start_bank(retain=lambda _: [Move.CLOSE]))
    ran = run("retain", "x")
    assert (ran.code, ran.out, ran.err.count("\n")) == (6, "", 1)
    assert "look before you repeat it: it may have run" in ran.err
    assert len(texts(server)) == 1


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize(
    ("closed", "command", "code", "says"),
    [
        (">&-", "retain x", 0, ""),
        ("2>&-", "recall x --max-tokens 0", 2, ""),
        ("<&-", "retain", 2, "hindsight-bank: retain: give the TEXT, pipe it in, or name a file with --file\n"),
    ],
)
def test_a_stream_that_is_closed_is_no_fault(
    closed: str, command: str, code: int, says: str, start_bank: Start
) -> None:
    """Python, sys.stdin: None where there is none."""
    server = bound(start_bank())
    script = ["/bin/sh", "-c", f'exec "$@" {command} {closed}', "sh", *COMMAND]
    ran = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", says)
    assert texts(server) == (["x"] if code == 0 else [])


# -- many --------------------------------------------------------------------------------------------------------------


def test_each_line_of_a_file_is_retained_and_reported(start_bank: Start, run: Run, notes: Path) -> None:
    """Ours: a second run sends nothing."""
    server = bound(start_bank())
    ran = run("retain", "--file", str(notes))
    assert (ran.code, ran.out, ran.err) == (0, f"3 accepted; report: {notes}.report\n", "")
    assert texts(server) == ["one", "two", "three"]
    again = run("retain", "--file", str(notes), "--json")
    assert json.loads(again.out) == {
        "accepted": 0,
        "before": 3,
        "bad": 0,
        "refused": 0,
        "not_sent": 0,
        "unknown": 0,
        "report": f"{notes}.report",
    }
    assert len(texts(server)) == 3


def test_bad_lines_are_told_by_number_and_the_rest_goes_on(start_bank: Start, run: Run, notes: Path) -> None:
    """Ours: the exit code says so, the report holds no text of anybody's, and what was mended goes out next time."""
    server = bound(start_bank(retain=_refuse("s3cret six")))
    bad: list[Any] = [
        b'{"content": "s3cret half',
        b"",
        ["s3cret"],
        {"text": "s3cret"},
        {"content": "s3cret", "colour": "red"},
        {"content": 5},
        {"content": " "},
        {"content": "s3cret", "timestamp": "yesterday"},
        b"[" * 5000,
        b"\xff",
    ]
    notes.write_bytes(
        lines({"content": "one"}, *bad, {"content": "s3cret six"}, {"content": "last"}).removesuffix(b"\n")
    )
    ran = run("retain", "--file", str(notes))
    assert (ran.code, ran.out) == (10, f"2 accepted, 9 bad, 1 refused by the server; report: {notes}.report\n")
    told = [line.split(":")[:2] for line in ran.err.splitlines()]
    assert told == [[f"line {n}", " bad"] for n in (2, 4, 5, 6, 7, 8, 9, 10, 11)] + [["line 12", " refused"]]
    assert texts(server) == ["one", "s3cret six", "last"]
    assert "s3cret" not in ran.err + Path(f"{notes}.report").read_text()
    notes.write_bytes(lines({"content": "last"}, {"content": "s3cret half"}, {"content": "one"}))
    assert run("retain", "--file", str(notes)).code == 0
    assert texts(server)[3:] == ["s3cret half"]


def _refuse(text: str) -> Callable[[Request], dict[str, Any] | None]:
    def answer(request: Request) -> dict[str, Any] | None:
        return (
            {"status": "error", "message": "Operation validation failed: no"}
            if request.arguments["content"] == text
            else None
        )

    return answer


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"content": "a", "content": "b"}', "it has the key 'content' twice"),
        (b'{"content": "a", "metadata": {"x": "1", "x": "2"}}', "it has the key 'x' twice"),
        (b'{"content": "a", "colour": "red"}', "it has the key 'colour', which is none of content, context, "),
        (b'{"content": a}', "it is no JSON: Expecting value, column 13"),
    ],
)
def test_a_bad_line_is_told_what_is_bad_in_it(line: bytes, says: str, start_bank: Start, run: Run, notes: Path) -> None:
    """Ours: RFC 8259 lets a reader keep either of two equal keys; here neither is guessed at."""
    server = bound(start_bank())
    notes.write_bytes(line)
    ran = run("retain", "--file", str(notes))
    assert (ran.code, texts(server)) == (10, [])
    assert ran.err.startswith(f"line 1: bad: {says}")


@pytest.mark.parametrize("name", ["-", "/dev/null", "."])
def test_what_is_no_regular_file_is_refused_and_no_report_made(name: str, start_bank: Start, run: Run) -> None:
    """Ours: a report lies beside a file."""
    bound(start_bank())
    ran = run("retain", "--file", name)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert f"--file {name} is no regular file" in ran.err
    assert not Path(f"{name}.report").exists()


@pytest.mark.parametrize("given", [["x"], ["=x"], ["x=1", "x=2"]])
def test_metadata_has_names_each_of_them_once(given: list[str], run: Run) -> None:
    """Ours: none is lost without a word."""
    ran = run("retain", "x", *(part for pair in given for part in ("--metadata", pair)))
    assert (ran.code, "--metadata takes " in ran.err) == (2, True)


def test_the_same_line_twice_is_two_texts(start_bank: Start, run: Run, notes: Path) -> None:
    """Ours: lines are told apart by their text and how often it came before."""
    server = bound(start_bank())
    notes.write_bytes(lines({"content": "one"}, {"content": "one"}))
    run("retain", "--file", str(notes))
    notes.write_bytes(lines({"content": "one"}, {"content": "one"}, {"content": "one"}))
    run("retain", "--file", str(notes))
    assert texts(server) == ["one"] * 3


def test_a_line_whose_outcome_is_unknown_is_told_and_never_repeated_unasked(
    start_bank: Start, run: Run, notes: Path
) -> None:
    """Public report: hindsight #3114 (a repeated write stores twice)."""
    fake = Hindsight()
    fake.answers["retain"] = lambda request: [Move.CLOSE] if request.arguments["content"] == "two" else None
    server = bound(start_bank(fake))
    ran = run("retain", "--file", str(notes))
    assert (ran.code, ran.out) == (6, f"2 accepted, 1 unknown (may have run); report: {notes}.report\n")
    assert ran.err.startswith("line 2: unknown: AnswerLostError: ")
    fake.answers.clear()
    again = run("retain", "--file", str(notes))
    assert (again.code, again.err) == (
        6,
        "line 2: unknown: it may have run before; only --repeat-unknown sends it again\n",
    )
    assert texts(server) == ["one", "two", "three"]
    assert run("retain", "--file", str(notes), "--repeat-unknown").code == 0
    assert texts(server)[3:] == ["two"]
    assert run("retain", "--file", str(notes), "--repeat-unknown").code == 0
    assert len(texts(server)) == 4


def test_a_line_that_replaces_is_sent_again_though_it_may_have_run(start_bank: Start, run: Run, notes: Path) -> None:
    """Hindsight's retain: the same document_id again replaces what it held, unless it appends."""
    appended = {"content": "two", "document_id": "d-2", "update_mode": "append"}
    notes.write_bytes(lines({"content": "one", "document_id": "d-1"}, appended))
    fake = Hindsight()
    fake.answers["retain"] = lambda _: [Move.CLOSE]
    server = bound(start_bank(fake))
    assert run("retain", "--file", str(notes)).code == 6
    fake.answers.clear()
    again = run("retain", "--file", str(notes))
    assert (again.code, again.out) == (6, f"1 accepted, 1 unknown (may have run); report: {notes}.report\n")
    assert texts(server) == ["one", "two", "one"]


def test_the_lines_of_one_document_keep_their_order(start_bank: Start, run: Run, notes: Path) -> None:
    """Hindsight's retain: the last text of a document_id counts, so an older one must not come after it."""
    versions = [{"content": f"v{number}", "document_id": "d"} for number in (1, 2)]
    notes.write_bytes(lines(versions[0], {"content": "other"}, versions[1], {"content": "e", "document_id": "e"}))
    fake = Hindsight()
    fake.answers["retain"] = _refuse("v1")
    server = bound(start_bank(fake))
    ran = run("retain", "--file", str(notes))
    assert (ran.code, ran.out) == (
        10,
        f"2 accepted, 1 refused by the server, 1 not sent; report: {notes}.report\n",
    )
    assert "line 3: not sent: line 1, of the same document, was not accepted\n" in ran.err
    fake.answers.clear()
    assert run("retain", "--file", str(notes)).code == 0
    assert texts(server) == ["v1", "other", "e", "v1", "v2"]


def test_a_line_that_waits_for_one_of_unknown_outcome_is_itself_never_doubled(
    start_bank: Start, run: Run, notes: Path
) -> None:
    """Public report: hindsight #3114 (a repeated write stores twice)."""
    notes.write_bytes(
        lines(*({"content": text, "document_id": "d", "update_mode": "append"} for text in ("one", "two")))
    )
    fake = Hindsight()
    fake.answers["retain"] = lambda request: [Move.CLOSE] if request.arguments["content"] == "one" else None
    server = bound(start_bank(fake))
    for _ in range(2):
        assert run("retain", "--file", str(notes)).out.startswith("1 not sent, 1 unknown (may have run)")
    fake.answers.clear()
    assert run("retain", "--file", str(notes), "--repeat-unknown").code == 0
    assert texts(server) == ["one", "one", "two"]


def test_what_a_mended_line_undoes_is_sent_again_after_it(start_bank: Start, run: Run, notes: Path) -> None:
    """Ours: of a line that is no JSON nobody knows which document it belongs to."""
    later = [{"content": "v2", "document_id": "d"}, {"content": "v3", "document_id": "d", "update_mode": "append"}]
    notes.write_bytes(lines(b'{"content": "v1', *later, {"content": "other"}))
    server = bound(start_bank())
    assert run("retain", "--file", str(notes)).code == 10
    notes.write_bytes(lines({"content": "v1", "document_id": "d"}, *later, {"content": "other"}))
    ran = run("retain", "--file", str(notes))
    assert (ran.code, ran.out) == (0, f"3 accepted, 1 accepted before; report: {notes}.report\n")
    assert texts(server) == ["v2", "v3", "other", "v1", "v2", "v3"]


def test_a_line_with_a_wrong_key_holds_its_document_back(start_bank: Start, run: Run, notes: Path) -> None:
    """Hindsight's retain: texts that are appended stay in the order in which they came."""
    first, later = ({"content": text, "document_id": "d", "update_mode": "append"} for text in ("one", "two"))
    notes.write_bytes(lines(first | {"tgas": ["x"]}, later))
    server = bound(start_bank())
    assert run("retain", "--file", str(notes)).out.startswith("1 bad, 1 not sent;")
    notes.write_bytes(lines(first | {"tags": ["x"]}, later))
    assert run("retain", "--file", str(notes)).code == 0
    assert texts(server) == ["one", "two"]


@pytest.mark.parametrize("fault", ["refused", "broken off"])
def test_what_a_mended_line_undoes_is_sent_again_though_a_run_came_between(
    fault: str, start_bank: Start, run: Run, notes: Path
) -> None:
    """Ours: the report remembers what undid what, not the run alone that did."""
    later = [{"content": text, "document_id": "d", "update_mode": "append"} for text in ("two", "three")]
    notes.write_bytes(lines({"content": "one", "document_id": "d"}, *later))
    fake = Hindsight()
    server = bound(start_bank(fake))
    assert run("retain", "--file", str(notes)).code == 0
    mended = {"content": "1", "document_id": "d"}
    notes.write_bytes(lines(mended, *(later if fault == "refused" else [])))
    fake.answers["retain"] = _refuse("two")
    run("retain", "--file", str(notes))
    fake.answers.clear()
    notes.write_bytes(lines(mended, *later))
    del server.requests[:]
    assert run("retain", "--file", str(notes)).out.startswith("2 accepted, 1 accepted before;")
    assert texts(server) == ["two", "three"]
    assert run("retain", "--file", str(notes)).out.startswith("3 accepted before;")


def test_faults_that_are_not_the_lines_end_a_run_after_three(start_bank: Start, run: Run, notes: Path) -> None:
    """Ours: a server that is down is not handed a thousand texts; the next run goes on."""
    notes.write_bytes(lines(*({"content": str(number)} for number in range(9))))
    fake = Hindsight()
    fake.answers["retain"] = lambda _: http(encoded(error(-32000, "busy")), status=429)
    server = bound(start_bank(fake))
    ran = run("retain", "--file", str(notes))
    assert ran.code == 7
    assert ran.out == f"3 refused by the server, 6 left; report: {notes}.report\n"
    assert ran.err.splitlines()[-1].startswith("hindsight-bank: ")
    assert len(texts(server)) == 3
    fake.answers.clear()
    assert run("retain", "--file", str(notes)).code == 0
    assert len(texts(server)) == 12


def test_a_fault_that_would_meet_every_line_ends_a_run_at_once(start_bank: Start, run: Run, notes: Path) -> None:
    """Ours: a key that ended, a bank that is gone."""
    fake = Hindsight()
    fake.answers["retain"] = lambda _: http(encoded(error(-32600, "Unauthorized")), status=401)
    server = bound(start_bank(fake))
    ran = run("retain", "--file", str(notes))
    assert (ran.code, texts(server)) == (3, ["one"])
    assert "hindsight-bank login" in ran.err


def test_a_key_that_is_missing_leaves_no_report(start_bank: Start, run: Run, notes: Path) -> None:
    """Ours: connect first, then begin."""
    bound(start_bank(keyed(Hindsight())))
    ran = run("retain", "--file", str(notes))
    assert (ran.code, KEY in ran.err) == (3, False)
    assert not Path(f"{notes}.report").exists()


def test_a_killed_run_leaves_the_line_in_flight_unknown(start_bank: Start, run: Run, notes: Path) -> None:
    """Ours: it is written down before it is sent."""
    fake = Hindsight()
    fake.answers["retain"] = lambda request: [Move.HANG] if request.arguments["content"] == "two" else None
    server = bound(start_bank(fake))
    with subprocess.Popen([*COMMAND, "retain", "--file", notes], stdout=subprocess.PIPE) as process:
        wait(lambda: texts(server) == ["one", "two"])
        process.kill()
        process.wait(60)
    assert outcomes(notes) == {1: "accepted", 2: "unknown"}
    fake.answers.clear()
    with Path(f"{notes}.report").open("ab") as report:
        report.write(b'{"line": 3, "name": "torn')  # a crash while writing
    assert run("retain", "--file", str(notes)).code == 6
    assert texts(server) == ["one", "two", "three"]
    assert outcomes(notes) == {1: "accepted", 2: "unknown", 3: "accepted"}


def test_ctrl_c_ends_a_run_with_its_summary_and_the_next_goes_on(start_bank: Start, run: Run, notes: Path) -> None:
    """POSIX shells: 130 is 128 and SIGINT."""
    fake = Hindsight()
    fake.answers["retain"] = lambda request: [Move.HANG] if request.arguments["content"] == "two" else None
    server = bound(start_bank(fake))
    command = [*COMMAND, "retain", "--file", str(notes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        wait(lambda: texts(server) == ["one", "two"])
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    told = "interrupted: 1 accepted, 1 unknown (may have run), 1 left"
    assert err.decode() == f"{told}; report: {notes}.report; run it again to go on\n"
    fake.answers.clear()
    assert run("retain", "--file", str(notes), "--repeat-unknown").code == 0
    assert texts(server) == ["one", "two", "two", "three"]


def test_ctrl_c_before_the_first_line_says_that_nothing_was_sent(start_bank: Start, config: Path, notes: Path) -> None:
    """POSIX shells: 130 is 128 and SIGINT."""
    del config
    server = bound(start_bank(Hindsight("modern", {"get_bank": lambda _: [Move.HANG]})))
    command = [*COMMAND, "retain", "--file", str(notes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        wait(lambda: "get_bank" in server.log)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err == b"interrupted: nothing was sent; run it again to go on\n"
    assert not Path(f"{notes}.report").exists()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"something else\n", "is no report"),
        (b"no end", "is no report"),
        (b"{}\n", "is no report"),
        (b"[1]\n", "is no report"),
        (b'{"format": 2, "server_url": "https://h", "bank_id": "bob"}\n', "is no report"),
        (b'{"format": 1, "server_url": "https://h", "bank_id": "bob"}\n', "is the report of another bank"),
        (b'{"format": 1, "server_url": "https://h", "bank_id": "bob"}\n{}\n', "is no report"),
    ],
)
def test_what_is_no_report_of_this_bank_is_kept_and_nothing_is_sent(
    content: bytes, what: str, start_bank: Start, run: Run, notes: Path
) -> None:
    """Ours: accepted there is not accepted here."""
    server = bound(start_bank())
    Path(f"{notes}.report").write_bytes(content)
    ran = run("retain", "--file", str(notes))
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert f"report {what}: name another with --report FILE" in ran.err
    assert Path(f"{notes}.report").read_bytes() == content
    assert texts(server) == []
    assert run("retain", "--file", str(notes), "--report", f"{notes}.other").code == 0


def test_two_runs_do_not_write_the_same_report(start_bank: Start, run: Run, notes: Path) -> None:
    """Ours: each would send what the other sends."""
    fcntl = pytest.importorskip("fcntl")
    server = bound(start_bank())
    with Path(f"{notes}.report").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        ran = run("retain", "--file", str(notes))
    assert (ran.code, "is being written by another run" in ran.err) == (2, True)
    assert texts(server) == []


def test_a_file_that_is_missing_is_one_sentence(start_bank: Start, run: Run, tmp_path: Path) -> None:
    """Ours: 11, and the name."""
    bound(start_bank())
    ran = run("retain", "--file", str(tmp_path / "none"))
    assert (ran.code, ran.err) == (11, f"hindsight-bank: {tmp_path / 'none'}: No such file or directory\n")


def test_an_answer_that_breaks_its_schema_is_an_outcome_too(start_bank: Start, run: Run, notes: Path) -> None:
    """Ours: no answer that is understood, so it may have run."""
    bound(start_bank(retain={**ANSWERS["retain"], "status": 5}))
    ran = run("retain", "--file", str(notes))
    assert ran.code == 8
    assert set(outcomes(notes).values()) == {"unknown"}
