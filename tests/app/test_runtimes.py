"""ONNX Runtime beside ExecuTorch in one run: interleaved, with the same threads, and read into the same tables."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.app.devices import DeviceRequest
from etprof.app.measuring import replay
from etprof.app.plans import add_sampled_variants
from etprof.app.profiling import RunOptions, run_on
from etprof.app.program_checks import settle_plan
from etprof.app.reporting import analyze, write_report
from etprof.app.runs import validate_run
from etprof.app.runtimes import add_program, choose_runtimes, require_runtime
from etprof.core.errors import DependencyError, UnknownNameError, UsageError
from etprof.core.findings import FindingKind
from etprof.core.plan import TRACE, Experiment, Pair, Plan, Schedule, Variant
from etprof.core.runtimes import EXECUTORCH, ONNXRUNTIME
from etprof.export import dependencies
from etprof.export.request import ExportRequest
from etprof.runner.toolchain import compiler_path
from etprof.store.session_file import load_session
from parts import need
from scripted_device import Witness
from shared_exports import MODELS, SharedExports


def a_plan(pte: Path, folder: Path, **of_ort: object) -> Plan:
    et = Experiment("et", threads=(2,), runs=5, traced_runs=3)
    ort = replace(et, name="ort", runtime=ONNXRUNTIME, **of_ort)  # type: ignore[arg-type]
    schedule = Schedule(blocks=3, max_blocks=3, retries=0)
    return Plan(pte, folder, (et, ort), (Pair("et", "ort"),), schedule)


@pytest.fixture(scope="module")
def model(exported: SharedExports) -> Path:
    made = exported("toy_cnn")
    exported.converted(made)
    return made.pte


@pytest.fixture(scope="module")
def measured(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of both, made once."""
    need(compiler_path(), "there is no C++ compiler")
    folder = tmp_path_factory.mktemp("runtimes") / "run"
    run_on(DeviceRequest("local"), a_plan(model, folder), Witness(), RunOptions("etprof run"))
    return folder


@pytest.mark.alone
def test_both_runtimes_are_measured_in_one_schedule(measured: Path, model: Path) -> None:
    session = load_session(measured)
    assert [(r.experiment, r.index) for r in session.results if r.is_ok] != sorted(
        (r.experiment, r.index) for r in session.results
    ), "interleaved"
    assert len(session.results) == 6
    assert all(r.is_ok for r in session.results), [r.error for r in session.results]
    assert {(r.experiment, r.runner, r.threads_in_force) for r in session.results} == {
        ("et", "native", 2), ("ort", "onnxruntime", 2),
    }  # fmt: skip
    assert len({r.cpu_affinity for r in session.results}) == 1
    ours, theirs = session.programs
    assert (ours.program.model, theirs.program.model) == (model, model.with_suffix(".onnx"))
    assert theirs.program.inputs == ours.program.inputs
    assert theirs.file_bytes == model.with_suffix(".onnx").stat().st_size
    assert any("graph optimisation level ORT_ENABLE_ALL" in note for note in session.notes)
    assert session.versions["onnxruntime"]
    assert {name for name in session.runner_sha256 if name.startswith("onnxruntime")}


@pytest.mark.alone
def test_its_operators_are_in_the_same_tables_and_its_accuracy_is_known(measured: Path) -> None:
    report = analyze(measured).report
    _, theirs = report.variants
    assert theirs.program is not None
    assert theirs.program.runtime == ONNXRUNTIME
    assert theirs.program.exact or (theirs.program.snr_db or 0) > 100
    assert theirs.unmatched_names == ()
    assert theirs.accounting is not None
    assert sum(row.total_ns for row in theirs.categories) == theirs.accounting.end_to_end_ns
    compute = {row.name for row in theirs.operators if row.category in ("Convolution", "GEMM")}
    assert compute
    assert all("(ONNX, F32)" in name for name in compute)
    (comparison,) = report.comparisons
    assert comparison.speedup is not None
    assert comparison.operators == ()
    assert {change.name for change in comparison.categories} >= {"Convolution", "GEMM"}
    kinds = [finding.kind for finding in report.findings]
    assert FindingKind.RUNTIMES_DIFFER in kinds
    assert FindingKind.NOT_SAMPLED not in kinds
    assert FindingKind.UNKNOWN_OPERATORS not in kinds


@pytest.mark.alone
def test_the_run_is_valid_can_be_replayed_and_reported(measured: Path, tmp_path: Path) -> None:
    write_report(analyze(measured))
    assert validate_run(measured, deep=True) == []
    assert (measured / "ort" / "ort_t2_b3.ortprofile").is_file()
    assert "ONNX Runtime" in (measured / "report.md").read_text(encoding="utf-8")
    again = replay(measured, tmp_path / "again", Witness(), force=False, command="etprof run").session
    assert [r.latency_ns for r in again.results] == [r.latency_ns for r in load_session(measured).results]
    assert len(analyze(tmp_path / "again").run.of(Variant("ort", 2)).traces) == 3


@pytest.mark.alone
def test_a_run_that_is_resumed_needs_no_new_program(measured: Path, model: Path) -> None:
    before = model.with_suffix(".onnx").stat().st_mtime_ns
    done = run_on(
        DeviceRequest("local"), a_plan(model, measured), Witness(), RunOptions("etprof run --resume", resume=True)
    )
    assert len(done.session.results) == 6
    assert model.with_suffix(".onnx").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hide_isa": ("avx512",)}, "ort: ONNX Runtime cannot hide avx512."),
        ({"runner_path": Path("runner")}, "ort: ONNX Runtime cannot use another runner."),
        ({"mode": TRACE}, "ort: ONNX Runtime cannot be sampled for its kernels."),
    ],
)
def test_what_only_our_runners_of_executorch_can_do_is_refused(
    model: Path, tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        settle_plan(a_plan(model, tmp_path / "run", **changes))
    assert caught.value.message == said
    assert caught.value.hint.startswith("Omit ")


def test_the_onnx_program_of_an_export_may_be_named_too(model: Path, tmp_path: Path) -> None:
    plan = a_plan(model, tmp_path / "run", model=model.with_suffix(".onnx"))
    assert [each.record.program.model.name for each in settle_plan(plan)] == [
        "toy_cnn_xnnpack_fp32.pte",
        "toy_cnn_xnnpack_fp32.onnx",
    ]


def test_a_model_that_was_not_exported_by_us_is_refused(model: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.pte"
    foreign.write_bytes(model.read_bytes())
    with pytest.raises(UsageError, match=r"foreign\.pte cannot be converted to ONNX Runtime: there is no") as caught:
        settle_plan(a_plan(foreign, tmp_path / "run"))
    assert "etprof export" in caught.value.hint
    (tmp_path / "other.onnx").write_bytes(b"onnx")
    with pytest.raises(UsageError, match=r"other\.onnx cannot be run with ONNX Runtime: there is no export"):
        settle_plan(a_plan(model, tmp_path / "run", model=tmp_path / "other.onnx"))


@pytest.mark.parametrize("device", ["emulated", "ssh", "android"])
def test_it_runs_on_this_machine_only(tmp_path: Path, device: str) -> None:
    plan = a_plan(tmp_path / "model.pte", tmp_path / "run")
    with pytest.raises(UsageError, match="ort: ONNX Runtime runs models on local devices only"):
        run_on(DeviceRequest(device, "nobody@nowhere"), plan, Witness(), RunOptions("etprof run"))


def test_kernels_are_sampled_of_executorch_only(tmp_path: Path) -> None:
    plan = a_plan(tmp_path / "model.pte", tmp_path / "run")
    assert [each.name for each in add_sampled_variants(plan).experiments] == ["et", "ort", "et_kernels"]
    alone = replace(plan, experiments=plan.experiments[1:], pairs=())
    with pytest.raises(UsageError, match="The kernels of ort cannot be sampled: it runs with ONNX Runtime"):
        add_sampled_variants(alone)


def test_a_runtime_that_is_not_there_is_answered_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    require_runtime(EXECUTORCH)
    with pytest.raises(UnknownNameError, match="no runtime called 'onnx'"):
        require_runtime("onnx")
    monkeypatch.setattr(dependencies, "installed_version", lambda name: None)
    with pytest.raises(DependencyError) as caught:
        require_runtime(ONNXRUNTIME)
    assert caught.value.hint.startswith("Run: pip install onnxruntime==")


def test_an_export_has_a_program_for_each_runtime(exported: SharedExports, model: Path) -> None:
    artifact, request = exported("toy_cnn"), ExportRequest("toy_cnn", outdir=model.parent, models_dir=MODELS)
    assert add_program(artifact, request, EXECUTORCH) == model
    assert add_program(artifact, request, ONNXRUNTIME) == model.with_suffix(".onnx")
    assert choose_runtimes("executorch, onnxruntime,executorch") == (EXECUTORCH, ONNXRUNTIME)
