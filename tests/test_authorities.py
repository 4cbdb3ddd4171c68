"""Every test says by whose word it holds, and nothing here refers to what a reader of this repository cannot see."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS = sorted((ROOT / "tests").glob("*.py"))
PRIVATE = re.compile(
    r"\bcases? \d|\bcases decide|\bissues? \d|\bissue:|wire\.md|\bwire,? [A-Z]?\d|cases\.md|servers\.md|house\.md"
    r"|\bhouse\b|^\s*Authority:",
    re.IGNORECASE | re.MULTILINE,
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def collected_from(source: str) -> Iterator[tuple[str, str | None]]:
    """Yield the name and the docstring of each test that pytest would collect."""
    tree = ast.parse(source)
    classes = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test"))
    for body in (tree.body, *classes):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
                yield node.name, ast.get_docstring(node)


def prose_in(source: str) -> Iterator[tuple[int, str]]:
    """Yield each docstring and each comment with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def unseen(path: Path) -> list[str]:
    """Name the places of a file that refer to what a reader cannot see."""
    return [
        f"{path.relative_to(ROOT)}:{line}: {found[0].strip()}"
        for line, text in prose_in(path.read_text("utf-8"))
        if (found := PRIVATE.search(text))
    ]


def test_every_test_names_its_authority() -> None:
    """Ours: a test without one cannot be judged when it fails."""
    faults = [
        f"{path.name}: {name}: {'no docstring' if doc is None else doc}"
        for path in TESTS
        for name, doc in collected_from(path.read_text("utf-8"))
        if not doc or PRIVATE.search(doc)
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("folder", ["src", "codegen", "harness", "tests"])
def test_docstrings_and_comments_refer_to_what_everybody_can_see(folder: str) -> None:
    """Ours: a public reader looks up a specification, a bug report or a server version, never a paper of ours."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    faults = [fault for path in paths for fault in unseen(path)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    "text",
    [
        "Case 37: twice.",
        "Cases 30 and 37.",
        "Cases decide: none.",
        "Issue 3, item 5.",
        "Issue: import is cheap.",
        "wire.md X3",
        "Wire S4, S5",
        "Wire, H12: bytes.",
        "See cases.md.",
        "servers.md, fact 11",
        "house.md",
        "House, Errors: one.",
        "Authority: ours.",
        "One line.\n\nAuthority: ours.",
    ],
)
def test_a_reference_that_nobody_can_follow_is_found(text: str) -> None:
    """Ours: a check that cannot fail proves nothing."""
    assert PRIVATE.search(text)


@pytest.mark.parametrize("text", ["Public report: hindsight #888.", "MCP 2025-11-25, Lifecycle.", "Ours: on the wire."])
def test_a_public_reference_is_none(text: str) -> None:
    """Ours: bug reports, specifications and versions are for everybody."""
    assert not PRIVATE.search(text)


def test_a_test_without_a_docstring_is_found_in_a_class_too() -> None:
    """Ours: a check that cannot fail proves nothing."""
    source = 'def test_a():\n    "Ours."\nclass TestB:\n    async def test_b(self): ...\n    def helper(self): ...\n'
    assert list(collected_from(source)) == [("test_a", "Ours."), ("test_b", None)]
    assert [text for _, text in prose_in("x = 1  # house\n")] == ["house"]
