"""Writes a method for every operation, named as its operationId: `createTrunk` is `create_trunk`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from generator.models import docstring
from generator.types import Field, Schema, Types

HEAD = '''"""A method for every operation of the API{kind}. Generated from openapi.json."""

from __future__ import annotations

import datetime as dt
from collections.abc import {generator}, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, cast

from .._core import UNSET, FileInput, Operations, Unset, segment
from ..paging import {pager}
from . import inputs, models


class {name}(Operations):
'''

ITEMS = ("data", "items", "rows")


@dataclass
class OperationShape:
    """What the method of an operation takes and returns."""

    name: str
    method: str
    path: str
    text: str
    result: str
    item_key: str | None = None
    is_stream: bool = False
    path_parameters: list[Field] = field(default_factory=list)
    query: list[Field] = field(default_factory=list)
    body: list[Field] = field(default_factory=list)
    body_kind: str = "none"
    body_annotation: str = ""
    body_required: bool = False
    headers: set[str] = field(default_factory=set)


def read_operations(document: dict[str, Any], types: Types) -> list[OperationShape]:
    found = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if isinstance(operation, dict) and "operationId" in operation:
                shape = read_operation(path, method, operation, types)
                if is_stream(operation):
                    read_stream(shape, document, types)
                found.append(shape)
    return found


def is_stream(operation: dict[str, Any]) -> bool:
    return "text/event-stream" in success(operation).get("content", {})


def read_stream(shape: OperationShape, document: dict[str, Any], types: Types) -> None:
    """A stream sends what the list beside it has."""
    listing = document["paths"][shape.path.removesuffix("/stream")]["get"]
    page = types.resolve(success(listing)["content"]["application/json"]["schema"])
    shape.is_stream = True
    shape.result = qualified(types.annotate(page["properties"]["data"]["items"], "models", "StreamItem"))


def success(operation: dict[str, Any]) -> dict[str, Any]:
    return next((answer for status, answer in operation["responses"].items() if status.startswith("2")), {})


def read_operation(path: str, method: str, operation: dict[str, Any], types: Types) -> OperationShape:
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", operation["operationId"]).lower()
    text = f"{operation.get('summary', name)}\n\n{operation.get('description', '')}".strip()
    owner = operation["operationId"][0].upper() + operation["operationId"][1:]
    shape = OperationShape(name, method.upper(), path, text, "None")
    for parameter in operation.get("parameters", []):
        one = Field(
            parameter["name"],
            types.annotate(parameter.get("schema", {}), "inputs", owner),
            parameter.get("required", False),
            types.is_nullable(parameter.get("schema", {})),
            parameter.get("description", ""),
        )
        match parameter["in"]:
            case "path":
                shape.path_parameters.append(one)
            case "query":
                shape.query.append(one)
            case "header":
                shape.headers.add(parameter["name"])
    read_body(shape, operation.get("requestBody"), types, owner)
    read_result(shape, success(operation).get("content", {}), types, owner)
    return shape


def read_body(shape: OperationShape, body: Schema | None, types: Types, owner: str) -> None:
    if not body:
        return
    shape.body_required = body.get("required", False)
    media_type, content = next(iter(body["content"].items()))
    schema = content.get("schema", {})
    if media_type in ("application/json", "multipart/form-data"):
        shape.body_kind = "form" if media_type.startswith("multipart") else "json"
        taken = {one.name for one in shape.path_parameters + shape.query} | {"idempotency_key", "if_match"}
        resolved = types.resolve(schema)
        is_flat = types.is_object(schema) and not ("oneOf" in resolved and not resolved.get("properties"))
        if is_flat and taken.isdisjoint(resolved.get("properties", {})):
            shape.body = types.fields(schema, "inputs", f"{owner}Body")
            if shape.body_kind == "form":
                files = {name for name, part in resolved["properties"].items() if is_file(part)}
                shape.body = [as_file(one) if one.name in files else one for one in shape.body]
            return
        shape.body_kind = "whole"
        shape.body_annotation = types.annotate(schema, "inputs", f"{owner}Body")
        return
    shape.body_kind = "content"


def is_file(schema: Schema) -> bool:
    return "contentMediaType" in schema or schema.get("format") == "binary"


def as_file(one: Field) -> Field:
    return Field(one.name, "FileInput", one.required, one.nullable, one.description)


def read_result(shape: OperationShape, content: dict[str, Any], types: Types, owner: str) -> None:
    if not content:
        return
    schema = content.get("application/json", {}).get("schema")
    if schema is None:
        shape.result = "bytes"
        return
    properties = types.resolve(schema).get("properties", {})
    key = next((key for key in ITEMS if key in properties), None)
    if key and shape.method == "GET" and any(one.name == "cursor" for one in shape.query):
        shape.item_key = key
        if len(content) > 1:
            # Pages are JSON; other formats are for `request`.
            shape.query = [one for one in shape.query if one.name != "format"]
        schema = properties[key]["items"]
        owner += "Item"
    shape.result = qualified(types.annotate(schema, "models", f"{owner}Response"))


def qualified(annotation: str) -> str:
    """Model names as they are written outside of `models`."""
    return re.sub(r"(?<![\w.'])(?!Any\b|None\b|Decimal\b|Literal\b)([A-Z]\w*)", r"models.\1", annotation)


def write_operations(operations: list[OperationShape], types: Types, *, is_async: bool) -> str:
    head = HEAD.format(
        kind=", to be awaited" if is_async else "",
        pager="AsyncPager" if is_async else "Pager",
        generator="AsyncGenerator" if is_async else "Generator",
        name="AsyncApi" if is_async else "Api",
    )
    return head + "\n".join(method_of(shape, is_async) for shape in operations)


def method_of(shape: OperationShape, is_async: bool) -> str:
    pager = "AsyncPager" if is_async else "Pager"
    returns = f"{pager}[{shape.result}]" if shape.item_key else shape.result
    if shape.is_stream:
        returns = f"AsyncGenerator[{shape.result}, None]" if is_async else f"Generator[{shape.result}, None, None]"
    is_awaited = is_async and not shape.item_key and not shape.is_stream
    prefix = "async def" if is_awaited else "def"
    lines = [f"    {prefix} {shape.name}({', '.join(parameters(shape))}) -> {returns}:"]
    lines.append(docstring(documentation(shape), "        "))
    if shape.is_stream:
        stream = f'self._stream("{shape.path}", {shape.result}, last_event_id)'
        lines.append(f'        return cast("{returns}", {stream})')
    else:
        lines += body_of(shape, pager, "await " if is_async else "")
    return "\n".join(lines) + "\n"


def parameters(shape: OperationShape) -> list[str]:
    positional = ["self", *(f"{one.attribute}: str" for one in shape.path_parameters)]
    keywords = [f"{one.attribute}: {one.annotation}" for one in shape.query + shape.body if one.required]
    if shape.body_kind in ("whole", "content"):
        annotation = "str | bytes" if shape.body_kind == "content" else shape.body_annotation
        keywords.append(f"body: {annotation}" if shape.body_required else f"body: {annotation} | None = None")
    keywords += [f"{one.attribute}: {optional(one.annotation)} = None" for one in shape.query if not one.required]
    for one in shape.body:
        if not one.required and shape.method == "PATCH":
            keywords.append(f"{one.attribute}: {one.annotation} | Unset = UNSET")
        elif not one.required:
            keywords.append(f"{one.attribute}: {optional(one.annotation)} = None")
    keywords += ["idempotency_key: str | None = None"] if "Idempotency-Key" in shape.headers else []
    keywords += ["if_match: str | None = None"] if "If-Match" in shape.headers else []
    keywords += ["last_event_id: str | None = None"] if shape.is_stream else []
    keywords += ["bootstrap_token: str"] if "X-Bootstrap-Token" in shape.headers else []
    return [*positional, "*", *keywords] if keywords else positional


def optional(annotation: str) -> str:
    return annotation if annotation.endswith("None") or annotation == "Any" else f"{annotation} | None"


def documentation(shape: OperationShape) -> str:
    lines = [shape.text, "", "Args:"]
    for one in shape.path_parameters + shape.query + shape.body:
        if one.description:
            lines.append(f"    {one.attribute}: {' '.join(one.description.split())}")
    if "Idempotency-Key" in shape.headers:
        lines.append("    idempotency_key: UUID v4 that stands for this operation; chosen by the client if absent.")
    if "If-Match" in shape.headers:
        lines.append("    if_match: ETag of the version to change; refused if somebody else has changed it.")
    if shape.is_stream:
        lines.append("    last_event_id: Id of the last event that you have seen; the stream goes on after it.")
    return "\n".join(lines) if len(lines) > 3 else shape.text


def body_of(shape: OperationShape, pager: str, await_: str) -> list[str]:
    path = re.sub(r"\{([\w-]+)\}", lambda found: f"{{segment({attribute_of(shape, found[1])})}}", shape.path)
    path = f'f"{path}"' if shape.path_parameters else f'"{path}"'
    if shape.item_key:
        query = mapping([one for one in shape.query if one.name != "cursor"])
        call = f'self._page, {path}, "{shape.item_key}", {shape.result}, {query}, cursor'
        return [f"        return {pager}({call})"]
    arguments = [f'"{shape.method}"', path, shape.result]
    arguments += [f"query={mapping(shape.query)}"] if shape.query else []
    arguments += body_arguments(shape)
    if shape.method != "GET":
        keyed = "Idempotency-Key" in shape.headers
        arguments.append("idempotency_key=idempotency_key" if keyed else "keyed=False")
    headers = {"If-Match": "if_match", "X-Bootstrap-Token": "bootstrap_token"}
    sent = ", ".join(f'"{header}": {name}' for header, name in headers.items() if header in shape.headers)
    arguments += [f"headers={{{sent}}}"] if sent else []
    send = f"{await_}self._send({', '.join(arguments)})"
    return [f"        {send}" if shape.result == "None" else f'        return cast("{shape.result}", {send})']


def attribute_of(shape: OperationShape, name: str) -> str:
    return next(one.attribute for one in shape.path_parameters if one.name == name)


def body_arguments(shape: OperationShape) -> list[str]:
    match shape.body_kind:
        case "json" | "form":
            required = mapping([one for one in shape.body if one.required])
            rest = [one for one in shape.body if not one.required]
            arguments = [f"{shape.body_kind}={required}"] if shape.body_required or required != "{}" or rest else []
            arguments += [f"optional={mapping(rest)}"] if rest else []
            return arguments + ([] if shape.body_required or not arguments else ["may_be_empty=True"])
        case "whole":
            return ["whole=body"]
        case "content":
            return ["content=body"]
        case _:
            return []


def mapping(fields: list[Field]) -> str:
    return "{" + ", ".join(f'"{one.name}": {one.attribute}' for one in fields) + "}"
