"""`python -m generator` in this folder's parent generates from the openapi.json of the checkout."""

from pathlib import Path

from generator import generate

here = Path(__file__).resolve().parents[1]
generate(here.parents[1] / "openapi.json", here / "src/trunkline/generated")
