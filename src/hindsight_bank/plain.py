"""Results as plain data, for JSON and for applications of other shapes."""

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from cattrs import Converter


@cache
def _converter() -> "Converter":
    from cattrs import Converter  # noqa: PLC0415 - slow to load, needed only here

    converter = Converter()
    converter.register_unstructure_hook(datetime, datetime.isoformat)
    return converter


def to_dict(result: Any) -> dict[str, Any]:  # noqa: ANN401 - any result type
    """Return a result as dicts, lists and scalars that `json.dumps` takes; timestamps as ISO 8601 with offset.

    Args:
        result: Any object that a `Bank` method returned, or a part of one.

    Returns:
        One dict, keys as the attributes are named.
    """
    return cast("dict[str, Any]", _converter().unstructure(result))
