"""The generator: what it writes is what is on the disk, and what it does not understand it refuses."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from codegen.__main__ import GENERATED, ROOT, main, render
from codegen.read import SchemaError, read

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the schemas and the generated package."""
    for folder in ("schemas", GENERATED):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def edit(checkout: Path, path: str, change: Edit) -> None:
    """Change a schema file."""
    file = checkout / "schemas" / path
    document = json.loads(file.read_bytes())
    change(document)
    file.write_text(json.dumps(document), encoding="utf-8")


def refusal(checkout: Path) -> str:
    """Return why the schemas cannot be read, although nobody asks whether they are pinned."""
    with pytest.raises(SchemaError) as caught:
        render(read(checkout / "schemas"))
    return str(caught.value)


def test_the_generated_package_is_what_the_schemas_say(capsys: pytest.CaptureFixture[str]) -> None:
    """schemas/: the source of everything generated."""
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_generating_again_changes_nothing(checkout: Path) -> None:
    """Ours: the same schemas give the same bytes."""
    before = contents(checkout)
    assert main([], checkout) == 0
    assert main(["--pin"], checkout) == 0
    assert contents(checkout) == before


def test_generating_restores_what_drifted(checkout: Path) -> None:
    """Ours: the generated package has one source."""
    before = contents(checkout)
    (checkout / GENERATED / "recall.py").unlink()
    (checkout / GENERATED / "stray.py").touch()
    assert main([], checkout) == 0
    assert contents(checkout) == before


def flip_a_byte(folder: Path) -> str:
    file = folder / "recall.py"
    text = bytearray(file.read_bytes())
    text[len(text) // 2] ^= 1
    file.write_bytes(text)
    return "_generated/recall.py (generated)"


def flip_the_last_newline(folder: Path) -> str:
    file = folder / "fact.py"
    file.write_bytes(file.read_bytes().rstrip(b"\n"))
    return "\\ No newline at end of file"


def remove_a_file(folder: Path) -> str:
    (folder / "reading.py").unlink()
    return "--- /dev/null"


def remove_a_file_of_an_older_generation(folder: Path) -> str:
    (folder / "agents/hindsight_think.py").unlink()
    return "/dev/null"


def add_a_file(folder: Path) -> str:
    (folder / "stray.py").write_text("stray = 1\n", encoding="utf-8")
    return "+++ /dev/null"


@pytest.mark.parametrize(
    "damage",
    [flip_a_byte, flip_the_last_newline, remove_a_file, remove_a_file_of_an_older_generation, add_a_file],
)
def test_check_shows_drift_and_writes_nothing(
    checkout: Path, damage: Callable[[Path], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours: --check compares the whole set of files, prints a diff, exits 1."""
    sign = damage(checkout / GENERATED)
    damaged = contents(checkout)
    assert main(["--check"], checkout) == 1
    assert sign in capsys.readouterr().out
    assert contents(checkout) == damaged


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_a_schema_that_is_not_pinned_is_refused(
    checkout: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours: the sha256 of every schema is pinned, so that no change slips in."""
    edit(checkout, "types/fact.json", lambda fact: fact.update(description="Reworded."))
    (checkout / "schemas/rules/reflect.json").unlink()
    before = contents(checkout)
    assert main(arguments, checkout) == 1
    assert "PINNED.json#: not as pinned: rules/reflect.json, types/fact.json;" in capsys.readouterr().err
    assert contents(checkout) == before


def test_pin_accepts_a_change_deliberately(checkout: Path) -> None:
    """CONTRIBUTING.md, Bump a schema."""
    edit(checkout, "types/fact.json", lambda fact: fact.update(description="Reworded."))
    assert main(["--pin"], checkout) == 0
    assert main(["--check"], checkout) == 0
    assert '"""Reworded.' in (checkout / GENERATED / "fact.py").read_text(encoding="utf-8")


def test_pin_does_not_accept_what_cannot_be_generated(checkout: Path) -> None:
    """Ours: a pinned schema is one that was understood."""
    edit(checkout, "types/fact.json", lambda fact: fact.update(minProperties=1))
    before = contents(checkout)
    assert main(["--pin"], checkout) == 1
    assert contents(checkout) == before


@pytest.mark.parametrize(
    ("path", "change", "message"),
    [
        ("tools/recall.json", lambda tool: tool.update(annotations={}), "#/annotations: unknown keyword"),
        (
            "tools/recall.json",
            lambda tool: tool["inputSchema"]["properties"]["query"].update(maxLength=9),
            "#/inputSchema/properties/query/maxLength: unknown keyword",
        ),
        (
            "tools/recall.json",
            lambda tool: tool["outputSchema"]["$defs"]["Chunk"]["properties"]["chunk_index"].update(minimum=0),
            "#/outputSchema/$defs/Chunk/properties/chunk_index/minimum: unknown keyword",
        ),
        (
            "types/fact.json",
            lambda fact: fact["properties"]["scores"]["anyOf"][1].update(deprecated=True),
            "#/properties/scores/anyOf/1/deprecated: unknown keyword",
        ),
        ("types/fact.json", lambda fact: fact.update(enum=[]), "#/enum: unknown keyword"),
        ("rules/recall.json", lambda rule: rule["not"].update(type="object"), "#/not/type: unknown keyword"),
        ("rules/recall.json", lambda rule: rule.update({"a/b": 1}), "#/a~1b: unknown keyword"),
    ],
)
def test_an_unknown_keyword_is_refused_with_its_pointer(checkout: Path, path: str, change: Edit, message: str) -> None:
    """Ours: a keyword that the generator does not know is an error, not a gap."""
    edit(checkout, path, change)
    assert refusal(checkout) == path + message


@pytest.mark.parametrize(
    ("path", "change", "pointer"),
    [
        ("types/fact.json", lambda fact: fact["properties"]["id"].update(type="text"), "#/properties/id/type: "),
        ("types/fact.json", lambda fact: fact.update(required="id"), "#/required: "),
        ("tools/recall.json", lambda tool: tool["outputSchema"].update(properties=[]), "#/outputSchema/properties: "),
        ("rules/recall.json", lambda rule: rule["properties"].update(query=3), "#/properties/query: "),
    ],
)
def test_an_invalid_schema_is_refused(checkout: Path, path: str, change: Edit, pointer: str) -> None:
    """JSON Schema 2020-12, the metaschema."""
    edit(checkout, path, change)
    assert refusal(checkout).startswith(path + pointer)


def test_a_file_that_is_not_json_is_refused(checkout: Path) -> None:
    """RFC 8259."""
    (checkout / "schemas/types/fact.json").write_text("{", encoding="utf-8")
    assert refusal(checkout).startswith("types/fact.json#: not JSON: ")


def fields(fact: dict[str, Any], **properties: Any) -> None:
    fact["properties"] |= properties


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda fact: fact.pop("title"), "#: needs 'title'"),
        (lambda fact: fact.pop("description"), "#: needs 'description'"),
        (lambda fact: fields(fact, new={}), "#/properties/new: needs 'type'"),
        (lambda fact: fields(fact, id={"type": "array", "items": False}), "#/properties/id/items: accepts nothing"),
        (lambda fact: fields(fact, new={"type": ["array", "null"]}), "#/properties/new: needs 'items'"),
        (lambda fact: fields(fact, new={"type": "string"}), "#/properties/new: a property that may be absent must be"),
        (
            lambda fact: fields(fact, id={"type": "string", "default": ""}),
            "#/properties/id: a default must be [] or {}",
        ),
        (lambda fact: fields(fact, id={"type": "array", "items": True, "default": []}), "#/properties/id: a default"),
        (lambda fact: fields(fact, id={"type": "string", "format": "uuid"}), "#/properties/id/format: unknown format"),
        (lambda fact: fields(fact, id={"$ref": "lost.json"}), "#/properties/id/$ref: refers to no file in types/"),
        (lambda fact: fields(fact, id={"type": "object", "properties": {}}), "#/properties/id: an object with"),
        (lambda fact: fields(fact, **{"2nd": {"type": "null"}}), "#/properties/2nd: no attribute can be named after"),
        (lambda fact: fields(fact, **{"class": {"type": "null"}}), "#/properties/class: no attribute can be named"),
        (lambda fact: fields(fact, id={"$ref": "#/$defs/Fact"}), "#: classes that contain each other: Fact"),
        (lambda fact: fields(fact, id={"const": 1, "type": "integer"}), "#/properties/id: a closed set of values"),
        (lambda fact: fact.update(additionalProperties=False), "#: the decoder ignores keys that it does not know"),
    ],
)
def test_what_cannot_become_a_class_is_refused(checkout: Path, change: Edit, message: str) -> None:
    """Ours: schemas/README.md."""
    edit(checkout, "types/fact.json", change)
    assert refusal(checkout).startswith(f"types/fact.json{message}")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            {"properties": {"querry": {"minimum": 1}}},
            "#/properties/querry: a rule for an argument that the tool does not",
        ),
        ({"required": ["tags"]}, "#/required: unknown keyword"),
        ({"not": {"properties": {}}}, "#/not/properties: unknown keyword"),
        ({"properties": {"query": {"maxLength": 9}}}, "#/properties/query/maxLength: unknown keyword"),
    ],
)
def test_a_rule_that_cannot_be_kept_is_refused(checkout: Path, rule: dict[str, Any], message: str) -> None:
    """Ours: schemas/README.md."""
    (checkout / "schemas/rules/recall.json").write_text(json.dumps(rule), encoding="utf-8")
    assert refusal(checkout).startswith(f"rules/recall.json{message}")


def test_an_argument_of_several_types_is_refused(checkout: Path) -> None:
    """Ours: no tool of the server has one."""
    several = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    edit(checkout, "tools/get_memory.json", lambda tool: tool["inputSchema"]["properties"].update(memory_id=several))
    assert refusal(checkout).startswith(
        "tools/get_memory.json#/inputSchema/properties/memory_id: of an argument's types"
    )


def renamed(schema: dict[str, Any], reference: dict[str, Any]) -> None:
    """Refer to BasedOn, whose keys are renamed, in one more way."""
    schema["outputSchema"]["properties"]["again"] = reference


@pytest.mark.parametrize(
    "reference",
    [
        {"type": ["array", "null"], "items": {"$ref": "#/$defs/BasedOn"}},
        {"type": ["object", "null"], "additionalProperties": {"$ref": "#/$defs/BasedOn"}},
    ],
)
def test_renamed_keys_in_lists_and_maps_are_refused(checkout: Path, reference: dict[str, Any]) -> None:
    """Ours: the twin of such a class builds itself, not its neighbours."""
    edit(checkout, "tools/reflect.json", lambda tool: renamed(tool, reference))
    assert "tools/: again: " in refusal(checkout)


def test_renamed_keys_in_shared_types_are_refused(checkout: Path) -> None:
    """Ours: the twin of such a class builds itself, not its neighbours."""
    edit(checkout, "types/fact.json", lambda fact: fields(fact, **{"a-b": {"type": ["string", "null"]}}))
    assert refusal(checkout).startswith("types/: keys that are no identifiers")


def test_a_key_that_is_no_identifier_is_renamed_by_a_twin(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: attrs knows of no other names on the wire."""
    banks = {"type": ["object", "null"], "additionalProperties": True, "default": {}, "description": "Banks."}
    disposition = {"properties": {"memory banks": banks, "a-b": {"type": "integer"}}, "required": ["a-b"]}
    edit(checkout, "tools/get_bank.json", lambda tool: tool["outputSchema"]["$defs"]["Disposition"].update(disposition))
    module = ModuleType("twin")
    monkeypatch.setitem(sys.modules, "twin", module)
    exec(render(read(checkout / "schemas"))["get_bank.py"], module.__dict__)  # noqa: S102 - our own text
    answer = {"bank_id": "a", "name": "a", "mission": "", "disposition": {"a-b": 1, "memory banks": {"x": 2}}}
    built = msgspec.convert(answer, module.Answer).build()
    assert (built.disposition.a_b, built.disposition.memory_banks) == (1, {"x": 2})
    assert msgspec.convert(answer | {"disposition": {"a-b": 1}}, module.Answer).build().disposition.memory_banks == {}
    assert "memory_banks: Banks. The wire's `memory banks`." in module.Disposition.__doc__


def test_what_is_generated_is_formatted_and_linted_without_exceptions() -> None:
    """Ours: pyproject.toml holds for generated code too."""
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["format", "--check"], ["check", "--no-cache"]):
        run = subprocess.run([*ruff, *command, GENERATED], cwd=ROOT, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout
    assert "noqa" not in "".join(render(read(ROOT / "schemas")).values())
