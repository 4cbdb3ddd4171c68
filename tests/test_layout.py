"""What results are: attrs classes to those who use them, whoever lays them out."""

import copy
import gc
import inspect
import json
import pickle
from importlib import import_module
from typing import Any

import attrs
import cattrs
import pytest

from hindsight_bank import Fact, RecallResult, RetainReceipt, to_dict
from hindsight_bank._generated import PUBLIC
from hindsight_bank._generated.fact import Scores
from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown

FACT = Fact(
    id="1",
    text="Alice prefers tea.",
    fact_type="world",
    entities=(),
    context=None,
    occurred_start=None,
    occurred_end=None,
    mentioned_at=None,
    document_id=None,
    metadata={"n": "1"},
    chunk_id=None,
    tags=("user:alice",),
    source_fact_ids=(),
    scores=Scores(final=1.0, reranker=None, semantic=0.5, keyword=None),
)
each_class = pytest.mark.parametrize("name", sorted(PUBLIC))


def class_of(name: str) -> Any:
    return getattr(import_module(f"hindsight_bank._generated.{PUBLIC[name]}"), name)


@each_class
def test_attrs_knows_each_class_as_its_constructor_takes_it(name: str) -> None:
    """attrs, fields: an attribute for each that can be given, with its default."""
    kind = class_of(name)
    told = attrs.fields(kind)
    taken = inspect.signature(kind).parameters
    assert [field.name for field in told] == list(taken)
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in taken.values())
    for field in told:
        assert (field.default is attrs.NOTHING) == (taken[field.name].default is inspect.Parameter.empty)
        assert getattr(told, field.name) is field
        assert isinstance(field, attrs.Attribute)


def test_what_attrs_does_with_its_own_it_does_with_results() -> None:
    """attrs, asdict, astuple and evolve."""
    told = attrs.asdict(FACT)
    assert told["scores"] == {"final": 1.0, "reranker": None, "semantic": 0.5, "keyword": None}
    assert json.dumps(told | {"tags": list(told["tags"])})
    assert attrs.astuple(FACT)[:3] == ("1", "Alice prefers tea.", "world")
    changed = attrs.evolve(FACT, text="Alice prefers coffee.")
    assert (changed.text, changed.scores, FACT.text) == ("Alice prefers coffee.", FACT.scores, "Alice prefers tea.")
    with pytest.raises(TypeError):
        attrs.evolve(FACT, txet="")  # type: ignore[call-arg]


def test_results_are_equal_by_value_and_cannot_be_changed() -> None:
    """attrs, frozen."""
    again = attrs.evolve(FACT)
    assert again == FACT
    assert again is not FACT
    assert attrs.evolve(FACT, id="2") != FACT
    assert FACT.scores is not None
    assert hash(FACT.scores) == hash(attrs.evolve(FACT.scores))
    with pytest.raises(AttributeError):
        FACT.text = "changed"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del FACT.text
    with pytest.raises(AttributeError):
        FACT.unknown = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        Fact(id="1")  # type: ignore[call-arg]


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - {"Memory"}))  # a union of its is nothing for plain cattrs
def test_cattrs_takes_each_class(name: str) -> None:
    """cattrs, structuring attrs classes: a hook is found for each attribute's type."""
    assert callable(cattrs.Converter().get_structure_hook(class_of(name)))


def test_cattrs_reads_back_what_it_wrote() -> None:
    """cattrs, un/structuring attrs classes."""
    receipt = RetainReceipt(status="accepted", message="Memory storage initiated", operation_id=None)
    assert cattrs.structure(to_dict(receipt), RetainReceipt) == receipt
    assert cattrs.structure(cattrs.unstructure(FACT), Fact) == FACT


def test_the_garbage_collector_has_nothing_to_do_with_results() -> None:
    """Ours: an answer of ten megabytes would be walked through again and again while it is built."""
    assert not gc.is_tracked(FACT)
    assert not gc.is_tracked(FACT.scores)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])  # noqa: S301 - our own
def test_results_go_to_other_processes(copied: Any) -> None:
    """Python, pickle and copy: what multiprocessing sends, and caches keep."""
    result = RecallResult(results=(FACT,), trace=None, entities=None, chunks=None, source_facts=None)
    assert copied(result) == result
    assert type(copied(FACT)) is Fact


def test_null_reads_as_empty_in_a_hand_built_result_too() -> None:
    """Ours: schemas/README.md, on defaults."""
    assert attrs.evolve(FACT, tags=None, metadata=None).tags == ()  # type: ignore[arg-type]
    assert attrs.evolve(FACT, tags=None, metadata=None).metadata == {}  # type: ignore[arg-type]


def test_a_default_that_is_made_anew_is_told_so() -> None:
    """attrs, Factory: no two objects share a default that can be changed."""

    @frozen(kw_only=True)
    class Made(Shown):
        noted: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it

    assert attrs.fields(Made).noted.default == attrs.Factory(dict)
    first, second = Made(), Made()
    assert first.noted == second.noted == {}
    assert first.noted is not second.noted
