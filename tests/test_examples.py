"""Every example of README.md and docs/ is run, and prints what stands beside it."""

import re
from pathlib import Path

import pytest
from examples import ELSEWHERE, NEW, PAGES, ROOT, Fence, fences, parsed, replayed, rewrite, runnable, shell, tape
from textual.binding import Binding

import hindsight_bank.testing
from hindsight_bank import cli
from hindsight_bank.pages.app import Pages

TARGETS = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def of(page: Path, *languages: str) -> list[Fence]:
    return [fence for fence in fences(page) if fence.language in languages]


@pages
def test_the_examples_of_a_page_print_what_it_shows(page: Path) -> None:
    """Hindsight 1.1.0, as `make record` heard it; ours: an example that is not run is wrong."""
    for fence, out in replayed(page):
        if fence.language == "python" or fence.shows is not None:
            printed = [line.rstrip() for line in out.splitlines()]
            assert printed == (fence.shows or "").splitlines(), f"{page.name}:{fence.line}"


@pages
def test_every_fence_is_one_that_is_run(page: Path) -> None:
    """Ours: what is in no known language, indented strangely or never closed would be shown and never run."""
    text = page.read_text("utf-8")
    assert len(re.findall(r"```|~~~", text)) == 2 * len(fences(page))
    assert {fence.language for fence in fences(page) if not fence.title} <= {"python", "sh", "output", "json"}
    assert {fence.title for fence in of(page, "python")} <= {"", "test_tea.py", "forked.py", "greenlets.py"}
    assert all(parsed(fence) for fence in of(page, "json"))
    assert not re.search(r"<(pre|code|script)\b", text)


def test_there_are_examples_and_pages_have_cassettes_of_their_own() -> None:
    """Ours: a glob that finds nothing passes everything."""
    assert sum(len(of(page, "python", "sh")) for page in PAGES) > 30
    assert sum(tape(page).exists() for page in PAGES) > 5
    assert len({page.stem for page in PAGES}) == len(PAGES)
    assert {*NEW, *ELSEWHERE} < {page.stem for page in PAGES}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```python\nprint(1)\n```\n", AssertionError),
        ("```python\nprint(1)\n```\n\n```output\n2\n```\n", AssertionError),
        ("```python\n1 / 0\n```\n", ZeroDivisionError),
        ("```sh\nmake tea\n```\n", AssertionError),
        ("```sh\npip install 'hindsight-bank[tea]'\n```\n", AssertionError),
        ("```sh\npip install tea\n```\n", AssertionError),
        ("```sh\ntea\n```\n", KeyError),
        ('```python title="tea.py"\n1 / 0\n```\n\n```sh\npython tea.py\n```\n', AssertionError),
    ],
)
def test_an_example_that_is_wrong_fails(text: str, fault: type[Exception], tmp_path: Path) -> None:
    """Ours: a check that cannot fail proves nothing."""
    page = tmp_path / "page.md"
    page.write_text(text, "utf-8")
    with pytest.raises(fault):
        test_the_examples_of_a_page_print_what_it_shows(page)


@pytest.mark.parametrize(
    "text",
    [
        "```\nprint(1)\n```\n",
        "```ruby\nputs 1\n```\n",
        "```python\nprint(1)\n",
        "  ```python\n1\n```\n",
        "```json\n{\n```",
    ],
)
def test_a_fence_that_would_not_be_run_is_found(text: str, tmp_path: Path) -> None:
    """Ours: a check that cannot fail proves nothing."""
    page = tmp_path / "page.md"
    page.write_text(text, "utf-8")
    with pytest.raises((AssertionError, ValueError)):
        test_every_fence_is_one_that_is_run(page)


def test_the_outputs_of_a_page_can_be_written_anew(tmp_path: Path) -> None:
    """Ours: `make record` writes them, nobody by hand."""
    page = tmp_path / "page.md"
    page.write_text(
        "a\n\n* b\n\n    ```python\n    print('one', end='\\n\\ntwo')\n    ```\n\n    ```output\n    x\n    ```\n"
    )
    rewrite(page, replayed(page))
    assert page.read_text("utf-8").endswith("    ```output\n    one\n\n    two\n    ```\n")
    test_the_examples_of_a_page_print_what_it_shows(page)


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_of_the_makefile_starts_only_what_there_is(target: str) -> None:
    """GNU make, --dry-run: what it would do, of which each program and module must exist."""
    shell(f"make {target}")


@pytest.mark.parametrize(
    "line",
    ["teapot", "python -m teapot", "sh -c 'teapot x'", "python -m harness run -- teapot", "! teapot", "A=1 teapot"],
)
def test_a_line_that_starts_what_there_is_not_is_found(line: str) -> None:
    """Ours: a check that cannot fail proves nothing."""
    with pytest.raises(AssertionError, match="teapot"):
        runnable(line)


def test_a_shell_line_with_a_variable_and_a_comment_is_read() -> None:
    """POSIX.1-2017, Shell Command Language, 2.9.1: assignments may stand before a command."""
    shell("RECORD=once pytest  # records")
    shell("")
    with pytest.raises(KeyError):
        shell("RECORD=once tea")


@pages
def test_the_files_a_page_links_to_exist(page: Path) -> None:
    """Ours: a link that leads nowhere wastes a reader's time."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_reference_tells_of_every_public_name() -> None:
    """Ours: docs/reference.md; its words are the docstrings'."""
    told = re.findall(r"^::: (\S+)$", (ROOT / "docs" / "reference.md").read_text("utf-8"), re.MULTILINE)
    public = {f"hindsight_bank.{name}" for name in hindsight_bank.__all__} - {"hindsight_bank.__version__"}
    assert sorted(told) == sorted(
        public | {f"hindsight_bank.testing.{name}" for name in hindsight_bank.testing.__all__}
    )


def test_the_page_of_the_command_line_tells_every_exit_code() -> None:
    """Ours: docs/cli.md; the codes are for programs, and --help tells the same."""
    told = re.findall(r"^\| (\d+) \| (.+?) \| (.*?) ?\|$", (ROOT / "docs" / "cli.md").read_text("utf-8"), re.MULTILINE)
    known = re.findall(r"^ +(\d+)  (\S.*?)(?: {2,}(\S.*))?$", cli.__doc__ or "", re.MULTILINE)
    assert [(code, meaning, errors.replace("`", "")) for code, meaning, errors in told] == known


def test_the_page_of_the_pages_tells_every_key() -> None:
    """Ours: docs/pages.md; a key that nobody knows of is pressed by accident."""
    told = (ROOT / "docs" / "pages.md").read_text("utf-8")
    shown = {"escape": "Esc", "enter": "Enter", "ctrl+c": "Ctrl+C"}
    bindings = [binding for binding in Pages.BINDINGS if isinstance(binding, Binding)]
    keys = [binding.key_display or shown.get(binding.key, binding.key) for binding in bindings]
    assert len(keys) == len(Pages.BINDINGS)
    assert [key for key in keys if f"`{key}`" not in told] == []
