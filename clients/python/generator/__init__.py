"""Generates `trunkline.generated` from openapi.json: models of responses, inputs of requests, and a method per operation.

`types` turns schemas into annotations, `models` writes classes, `operations` writes methods. Uses the standard library
only, so that a build needs nothing else.
"""

import json
from pathlib import Path

from generator.models import write_inputs, write_models
from generator.operations import read_operations, write_operations
from generator.types import Types


def generate(openapi: Path, folder: Path) -> None:
    document = json.loads(openapi.read_text(encoding="utf-8"))
    types = Types(document["components"]["schemas"])
    operations = read_operations(document, types)
    files = {
        "__init__.py": '"""Generated from openapi.json."""\n',
        "models.py": write_models(types),
        "inputs.py": write_inputs(types),
        "operations.py": write_operations(operations, types, is_async=False),
        "async_operations.py": write_operations(operations, types, is_async=True),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
