"""Schemas as Python annotations.

A schema of a response is a dataclass in `models`, one of a request body a TypedDict in `inputs`; enumerations are
`Literal`s in `models`, and other scalars are written where they are used.
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass
from typing import Any, Literal

Schema = dict[str, Any]
Side = Literal["models", "inputs"]

STRING_FORMATS: dict[str, dict[Side, str]] = {
    "date-time": {"models": "dt.datetime", "inputs": "dt.datetime | str"},
    "date": {"models": "dt.date", "inputs": "dt.date | str"},
    "decimal": {"models": "Decimal", "inputs": "Decimal | str"},
}
SCALARS = {"integer": "int", "number": "float", "boolean": "bool", "null": "None"}


@dataclass(frozen=True)
class Field:
    """A property of an object."""

    name: str
    annotation: str
    required: bool
    nullable: bool
    description: str

    @property
    def attribute(self) -> str:
        """The name in Python."""
        name = self.name.replace("-", "_").replace(".", "_")
        name = name if name.isidentifier() else f"_{name}"
        return f"{name}_" if keyword.iskeyword(name) else name


class Types:
    """Annotations of the schemas of a document, and which schemas were needed for them."""

    def __init__(self, schemas: dict[str, Schema]) -> None:
        self.schemas = {name: spread(schema, schemas) for name, schema in schemas.items()}
        self.used: dict[Side, dict[str, None]] = {"models": {}, "inputs": {}}

    def resolve(self, schema: Schema) -> Schema:
        """The schema behind a reference, with the parts of an `allOf` in one."""
        if "$ref" in schema:
            return self.resolve(self.schemas[schema["$ref"].rsplit("/", 1)[-1]])
        if "allOf" not in schema:
            return schema
        merged: Schema = {"type": "object", "properties": {}, "required": []}
        for part in [*map(self.resolve, schema["allOf"]), {k: v for k, v in schema.items() if k != "allOf"}]:
            properties = {**merged["properties"], **part.get("properties", {})}
            required = [*merged["required"], *part.get("required", [])]
            merged = {**merged, **part, "properties": properties, "required": required}
        return merged

    def fields(self, schema: Schema, side: Side, owner: str) -> list[Field]:
        """The properties of an object."""
        resolved = self.resolve(schema)
        required = resolved.get("required", [])
        return [
            Field(
                name,
                self.annotate(part, side, owner + name.title().replace("_", "")),
                name in required,
                self.is_nullable(part),
                part.get("description") or "",
            )
            for name, part in resolved.get("properties", {}).items()
        ]

    def is_object(self, schema: Schema) -> bool:
        """Whether it becomes a class."""
        resolved = self.resolve(schema)
        return "properties" in resolved or ("object" in kinds(resolved) and resolved.get("additionalProperties") is False)

    def is_nullable(self, schema: Schema) -> bool:
        resolved = self.resolve(schema)
        parts = resolved.get("anyOf", []) + resolved.get("oneOf", [])
        return "null" in kinds(resolved) or any(part.get("type") == "null" for part in parts)

    def annotate(self, schema: Schema, side: Side, owner: str) -> str:
        """The annotation of a value; `owner` names the class of an object that has no name of its own."""
        if not isinstance(schema, dict):
            return "Any"
        if "$ref" in schema:
            return self.reference(schema["$ref"].rsplit("/", 1)[-1], side)
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            values = [value for value in schema["enum"] if value is not None]
            return union([f"Literal[{', '.join(map(repr, values))}]", *(["None"] if None in schema["enum"] else [])])
        if len(schema.get("allOf", [])) == 1 and "properties" not in schema:
            return self.annotate(schema["allOf"][0], side, owner)
        choices = schema.get("oneOf") or schema.get("anyOf")
        if choices and "properties" not in schema:
            parts = (self.annotate(part, side, owner + suffix(part, number)) for number, part in enumerate(choices, 1))
            return union([*parts, *(["None"] if "null" in kinds(schema) else [])])
        if self.is_object(schema):
            while self.schemas.get(owner, schema) != schema:
                owner += "Inline"
            self.schemas[owner] = schema
            return self.reference(owner, side)
        return union([self.plain(kind, schema, side, owner) for kind in kinds(schema)] or ["Any"])

    def reference(self, name: str, side: Side) -> str:
        schema = self.schemas[name]
        if self.is_object(schema) or (side == "models" and is_choice(schema)):
            self.need(name, side)
            return name if side == "models" else f"inputs.{name}"
        if "enum" in schema and "string" in kinds(schema):
            self.need(name, "models")
            return name if side == "models" else f"models.{name}"
        return self.annotate(schema, side, name)

    def need(self, name: str, side: Side) -> None:
        """Notes a class, and with it those of its properties."""
        if name in self.used[side]:
            return
        self.used[side][name] = None
        schema = self.schemas[name]
        if self.is_object(schema):
            self.fields(schema, side, name)
        elif is_choice(schema):
            self.annotate(schema, side, name)

    def plain(self, kind: str, schema: Schema, side: Side, owner: str) -> str:
        match kind:
            case "string":
                return STRING_FORMATS.get(schema.get("format", ""), {}).get(side, "str")
            case "array":
                item = self.annotate(schema.get("items", {}), side, f"{owner}Item")
                return f"list[{item}]" if side == "models" else f"Sequence[{item}]"
            case "object":
                value = self.annotate(schema.get("additionalProperties", {}), side, f"{owner}Value")
                return f"dict[str, {value}]" if side == "models" else f"Mapping[str, {value}]"
            case _:
                return SCALARS[kind]


def spread(schema: Schema, schemas: dict[str, Schema]) -> Schema:
    """A choice of which each has the same additions, in place of additions to a choice."""
    for part in schema.get("allOf", []):
        choices = schemas.get(part.get("$ref", "").rsplit("/", 1)[-1], part).get("oneOf")
        if choices:
            rest = [other for other in schema["allOf"] if other is not part]
            spread_out = [{"title": name_of(choice), "allOf": [choice, *rest]} for choice in choices]
            return {"oneOf": spread_out, "description": schema.get("description", "")}
    return schema


def name_of(schema: Schema) -> str:
    return str(schema.get("title") or schema.get("$ref", "").rsplit("/", 1)[-1])


def suffix(schema: Schema, number: int) -> str:
    """What tells a choice from the others in its name."""
    words = "".join(letter if letter.isalnum() else " " for letter in name_of(schema)).split()
    return "".join(word[0].upper() + word[1:] for word in words) or str(number)


def kinds(schema: Schema) -> list[str]:
    """The JSON types that a schema names."""
    found = schema.get("type", [])
    return [found] if isinstance(found, str) else found


def is_choice(schema: Schema) -> bool:
    return ("oneOf" in schema or "anyOf" in schema) and "properties" not in schema


def union(parts: list[str]) -> str:
    """One annotation of several, `None` last."""
    flat = dict.fromkeys(one for part in parts for one in part.split(" | "))
    without_none = [part for part in flat if part != "None"]
    return " | ".join(without_none + (["None"] if "None" in flat else []))
