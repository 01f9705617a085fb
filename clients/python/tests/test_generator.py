"""The generator, with shapes that are rare in the description."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from generator import generate
from trunkline._codec import decode


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def event(kind: str, data: str) -> dict[str, Any]:
    members = {"id": {"type": "string"}, "type": {"type": "string", "const": kind}, "data": ref(data)}
    return {"type": "object", "properties": members, "required": ["id", "type", "data"]}


def form(field: str) -> dict[str, Any]:
    members = {field: {"type": "string"}, "currency": {"type": "string"}}
    return {"title": f"By {field}", "type": "object", "properties": members, "required": [field, "currency"]}


NOTE = {"type": "object", "properties": {"from": {"type": ["string", "null"], "format": "date-time"}}}
CUSTOMER = {"type": "object", "properties": {"customer_id": {"type": "string"}}, "required": ["customer_id"]}
SCHEMAS = {
    "Approved": NOTE,
    "Rejected": NOTE,
    "ApprovedEvent": event("kyb.approved", "Approved"),
    "RejectedEvent": event("kyb.rejected", "Rejected"),
    "Event": {"oneOf": [ref("ApprovedEvent"), ref("RejectedEvent")]},
    "AdminEvent": {"allOf": [ref("Event"), CUSTOMER]},
    "MoneyInput": {"oneOf": [form("amount_minor"), form("amount")]},
    "Order": {"type": "object", "properties": {"price": ref("MoneyInput"), "class": {"type": "string"}}},
}


def answer(schema: dict[str, Any], media_type: str = "application/json") -> dict[str, Any]:
    return {"responses": {"200": {"content": {media_type: {"schema": schema}}}, "404": {}}}


PATHS = {
    "/event": {"get": {"operationId": "getEvent", **answer(ref("Event"))}},
    "/admin/event": {"get": {"operationId": "getAdminEvent", **answer(ref("AdminEvent"))}},
    "/events": {"get": {"operationId": "listEvents", **answer({"properties": {"data": {"items": ref("Event")}}})}},
    "/events/stream": {"get": {"operationId": "streamEvents", **answer({}, "text/event-stream")}},
    "/orders/{id}": {
        "patch": {
            "operationId": "updateOrder",
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "requestBody": {"required": True, "content": {"application/json": {"schema": ref("Order")}}},
            "responses": {"204": {}},
        }
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    document = {"paths": PATHS, "components": {"schemas": SCHEMAS}}
    (tmp_path / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    generate(tmp_path / "openapi.json", tmp_path / "generated")
    return tmp_path / "generated"


@pytest.fixture
def models(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("models_of_a_test", folder / "models.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "models_of_a_test", module)
    spec.loader.exec_module(module)
    return module


def test_tells_events_apart_by_their_type(models: ModuleType) -> None:
    body = {"id": "1", "type": "kyb.rejected", "data": {"from": "2026-01-31T12:00:00Z"}}
    found = decode(models.Event, body)
    assert type(found) is models.RejectedEvent
    assert type(found.data) is models.Rejected
    assert found.data.from_.year == 2026


def test_adds_to_every_choice(models: ModuleType) -> None:
    found = decode(models.AdminEvent, {"id": "1", "type": "kyb.approved", "data": {}, "customer_id": "c"})
    assert type(found) is models.AdminEventApprovedEvent
    assert (found.customer_id, found.id) == ("c", "1")


def test_writes_methods_that_are_typed(folder: Path) -> None:
    text = (folder / "operations.py").read_text(encoding="utf-8")
    stream = "def stream_events(self, *, last_event_id: str | None = None)"
    assert f"{stream} -> Generator[models.Event, None, None]:" in text
    assert f"    {stream} -> AsyncGenerator[models.Event, None]:" in (folder / "async_operations.py").read_text(encoding="utf-8")
    price = "price: inputs.MoneyInputByAmountMinor | inputs.MoneyInputByAmount | Unset = UNSET"
    assert f"def update_order(self, id: str, *, {price}, class_: str | Unset = UNSET) -> None:" in text
    assert '"class": class_' in text
