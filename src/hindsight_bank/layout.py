"""The classes of results: attrs' to whoever uses them, msgspec's in memory, since it fills its own twice as fast.

A type checker takes them for what `attrs.frozen` makes; so do attrs' `fields`, `asdict` and `evolve`, and what builds
on them, as cattrs does. The garbage collector leaves results alone, since nothing decoded leads back to itself: what
is put into its own metadata is never freed, and no result can be referenced weakly.
"""

from collections.abc import Callable
from functools import cache
from types import NoneType, new_class
from typing import TYPE_CHECKING, Any, Final

import attrs
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

__all__ = ["frozen"]


class _Attributes:
    """What attrs knows a class by."""

    def __get__(self, _: object, owner: type) -> Any:
        return _attributes(owner)


_ATTRIBUTES: Final = _Attributes()


@cache
def _attributes(owner: Any) -> Any:
    told = {each.name: attrs.field(default=_default(each), type=_type(each), kw_only=True) for each in fields(owner)}
    return attrs.fields(attrs.make_class(owner.__name__, told))


def _default(field: FieldInfo) -> Any:
    if field.default_factory is not NODEFAULT:
        return attrs.Factory(field.default_factory)
    return attrs.NOTHING if field.default is NODEFAULT else field.default


def _type(field: FieldInfo) -> Any:
    return None if field.type is NoneType else field.type  # as it is written


def _laid_out(*, kw_only: bool) -> Callable[[type], type]:
    """Make a class anew, as attrs does for its slots, with attributes where msgspec wants them."""

    def made(plain: type) -> type:
        body = {name: value for name, value in vars(plain).items() if name not in ("__dict__", "__weakref__")}
        body["__attrs_attrs__"] = _ATTRIBUTES
        options = {"frozen": True, "kw_only": kw_only, "gc": False}
        return new_class(plain.__name__, (*plain.__bases__, Struct), options, lambda namespace: namespace.update(body))

    return made


if TYPE_CHECKING:
    from attrs import frozen
else:
    frozen = _laid_out
