"""The examples of README.md and docs/: what stands in the fences of a page, run in order as a reader would run it.

A fence's language says what is done with it:

    python            runs in the page's one namespace
    sh                runs line by line: hindsight-bank in this process; pip without a network and changing nothing;
                      make without carrying out its commands, each of which must exist; a file of the page as a process
                      of its own, on a server of scripted answers
    output            is what the fence before it prints, to the letter; a command's may be left out, if all is well
    json              parses

One with a title is a file of the reader's, and lies where the page's commands find it; test_testing.py runs the one
that is for pytest.

What goes to a server stands on the page's cassette. `make record` records it, and writes the outputs into the page.
`PYTHONPATH=tests python -m examples` writes the outputs of what was recorded before, without a server.
"""

import importlib.util
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from importlib.machinery import PathFinder
from itertools import count, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest import mock

import keyring
from attrs import frozen
from command_line import FACT
from keyring.backend import KeyringBackend
from wire_server import ANSWERS, Hindsight, WireServer

from hindsight_bank.cli import main
from hindsight_bank.testing import bank_vcr, cassette

ROOT: Final = Path(__file__).parent.parent
URL: Final = "http://localhost:8888"  # the server on every page and every cassette
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
CASSETTES: Final = ROOT / "cassettes" / "pages"
# The pages that begin without a bank; the others find "alice" as conversations.SEED makes it.
NEW: Final = ("README", "index")
# The pages that talk to another server than the modern one, as record.py names them.
ELSEWHERE: Final = {"keys": "keyed", "generations": "older"}

# What the bank "alice" of the pages answers to a file that is run as a process of its own.
ANSWER: Final = ANSWERS["recall"] | {"results": [FACT | {"text": "Alice prefers tea over coffee."}]}
PATIENCE_SECONDS: Final = 120

# What a target of the Makefile installs before it starts it.
BROUGHT: Final = ("build", "mkdocs")

# The commands that would take the whole screen.
FULL_SCREEN: Final = ("pages",)

FENCE: Final = re.compile(r'^( *)```(\w*)(?: title="([^"\n]+)")?\n(.*?)^\1```$', re.MULTILINE | re.DOTALL)
INCLUDED: Final = re.compile(r'^ *--8<-- "(.+)"$', re.MULTILINE)


@frozen
class Fence:
    """One fence of a page.

    Attributes:
        line: The line of the page on which its code begins.
        language: The word after the backticks.
        title: The name of the file that it is, or an empty string.
        code: What it holds, without the page's indentation.
        shows: The output that the page shows below it.
    """

    line: int
    language: str
    title: str
    code: str
    shows: str | None


def fences(page: Path) -> list[Fence]:
    """Return the fences of a page."""
    text = page.read_text("utf-8")
    found = list(FENCE.finditer(text))
    return [
        Fence(
            line=text.count("\n", 0, match.start()) + 2,
            language=match[2],
            title=match[3] or "",
            code=_level(match),
            shows=_level(after) if after and after[2] == "output" else None,
        )
        for match, after in zip_longest(found, found[1:])
    ]


def _level(match: re.Match[str]) -> str:
    return re.sub(rf"^{match[1]}", "", match[4], flags=re.MULTILINE)


def tape(page: Path) -> Path:
    """Return where the cassette of a page is, if it talks to a server."""
    return CASSETTES / f"{page.stem}.yaml"


def replayed(page: Path) -> list[tuple[Fence, str]]:
    """Run the examples of a page from its cassette; without one, nothing can be said to any server."""
    path = tape(page)
    player = cassette(path) if path.exists() else bank_vcr().use_cassette(path)
    with player, mock.patch.object(time, "sleep"), mock.patch.object(time, "perf_counter", count(0, 0.001).__next__):
        return list(run(page, {}))


def run(page: Path, names: Mapping[str, str]) -> Iterator[tuple[Fence, str]]:
    """Run the examples of a page, and yield each with what it printed.

    Args:
        page: The page.
        names: What stands for what the page says: a server for its URL, ids for its ids.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with desk() as home:
        for fence in fences(page):
            code = replaced(fence.code, names)
            with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
                if fence.title:
                    Path(fence.title).write_text(code, "utf-8")
                elif fence.language == "python":
                    # The empty lines make the lines of a traceback those of the page.
                    exec(compile("\n" * (fence.line - 1) + code, str(page), "exec", dont_inherit=True), namespace)  # noqa: S102 - that is the point
                elif fence.language == "sh":
                    codes = [shell(line) for line in code.replace("\\\n", "").splitlines()]
                    assert not any(codes) or fence.shows is not None, (code, out.getvalue())
            yield fence, replaced(out.getvalue(), {home: "~"} | {other: name for name, other in names.items()})


def replaced(text: str, names: Mapping[str, str]) -> str:
    """Return a text with each name replaced by the other."""
    for name, other in names.items():
        text = text.replace(name, other)
    return text


def rewrite(page: Path, printed: list[tuple[Fence, str]]) -> None:
    """Write what the examples of a page print into their output fences."""
    outputs = {index + 1: out for index, (_, out) in enumerate(printed)}
    numbers = iter(range(len(printed)))

    def written(match: re.Match[str]) -> str:
        number = next(numbers)
        if match[2] != "output":
            return match[0]
        lines = "".join(f"{match[1]}{line.rstrip()}".rstrip() + "\n" for line in outputs[number].splitlines())
        return f"{match[1]}```output\n{lines}{match[1]}```"

    page.write_text(FENCE.sub(written, page.read_text("utf-8")), "utf-8")


# -- a shell's lines ---------------------------------------------------------------------------------------------------


def shell(line: str) -> int:
    """Run a line, or check that what it names exists, and return its exit code."""
    source, _, command = line.rpartition(" | ")
    words = shlex.split(command, comments=True)
    given = ""
    if source:
        verb, text = shlex.split(source)
        given = f"{text}\n" if verb == "echo" else Path(text).read_text("utf-8")
    while words and re.match(r"[A-Z_]+=", words[0]):
        words.pop(0)
    return COMMANDS[words[0]](words[1:], given) or 0 if words else 0


def _hindsight_bank(words: list[str], given: str) -> int:
    if words[0] in FULL_SCREEN:
        words = [*words, "--help"]
    with mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode()), "utf-8")):
        try:
            return main(words)
        except SystemExit as end:  # --help and --version
            return end.code if isinstance(end.code, int) else 1


def _eval(words: list[str], _: str) -> int:
    with redirect_stdout(io.StringIO()):
        return shell(words[0].removeprefix("$(").removesuffix(")"))


def _export(words: list[str], __: str) -> None:
    os.environ.update(dict(word.split("=", 1) for word in words))


def _pip(words: list[str], _: str) -> None:
    """Have pip resolve what a line installs, from what is installed here; in a checkout, "." is this package."""
    verb, *packages = words
    assert verb == "install", words
    here = [re.sub(r"^\.(?=\[|$)", "hindsight-bank", package) for package in packages]
    assert {re.split(r"\W", package.replace("-", "_"))[0] for package in here} == {"hindsight_bank"}, packages
    _resolve(*here)


@cache
def _resolve(*packages: str) -> None:
    dry = ("--dry-run", "--no-index", "--no-input", "--disable-pip-version-check", "--quiet")
    ran = _ran(sys.executable, "-m", "pip", "install", *dry, *packages)
    assert "does not provide the extra" not in ran.stderr, ran.stderr
    assert "Would install" not in ran.stdout, ran.stdout


def _make(words: list[str], _: str) -> None:
    ran = _ran(
        "make",
        "--dry-run",
        "--no-print-directory",
        "--directory",
        str(ROOT),
        f"BIN={Path(sys.executable).parent}",
        *words,
    )
    for line in ran.stdout.replace("\\\n", "").splitlines():
        if not re.match(r"make(\[\d+\])?: ", line):  # of itself, within `make test`, too
            runnable(line)


def runnable(line: str) -> None:
    """Check that the programs and the modules that a line of the Makefile starts exist."""
    words = shlex.split(line, comments=True)
    while words and (words[0] == "!" or re.match(r"[A-Z_0-9]+=", words[0])):
        words.pop(0)
    match words:
        case ["sh", "-c", script]:
            runnable(script)
        case [program, "-m", module, *rest] if Path(program).name.startswith("python"):
            paths = [str(ROOT), str(ROOT / "tests")]
            assert module in BROUGHT or PathFinder.find_spec(module, paths) or importlib.util.find_spec(module), line
            if "--" in rest:
                runnable(shlex.join(rest[rest.index("--") + 1 :]))
    assert Path(words[0]).name in BROUGHT or shutil.which(words[0]), line


def _python(words: list[str], _: str) -> None:
    """Run a file of the page on a server of scripted answers, unless it names a real one."""
    (script,) = words
    code = Path(script).read_text("utf-8")
    with WireServer(Hindsight("modern", {"recall": ANSWER})) as server:
        Path(script).write_text(code.replace(URL, server.url), "utf-8")
        print(_ran(sys.executable, script).stdout, end="")  # noqa: T201 - as the script does


def _ran(*command: str) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    assert ran.returncode == 0, (command, ran.stdout, ran.stderr)
    return ran


def _pytest(words: list[str], _: str) -> None:
    assert not words, words


COMMANDS: Final[dict[str, Callable[[list[str], str], int | None]]] = {
    "hindsight-bank": _hindsight_bank,
    "eval": _eval,
    "export": _export,
    "pip": _pip,
    "make": _make,
    "python": _python,
    "pytest": _pytest,
}


# -- where a page is run -----------------------------------------------------------------------------------------------


class Drawer(KeyringBackend):
    """A key store that is forgotten with the page, and that keyring chooses for nobody."""

    priority = -1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # keyring's
        self._keys: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self._keys.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._keys[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self._keys[service, username]


@contextmanager
def desk() -> Iterator[str]:
    """Work in an empty home, which comes out, with an empty key store, on a plain terminal of 80 columns."""
    with ExitStack() as stack:
        stack.callback(keyring.set_keyring, keyring.get_keyring())
        keyring.set_keyring(Drawer())
        home = stack.enter_context(TemporaryDirectory())
        stack.enter_context(chdir(home))
        plain = {"HOME": home, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HINDSIGHT_", "XDG_"))}
        stack.enter_context(mock.patch.dict(os.environ, kept | plain, clear=True))
        yield home


def parsed(fence: Fence) -> Any:
    """Return the value of a JSON fence, whose text may be a file's or a value a line."""
    included = INCLUDED.match(fence.code)
    text = (ROOT / included[1]).read_text("utf-8") if included else fence.code
    return [json.loads(line) for line in text.splitlines()] if fence.title.endswith(".jsonl") else json.loads(text)


if __name__ == "__main__":
    for each in PAGES:
        rewrite(each, replayed(each))
