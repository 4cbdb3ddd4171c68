"""Results as plain data, for JSON and for applications of other shapes."""

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import attrs

from hindsight_bank.loading import unforked
from hindsight_bank.shown import Shown

if TYPE_CHECKING:
    from cattrs import Converter


@cache
def _converter() -> "Converter":
    with unforked():
        from cattrs import Converter  # noqa: PLC0415 - slow to load, needed only here
        from cattrs.gen import make_dict_unstructure_fn, override  # noqa: PLC0415 - as above

    converter = Converter(unstruct_collection_overrides={tuple: list})
    converter.register_unstructure_hook(datetime, datetime.isoformat)
    # `error` makes the decoder refuse what a tool says of a failure; in a result it is None and says nothing.
    converter.register_unstructure_hook_factory(
        attrs.has, lambda kind: make_dict_unstructure_fn(kind, converter, error=override(omit=True))
    )
    return converter


def to_dict(result: Any) -> dict[str, Any]:
    """Return a result as dicts, lists and scalars that `json.dumps` takes; timestamps as ISO 8601 with offset.

    Args:
        result: Any object that a `Bank` method returned, or a part of one.

    Returns:
        One dict, keys as the attributes are named; `error`, which is None in every result, is left out.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(result, Shown):
        raise TypeError(f"to_dict takes one result of a Bank, or one part of it such as a Fact, not {type(result)}")
    return cast("dict[str, Any]", _converter().unstructure(result))
