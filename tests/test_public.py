"""The public names, and what importing them costs."""

import importlib.metadata
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import attrs
import pytest

import hindsight_bank
from hindsight_bank import AgentBank, Bank, PutSearchBank, errors
from hindsight_bank._generated import PUBLIC

HEAVY = {
    "attr",
    "attrs",
    "cattr",
    "cattrs",
    "click",
    "httpcore",
    "httpx",
    "jsonschema",
    "keyring",
    "msgspec",
}
HEAVY |= {"anyio", "asyncio", "h11", "logging", "platformdirs", "referencing", "rich", "rpds", "socket", "ssl", "vcr"}
DIALLED = {"cattr", "cattrs", "jsonschema", "keyring", "referencing", "rich", "rpds", "vcr"}


_OURS = {"AgentBank", "Bank", "Binding", "Health", "PutSearchBank", "__version__"}
_OURS |= {"forget_key", "store_key", "stored_key", "to_dict"}


def imported_by(statements: str) -> set[str]:
    """Return the top names of all that a fresh interpreter imports for some statements."""
    # httpx imports its own command line, which takes rich along wherever click happens to be installed.
    script = f"import sys; sys.modules['click'] = None\n{statements}"
    command = [sys.executable, "-X", "importtime", "-c", script]
    trace = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return set(re.findall(r"^import time:.*\|\s*([\w]+)", trace, re.MULTILINE))


def test_the_public_names_are_these() -> None:
    """Ours: a name that comes or goes is a change that users see: write it down in CHANGELOG."""
    assert sorted(hindsight_bank.__all__) == sorted({*PUBLIC, *errors.__all__, *_OURS} - {"Outcome"})
    assert len(hindsight_bank.__all__) == len(set(hindsight_bank.__all__)) == 57


def test_the_typed_api_file_uses_every_public_name() -> None:
    """Ours: api_typed.py is what the type checker sees of us, so it must see all."""
    words = set(re.findall(r"\w+", (Path(__file__).parent / "api_typed.py").read_text()))
    assert set(hindsight_bank.__all__) <= words


@pytest.mark.parametrize("bank", [Bank, AgentBank, PutSearchBank])
def test_the_types_of_every_call_can_be_read_at_run_time(bank: type) -> None:
    """Python, typing.get_type_hints: frameworks for agents make the schema of a tool of its function's signature."""
    calls = [call for name, call in inspect.getmembers(bank, callable) if not name.startswith("_")]
    assert calls
    for call in calls:
        assert set(get_type_hints(call)) == {*inspect.signature(call).parameters, "return"} - {"self"}


@pytest.mark.parametrize("name", [*PUBLIC, "Health", "Binding"])
def test_the_types_of_every_result_can_be_read_at_run_time(name: str) -> None:
    """Python, typing.get_type_hints: what makes plain data or a schema of a class, as cattrs does, reads its types."""
    named = getattr(hindsight_bank, name)
    assert {field.name for field in attrs.fields(named)} <= set(get_type_hints(named))


def test_every_public_name_loads_and_says_where_it_is() -> None:
    """Ours: `import *`, dir() and the lazy loading agree."""
    names: dict[str, object] = {}
    exec("from hindsight_bank import *", names)  # noqa: S102 - the one way to write it inside a function
    assert set(hindsight_bank.__all__) == set(names) - {"__builtins__"} == set(dir(hindsight_bank))
    assert all(names[name] is getattr(hindsight_bank, name) for name in hindsight_bank.__all__)


@pytest.mark.parametrize("name", ["Banks", "Answer", "Arguments", "discreet_", "__path"])
def test_another_name_is_an_attribute_error(name: str) -> None:
    """PEP 562; `hasattr` and misspellings behave."""
    with pytest.raises(AttributeError, match=rf"module 'hindsight_bank' has no attribute '{name}'"):
        getattr(hindsight_bank, name)


@pytest.mark.parametrize("statement", ["import hindsight_bank", "from hindsight_bank import Bank"])
def test_importing_the_package_imports_next_to_nothing(statement: str) -> None:
    """Public report: hindsight #677 (no event loop of ours, ever). Ours: import is cheap."""
    assert not imported_by(statement) & HEAVY


def test_a_bank_loads_what_it_talks_with_and_no_more() -> None:
    """Ours: heavy imports load at first use: no jsonschema, cattrs, keyring or rich before they are needed."""
    loaded = imported_by("from hindsight_bank import Bank; Bank('http://localhost', 'alice').close()")
    assert {"httpx", "msgspec"} <= loaded
    assert not loaded & DIALLED


def test_asyncio_is_imported_by_no_module_of_ours() -> None:
    """Public report: hindsight #677. Ours: no asyncio anywhere."""
    word = re.compile(r"^\s*(import|from) asyncio|\basync def|\bawait ", re.MULTILINE)
    source = Path(hindsight_bank.__file__).parent
    assert [path.name for path in source.rglob("*.py") if word.search(path.read_text())] == []


def test_the_version_is_one() -> None:
    """Ours: of the module, of the metadata, and of what we call ourselves on the wire."""
    assert hindsight_bank.__version__ == importlib.metadata.version("hindsight-bank")
    assert re.fullmatch(r"\d+\.\d+\.\d+", hindsight_bank.__version__)


def test_the_package_says_that_it_is_typed() -> None:
    """PEP 561."""
    assert (Path(hindsight_bank.__file__).parent / "py.typed").exists()
