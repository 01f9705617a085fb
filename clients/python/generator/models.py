"""Writes the classes: frozen dataclasses for responses, TypedDicts for request bodies."""

from __future__ import annotations

import keyword

from generator.types import Field, Types

HEAD = '''"""{about} Generated from openapi.json."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, NotRequired, TypedDict
'''


def write_models(types: Types) -> str:
    names = sorted(types.used["models"])
    objects = [name for name in names if types.is_object(types.schemas[name])]
    others = [name for name in names if name not in objects]
    literals = [name for name in others if "enum" in types.schemas[name]]
    choices = [name for name in others if name not in literals]
    parts = [HEAD.format(about="What the API answers.")]
    parts += [f"{name} = {types.annotate(types.schemas[name], 'models', name)}\n" + about(types, name, "") for name in literals]
    parts += [dataclass_of(types, name) for name in objects]
    parts += [f"{name} = {types.annotate(types.schemas[name], 'models', name)}\n" + about(types, name, "") for name in choices]
    return "\n".join(parts)


def write_inputs(types: Types) -> str:
    head = HEAD.format(about="Parts of request bodies.") + "\nfrom . import models\n"
    classes = "\n".join(typed_dict_of(types, name) for name in sorted(types.used["inputs"]))
    return f"{head}\n{classes}".replace("inputs.", "")


def dataclass_of(types: Types, name: str) -> str:
    lines = ["", "@dataclass(frozen=True, slots=True, kw_only=True)", f"class {name}:"]
    lines += [docstring(types.schemas[name].get("description") or name)]
    for one in types.fields(types.schemas[name], "models", name):
        lines.append(f"    {one.attribute}: {annotation(one)}{default(one)}")
        lines += [docstring(one.description)] if one.description else []
    return "\n".join(lines) + "\n"


def annotation(one: Field) -> str:
    """What may be left out is None."""
    may_be_none = one.required or one.nullable or one.annotation in ("Any", "None")
    return one.annotation if may_be_none else f"{one.annotation} | None"


def default(one: Field) -> str:
    metadata = f"metadata={{'name': {one.name!r}}}" if one.attribute != one.name else ""
    match one.required, metadata:
        case True, "":
            return ""
        case True, _:
            return f" = field({metadata})"
        case False, "":
            return " = None"
        case _:
            return f" = field(default=None, {metadata})"


def typed_dict_of(types: Types, name: str) -> str:
    schema = types.schemas[name]
    fields = types.fields(schema, "inputs", name)
    wanted = {one.name: one.annotation if one.required else f"NotRequired[{one.annotation}]" for one in fields}
    if any(not key.isidentifier() or keyword.iskeyword(key) for key in wanted):
        members = ", ".join(f"{key!r}: {value!r}" for key, value in wanted.items())
        return f"{name} = TypedDict({name!r}, {{{members}}})\n"
    lines = ["", f"class {name}(TypedDict):", docstring(schema.get("description") or name)]
    for one in fields:
        lines.append(f"    {one.name}: {wanted[one.name]}")
        lines += [docstring(one.description)] if one.description else []
    return "\n".join(lines) + "\n"


def about(types: Types, name: str, indent: str) -> str:
    description = types.schemas[name].get("description")
    return docstring(description, indent) + "\n" if description else ""


def docstring(text: str, indent: str = "    ") -> str:
    """A docstring; the further lines of the text are indented as the first."""
    safe = text.strip().replace("\\", "\\\\").replace('"""', "'''")
    safe = safe[:-1] + '\\"' if safe.endswith('"') else safe
    lines = [line.rstrip() for line in safe.splitlines()]
    return indent + '"""' + f"\n{indent}".join(lines).replace(f"\n{indent}\n", "\n\n") + '"""'
