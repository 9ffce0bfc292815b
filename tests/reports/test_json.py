"""The report's JSON fits its schema, keeps every number, and is described field by field."""

import json
import re
from dataclasses import replace
from pathlib import Path

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from etprof.reports.json import SCHEMA_VERSION, json_schema, render, render_compact
from report_builder import a_report, emulated, hostile, one_variant, untraced

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "report-json.md"


def test_every_kind_of_report_fits_the_schema(tmp_path: Path) -> None:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    for build in (a_report, one_variant, emulated, untraced, hostile):
        value = json.loads(render(build(tmp_path)))
        assert value["schema_version"] == SCHEMA_VERSION
        assert not list(Draft202012Validator(schema).iter_errors(value))


def test_the_compact_form_holds_the_same(tmp_path: Path) -> None:
    report = hostile(tmp_path)
    assert json.loads(render(report)) == json.loads(render_compact(report))


def test_raw_samples_are_kept_exactly(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    value = json.loads(render(report))
    assert [tuple(map(tuple, variant["samples_ms"])) for variant in value["variants"]] == [
        variant.samples_ms for variant in report.variants
    ]


def test_a_value_that_is_no_number_becomes_null(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    comparison = replace(report.comparisons[0], output_difference=float("inf"))
    value = json.loads(render(replace(report, comparisons=(comparison,))))
    assert value["comparisons"][0]["output_difference"] is None


def test_every_field_is_described_in_its_section_and_no_other() -> None:
    schema = json_schema()
    fields = {name: list(d["properties"]) for name, d in schema["$defs"].items() if "properties" in d}
    fields["Report"] = list(schema["properties"])
    _, *sections = re.split(r"^## .*: `(\w+)`$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    described = {
        name: re.findall(r"^\| `([a-z_0-9]+)` \|", text, re.MULTILINE)
        for name, text in zip(sections[::2], sections[1::2], strict=True)
    }
    assert described == fields
