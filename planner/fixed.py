"""Frozen classes of values, made without compiling source text as the standard library's dataclasses do."""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def fixed(cls: type[T]) -> type[T]:
    """Return a class as a frozen dataclass without compiled text; its values are compared by identity."""
    for name, method in {"__init__": _init, "__setattr__": _refuse, "__delattr__": _refuse}.items():
        setattr(cls, name, method)
    return dataclass(init=False, eq=False, repr=False)(cls)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def fixed_value(cls: type[T]) -> type[T]:
    """Return a class as `fixed` does, but with values that are compared and shown by their fields."""
    for name, method in {"__eq__": _equals, "__hash__": _hash, "__repr__": _text}.items():
        setattr(cls, name, method)
    return fixed(cls)


def _init(self: Any, *values: Any, **named: Any) -> None:
    fields = type(self).__dataclass_fields__
    given = dict(zip(fields, values, strict=False)) | named
    n_given = len(given)
    for name, about in fields.items():
        if name not in given and about.default_factory is not MISSING:
            given[name] = about.default_factory()
        elif name not in given and about.default is not MISSING:
            given[name] = about.default
    if n_given < len(values) + len(named) or given.keys() != fields.keys():
        wrong = ", ".join(sorted(named.keys() - fields.keys()))
        got = f"{len(values)} values, and {', '.join(named) or 'none by name'}{wrong and f' (there is no {wrong})'}"
        raise TypeError(f"{type(self).__name__}: must be given {', '.join(fields)}, each once, got {got}")
    vars(self).update(given)


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise FrozenInstanceError(f"{type(self).__name__}.{name}: must not be changed")


def _equals(self: Any, other: object) -> bool:
    return type(self) is type(other) and vars(self) == vars(other)


def _hash(self: Any) -> int:
    return hash(tuple(vars(self).values()))


def _text(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"
