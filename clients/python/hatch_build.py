"""Generates the models and operations from openapi.json before a wheel or an sdist is built."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GenerateHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        here = Path(self.root)
        checkout = here.parents[1]
        # An sdist holds the generated files already.
        if (checkout / "openapi.json").exists():
            sys.path.insert(0, str(here))
            from generator import generate

            generate(checkout / "openapi.json", here / "src/trunkline/generated")
            place = "trunkline/LICENSE" if self.target_name == "wheel" else "LICENSE"
            build_data["force_include"][str(checkout / "LICENSE")] = place
