"""`etprof explain`: any .pte or run, in words, as JSON and as CSV; writes nothing that was not asked for."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import etprof
from etprof.app.explaining import explain_run
from etprof.app.runs import load_run
from etprof.cli.main import main
from etprof.reports.roofline_tables import list_shown, roofline_sentence
from payload_builder import DELEGATED
from program_builder import Method, build_program
from report_builder import with_roofline
from scripted_device import a_runnable_plan, run_scripted

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "somebody.pte"
    path.write_bytes(build_program(DELEGATED))
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a model that has no graph.json: its graph comes out of the .pte."""
    folder = tmp_path_factory.mktemp("explained")
    plan = a_runnable_plan(folder, blocks=1)
    plan.model.write_bytes(build_program(DELEGATED))
    (folder / "input_0.bin").write_bytes(bytes(4 * 3 * 8 * 8))
    run_scripted(plan)
    return plan.output_root


def test_a_model_of_somebody_else_is_explained_without_being_run(model: Path, capfd: Capture) -> None:
    before = sorted(model.parent.iterdir())
    assert main(["explain", str(model)]) == 0
    said = capfd.readouterr().out
    assert "somebody.pte, forward: 1 node in 1 partition, 0 operators outside of the delegate." in " ".join(
        said.split()
    )
    assert "3x3 convolution, fp32" in said
    assert max(map(len, said.splitlines())) <= 80
    assert sorted(model.parent.iterdir()) == before


def test_json_and_csv_have_every_node(model: Path, capfd: Capture) -> None:
    assert main(["explain", str(model), "--json"]) == 0
    content = json.loads(capfd.readouterr().out)
    assert content["schema_version"] == 1
    (explanation,) = content["explanations"]
    assert [node["type"] for node in explanation["nodes"]] == ["XNNConv2d"]
    assert main(["explain", str(model), "--csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capfd.readouterr().out))
    assert (row["method"], row["partition"], row["shapes"]) == (
        "forward", "0", "1x8x8x3 * 16x3x3x3 -> 1x4x4x16",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "read"),
    [("why.json", json.loads), ("why.csv", lambda text: list(csv.reader(io.StringIO(text)))[1]), ("why.txt", str)],
)
def test_out_writes_what_its_suffix_says(
    model: Path, tmp_path: Path, capfd: Capture, name: str, read: Callable[[str], object]
) -> None:
    assert main(["explain", str(model), "--out", str(tmp_path / name)]) == 0
    assert capfd.readouterr().out == f"{tmp_path / name}\n"
    assert read((tmp_path / name).read_text(encoding="utf-8"))


def test_every_method_is_explained_or_the_one_that_is_named(model: Path, capfd: Capture) -> None:
    model.write_bytes(build_program(replace(DELEGATED, name="encode"), Method("decode")))
    assert main(["explain", str(model)]) == 0
    said = capfd.readouterr().out
    assert "somebody.pte, encode: 1 node" in said
    assert "somebody.pte, decode: 0 nodes" in said
    assert main(["explain", str(model), "--method", "encode"]) == 0
    assert "decode" not in capfd.readouterr().out
    assert main(["explain", str(model), "--method", "encoder"]) == 2
    assert "encode" in capfd.readouterr().err


def test_a_run_is_explained_by_the_graph_in_the_model_that_ran(run: Path, capfd: Capture) -> None:
    assert main(["explain", str(run)]) == 0
    assert "model.pte, forward: 1 node in 1 partition" in capfd.readouterr().out
    assert main(["explain", str(run), "--method", "other"]) == 2
    assert "ran forward, not other" in capfd.readouterr().err


def test_the_same_from_python(model: Path) -> None:
    found = etprof.explain(model)
    assert [row["kind"] for row in found.groups()] == ["3x3 convolution"]
    assert found.nodes()[0]["type"] == "XNNConv2d"
    assert len(found.left_out()) == 0
    assert "3x3 convolution, fp32" in str(found)
    assert repr(found) == "<ModelExplanation somebody.pte forward>"
    assert isinstance(found.advice(), list)


def test_what_is_neither_a_model_nor_a_run_is_refused(tmp_path: Path, capfd: Capture) -> None:
    assert main(["explain", str(tmp_path)]) == 2
    assert "is not the folder of a run" in capfd.readouterr().err
    assert main(["explain", str(tmp_path / "none.pte")]) == 2
    assert "There is no model or run" in capfd.readouterr().err
    assert main(["explain"]) == 2
    (tmp_path / "text.pte").write_text("not a program, but long enough to be one")
    assert main(["explain", str(tmp_path / "text.pte")]) == 1


def test_rules_are_listed_and_told_without_a_model(capfd: Capture) -> None:
    assert main(["explain", "--rules"]) == 0
    first = capfd.readouterr().out.split()[0]
    assert main(["explain", "--rule", first]) == 0
    assert capfd.readouterr().out.startswith(f"{first}: ")
    assert main(["explain", "--rule", "no-such-rule"]) == 2


def test_a_run_is_explained_with_its_roofline_or_what_is_missing_for_it(
    run: Path, capfd: Capture, tmp_path: Path
) -> None:
    assert main(["explain", str(run)]) == 0
    assert "Not known: the work of the operators" in " ".join(capfd.readouterr().out.split())
    explained = explain_run(load_run(run))
    label, roofline = list_shown(with_roofline(tmp_path))[0]
    text = replace(explained, rooflines={label: roofline}, no_roofline="").render(80)
    assert roofline_sentence(label, roofline) in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
