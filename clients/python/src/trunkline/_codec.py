"""JSON to models and back.

Decoding is lenient: an unknown member is ignored and a missing one is None, so that additions to the API break nothing.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import json
import types
import typing
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

Converter = Callable[[Any], Any]


def decode(annotation: Any, value: Any) -> Any:
    """The JSON value as an instance of the annotation."""
    return None if value is None else converter(annotation)(value)


@functools.cache
def converter(annotation: Any) -> Converter:
    if annotation is dt.datetime:
        return dt.datetime.fromisoformat
    if annotation is dt.date:
        return dt.date.fromisoformat
    if annotation is Decimal:
        return Decimal
    if dataclasses.is_dataclass(annotation):
        return functools.partial(decode_object, annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is list:
        return lambda values: [decode(arguments[0], value) for value in values]
    if origin is dict:
        return lambda values: {key: decode(arguments[1], value) for key, value in values.items()}
    if origin in (typing.Union, types.UnionType):
        return functools.partial(decode_choice, tuple(one for one in arguments if one is not types.NoneType))
    return lambda value: value


def decode_object(model: Any, value: Mapping[str, Any]) -> Any:
    members = ((attribute, annotation, value.get(name)) for attribute, name, annotation in members_of(model))
    return model(**{attribute: decode(annotation, member) for attribute, annotation, member in members})


@functools.cache
def members_of(model: Any) -> list[tuple[str, str, Any]]:
    """Attribute, JSON name and annotation of each field."""
    hints = typing.get_type_hints(model)
    return [(one.name, json_name(one), hints[one.name]) for one in dataclasses.fields(model)]


def json_name(one: dataclasses.Field[Any]) -> str:
    return str(one.metadata.get("name", one.name))


def decode_choice(choices: tuple[Any, ...], value: Any) -> Any:
    models = [choice for choice in choices if dataclasses.is_dataclass(choice)]
    if isinstance(value, dict) and models:
        return decode(max(models, key=lambda model: likeness(model, value)), value)
    others = [choice for choice in choices if choice not in models]
    return decode(others[0], value) if len(others) == 1 else value


def likeness(model: Any, value: Mapping[str, Any]) -> tuple[bool, int]:
    """How well an object fits: whether nothing contradicts, then how many members it has."""
    fits, common = True, 0
    for field, (_, name, annotation) in zip(dataclasses.fields(model), members_of(model), strict=True):
        is_required = field.default is dataclasses.MISSING
        literals = typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()
        common += name in value
        fits &= name in value or not is_required
        fits &= name not in value or not literals or value[name] in literals
    return fits, common


def encode(value: Any) -> bytes:
    """A request body as JSON."""
    return json.dumps(value, default=plain, ensure_ascii=False, separators=(",", ":")).encode()


def plain(value: Any) -> Any:
    """What JSON has no type for."""
    if isinstance(value, dt.datetime | dt.date | Decimal):
        return text_of(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {json_name(one): getattr(value, one.name) for one in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON")


def text_of(value: Any) -> str:
    """A value as text, in queries and bodies."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        return value.isoformat()
    if isinstance(value, dt.date):
        return value.isoformat()
    return format(value, "f") if isinstance(value, Decimal) else str(value)
