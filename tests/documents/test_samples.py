"""The page of samples has every JSON and CSV file with the structure that commands write today."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sample_files
from etprof.cli.main import main
from etprof.core.layout import KERNELS_SUFFIX
from etprof.store.kernel_files import save_kernels
from scripted_device import a_runnable_plan, run_scripted

SECTION = re.compile(r"^## `(?P<title>[^`]+)`\n.*?```(?P<kind>json|csv)\n(?P<text>.*?)\n```", re.M | re.S)
# Keyed by names that differ from run to run.
FREE = {"versions", "runner_sha256", "context", "delegated", "export_meta", "rollups", "settings"}


def read_page() -> dict[str, str]:
    return {found["title"]: found["text"] for found in SECTION.finditer(sample_files.PAGE.read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, toy_cnn: Path) -> dict[str, Path]:
    """Every file by its name on the page: those of a scripted run, of the commands on its traces, and of an export."""
    folder = tmp_path_factory.mktemp("samples")
    run_scripted(a_runnable_plan(folder, blocks=3))
    run, tables = folder / "runs/linux", folder / "tables"
    trace = run / "on/on_t1.etdump"
    commands = (
        ["report", str(run), "--quiet"],
        ["trace", "json", str(trace), "--output", str(tables / "on_t1_ops.json")],
        ["trace", "operators", str(run / "on"), "--compare", str(run / "off"), "--output-dir", str(tables)],
        ["trace", "transposes", str(trace), "--output-dir", str(tables)],
    )
    assert [main(command) for command in commands] == [0, 0, 0, 0]
    save_kernels(run / "on" / f"on_t1{KERNELS_SUFFIX}", [])
    return dict(name_files(run, tables, toy_cnn))


def name_files(*folders: Path) -> Iterator[tuple[str, Path]]:
    for path in (path for folder in folders for path in folder.rglob("*.*")):
        name = re.sub(r"^(on|off)_t1", "<variant>_t1", path.name)
        yield re.sub(r"^(model|toy_cnn_xnnpack_fp32)(?=[._])", "<stem>", name), path


def test_every_file_of_the_list_is_on_the_page() -> None:
    assert list(read_page()) == [sample_files.title_of(name) for name in sample_files.FILES]


def test_every_json_and_csv_file_of_a_run_has_a_sample(written: dict[str, Path]) -> None:
    kinds = {name for name in written if name.endswith((".json", ".csv")) and not re.search(r"_b\d+\.", name)}
    assert kinds - set(read_page()) == set()


@pytest.mark.parametrize("title", [sample_files.title_of(name) for name in sample_files.FILES])
def test_every_sample_has_the_structure_that_a_run_writes(title: str, written: dict[str, Path]) -> None:
    sample, text = read_page()[title], written[title].read_text(encoding="utf-8")
    hint = "run scripts/sample_files.py"
    if title.endswith(".csv"):
        assert next(csv.reader(sample.splitlines())) == next(csv.reader(text.splitlines())), hint
    else:
        assert different_keys(json.loads(sample), json.loads(text)) == [], hint


def different_keys(sample: Any, value: Any, place: str = "") -> list[str]:
    """Where objects on both sides have other keys; of a list the first entry counts."""
    if isinstance(sample, list) and isinstance(value, list):
        return different_keys(sample[0], value[0], f"{place}[]") if sample and value else []
    if not (isinstance(sample, dict) and isinstance(value, dict)) or place.rpartition(".")[2] in FREE:
        return []
    wrong = [f"{place}.{key}" for key in sample.keys() ^ value.keys()]
    common = sample.keys() & value.keys()
    return wrong + [each for key in common for each in different_keys(sample[key], value[key], f"{place}.{key}")]
