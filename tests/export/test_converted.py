"""Programs of another runtime: of the same model as the export, checked before they are used, and made once."""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from conftest import ROOT
from etprof.analysis.operators.operator_statistics import collect_operators, describe_operators, find_unmatched_names
from etprof.core.digest import file_sha256
from etprof.core.errors import DependencyError, ExportError, UsageError
from etprof.core.layout import converted_log_path, converted_meta_path
from etprof.core.model import Artifact
from etprof.core.runtimes import ONNXRUNTIME
from etprof.export import converted, dependencies
from etprof.export.converted import Origin, convert, load_converted
from etprof.export.exporter import export_model
from etprof.export.request import ExportRequest
from etprof.traces.trace_file import read_trace
from parts import need
from runner_block import read_values, run_block, signal_to_noise_db
from shared_exports import MODELS, SharedExports


@pytest.fixture
def artifact(exported: SharedExports, tmp_path: Path) -> Artifact:
    """A copy of an export that was converted."""
    made = exported("toy_cnn")
    exported.converted(made)
    return copied(made, tmp_path)


def copied(artifact: Artifact, folder: Path) -> Artifact:
    place = folder / "artifacts"
    shutil.copytree(artifact.pte.parent, place)
    return replace(artifact, pte=place / artifact.pte.name)


def test_a_program_has_its_digest_its_accuracy_and_the_export_it_belongs_to(artifact: Artifact) -> None:
    program = artifact.pte.with_suffix(".onnx")
    found = load_converted(program)
    assert found is not None
    assert (found.program.file, found.program.bytes) == (program.name, program.stat().st_size)
    assert found.program.sha256 == file_sha256(program)
    assert found.pte == artifact.meta.pte
    assert found.weights_sha256 == artifact.meta.weights.sha256
    assert {"torch", "onnxruntime", "onnx", "onnxscript"} <= set(found.versions)
    worst = found.numerics.worst_snr_db
    assert worst is None or worst > 100
    assert found.numerics.floor_db == artifact.meta.numerics.floor_db


def test_it_names_no_place_of_this_machine(artifact: Artifact) -> None:
    content = artifact.pte.with_suffix(".onnx").read_bytes()
    assert str(ROOT).encode() not in content
    assert b"site-packages" not in content


def test_what_is_current_is_kept_and_anything_else_is_made_again(artifact: Artifact) -> None:
    program = artifact.pte.with_suffix(".onnx")
    stages: list[str] = []
    assert convert(artifact, ONNXRUNTIME, progress=stages.append) == program
    assert stages == []
    program.write_bytes(program.read_bytes() + b"\0")
    convert(artifact, ONNXRUNTIME, progress=stages.append)
    assert stages == ["converting"]
    assert not list(program.parent.glob(".*partial*"))
    meta = json.loads(converted_meta_path(program).read_text())
    meta["pte"]["sha256"] = "0" * 64
    converted_meta_path(program).write_text(json.dumps(meta))
    assert converted._is_current(program, artifact, meta["versions"]) is False


@pytest.mark.exhaustive
def test_a_new_export_removes_what_was_made_from_the_old_one(artifact: Artifact) -> None:
    export_model(ExportRequest("toy_cnn", outdir=artifact.pte.parent, seed=1, models_dir=MODELS))
    assert not artifact.pte.with_suffix(".onnx").exists()
    assert not converted_meta_path(artifact.pte.with_suffix(".onnx")).exists()


@pytest.mark.exhaustive
def test_fp16_is_the_same_model_in_half_precision(exported: SharedExports) -> None:
    made = exported("toy_cnn", "fp16")
    found = load_converted(exported.converted(made))
    assert found is not None
    assert found.precision == "fp16"
    assert found.numerics.worst_snr_db is not None
    assert found.numerics.worst_snr_db > 40
    fp32 = exported.converted(exported("toy_cnn"))
    assert found.program.bytes < 0.7 * fp32.stat().st_size


def test_a_quantised_export_is_refused_with_the_reason(exported: SharedExports) -> None:
    meta = replace(exported("toy_cnn").meta, quantization={"scheme": "static"})
    with pytest.raises(UsageError, match="quantised as XNNPACK computes it") as caught:
        convert(Artifact(Path("x.pte"), meta), ONNXRUNTIME)
    assert "fp32 or fp16" in caught.value.hint


def test_other_code_or_weights_than_those_of_the_export_are_refused(artifact: Artifact) -> None:
    artifact.pte.with_suffix(".onnx").unlink()
    weights = replace(artifact.meta.weights, sha256="0" * 64)
    with pytest.raises(UsageError, match="The weights of 'toy_cnn' are not those of"):
        convert(replace(artifact, meta=replace(artifact.meta, weights=weights)), ONNXRUNTIME)
    source = replace(artifact.meta.model_source, sha256="0" * 64)
    with pytest.raises(UsageError, match="The code of 'toy_cnn' is not that which"):
        convert(replace(artifact, meta=replace(artifact.meta, model_source=source)), ONNXRUNTIME)
    weights = replace(artifact.meta.weights, source="checkpoint", file="w.pt")
    with pytest.raises(UsageError, match=r"has the weights of w\.pt, which is needed once more") as caught:
        convert(replace(artifact, meta=replace(artifact.meta, weights=weights)), ONNXRUNTIME)
    assert "--checkpoint w.pt --runtimes RUNTIME" in caught.value.hint


def test_what_computes_something_else_is_not_written_and_the_log_is_named(artifact: Artifact) -> None:
    program = artifact.pte.with_suffix(".onnx")
    program.unlink()
    numerics = replace(artifact.meta.numerics, floor_db=1000.0)
    with pytest.raises(ExportError, match="What ONNX Runtime computes does not match the eager model") as caught:
        convert(replace(artifact, meta=replace(artifact.meta, numerics=numerics)), ONNXRUNTIME)
    assert not program.exists()
    assert str(converted_log_path(program)) in caught.value.hint
    assert converted_log_path(program).is_file()


def test_without_the_packages_the_command_that_installs_them_is_named(
    artifact: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependencies, "installed_version", lambda name: None)
    with pytest.raises(DependencyError, match="Running a model with ONNX Runtime needs onnxruntime") as caught:
        convert(artifact, ONNXRUNTIME, Origin())
    assert caught.value.hint.startswith("Run: pip install onnxruntime==")


STATE = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, rows):
            self.count.add_(1.0)
            return rows + self.count

    class Model(EagerModelBase):
        def get_eager_model(self):
            return Net()

        def get_example_inputs(self):
            return (torch.randn(4, 8),)
"""
DYNAMIC = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 3)

        def forward(self, rows, *, scale):
            return self.layer(rows) * scale, rows.sum(0)

    class Model(EagerModelBase):
        def get_eager_model(self):
            return Net()

        def get_example_inputs(self):
            return (torch.randn(4, 8),)

        def get_example_kwarg_inputs(self):
            return {"scale": torch.randn(1)}

        def get_dynamic_shapes(self):
            return {"rows": {0: torch.export.Dim("rows", min=1, max=16)}, "scale": None}
"""


def export_own(folder: Path) -> Artifact:
    return export_model(ExportRequest("own", models_dir=folder, outdir=folder.parent / "out"))


@pytest.mark.exhaustive
def test_a_model_that_keeps_state_is_refused(write_model: Callable[[str, str], Path], models_dir: Path) -> None:
    need_packages()
    write_model("own", STATE)
    with pytest.raises(UsageError, match="'own' keeps state between inferences"):
        convert(export_own(models_dir), ONNXRUNTIME)


@pytest.mark.exhaustive
def test_shapes_stay_dynamic_and_inputs_are_in_the_order_of_the_export(
    write_model: Callable[[str, str], Path], models_dir: Path, tmp_path: Path
) -> None:
    need_packages()
    write_model("own", DYNAMIC)
    artifact = export_own(models_dir)
    program = convert(artifact, ONNXRUNTIME)
    block = run_block(
        (sys.executable, "-m", "etprof.runner.onnxruntime_runner"), program, tmp_path / "block",
        "--inputs", "", "--input_shapes", "7x8,1",
    )  # fmt: skip
    assert block.exit_code == 0, block.stderr
    assert [output["shape"] for output in block.result["outputs"]] == [[7, 3], [8]]
    assert block.output(1).tolist() == [7.0] * 8
    block = run_block(
        (sys.executable, "-m", "etprof.runner.onnxruntime_runner"), program, tmp_path / "own", "--input_shapes", "4x8,1"
    )
    expected = [read_values(artifact.pte.parent / each.file, each.dtype) for each in artifact.meta.reference]
    assert block.exit_code == 0, block.stderr
    assert all(signal_to_noise_db(each, block.output(index)) > 100 for index, each in enumerate(expected))


@pytest.mark.exhaustive
def test_a_model_of_the_repository_is_converted_and_all_of_its_operators_are_known(
    exported: SharedExports, tmp_path: Path
) -> None:
    program = exported.converted(exported("mobilenet_v3_small"))
    found = load_converted(program)
    assert found is not None
    assert found.numerics.worst_snr_db is None or found.numerics.worst_snr_db > 80
    block = run_block(
        (sys.executable, "-m", "etprof.runner.onnxruntime_runner"), program, tmp_path, "--traced_executions", "2"
    )
    assert block.exit_code == 0, block.stderr
    trace = read_trace(block.etdump.rename(tmp_path / "block.ortprofile"))
    assert find_unmatched_names([trace]) == ()
    kinds = {row.row.subcategory for row in describe_operators(collect_operators([trace]), 1)}
    assert {"depthwise", "pointwise", "matrix multiply"} <= kinds


def need_packages() -> None:
    need(find_spec("onnxruntime") and find_spec("onnx") and find_spec("onnxscript"), "ONNX Runtime is not installed")
