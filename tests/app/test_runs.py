"""Runs read from their folders: every variant with what it left, and each kind of gap and damage in words."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import ROOT
from etprof.app.runs import build_run, load_partial_run, load_run, validate_run
from etprof.core.errors import EtprofError, StoreError, TraceError
from etprof.core.graph import ModelGraph
from etprof.core.plan import TRACE, Plan, Variant
from etprof.core.run import Session
from etprof.export.graph_file import load_graph, save_graph
from etprof.runner.build import ensure_runner
from etprof.runner.toolchain import compiler_path
from etprof.store.session_file import load_session, save_session
from parts import need
from scripted_device import a_runnable_plan, copy_run, run_scripted
from trace_builder import recorded_graph

OFF, ON = Variant("off", 1), Variant("on", 1)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    plan = a_runnable_plan(tmp_path_factory.mktemp("measured"), blocks=2)
    run_scripted(plan)
    return plan


@pytest.fixture
def plan(measured: Plan, tmp_path: Path) -> Plan:
    """The plan of a run of two rounds that is in its folder."""
    return copy_run(measured, tmp_path)


def test_every_variant_has_its_results_traces_and_outputs(plan: Plan) -> None:
    run = load_run(plan.output_root)
    assert (run.folder, run.session) == (plan.output_root, load_session(plan.output_root))
    assert [each.variant for each in run.variants] == [OFF, ON]
    for each in run.variants:
        assert [r.variant for r in each.results] == [each.variant] * 2
        assert [trace.run_count for trace in each.traces] == [2, 2]
        assert each.outputs is not None
        assert [values is not None and len(values) for values in each.outputs] == [2]
        assert (each.sampled, each.method) == ((), "forward")
        assert each.graph == ModelGraph("model", (), ()), "what the program itself holds, which makes no call"
    # The hidden variant takes twice as long, in its traces as well.
    ends = [each.traces[0].duration_ns.max() for each in run.variants]
    assert ends[0] == 2 * ends[1]


def test_samples_come_with_the_trace_that_was_recorded_beside_them(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=2)
    run_scripted(replace(plan, experiments=tuple(replace(e, mode=TRACE) for e in plan.experiments)))
    variant = load_run(plan.output_root).of(ON)
    assert [len(block.samples) for block in variant.sampled] == [60, 60]
    assert [block.trace for block in variant.sampled] == list(variant.traces)


def test_the_models_graph_is_shared_by_variants_and_runs_and_read_again_when_it_changed(
    plan: Plan, tmp_path: Path
) -> None:
    path = tmp_path / "model.graph.json"
    save_graph(path, recorded_graph("small_cnn"))
    graphs = {id(each.graph) for _ in range(2) for each in load_run(plan.output_root).variants}
    assert len(graphs) == 1
    assert load_run(plan.output_root).of(ON).graph == load_graph(path)
    save_graph(path, recorded_graph("transformer"))
    assert load_run(plan.output_root).of(ON).graph == load_graph(path)


def test_traces_that_were_read_while_measuring_are_not_read_again(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    measured = run_scripted(plan)
    for path in plan.output_root.glob("*/*.etdump"):
        path.unlink()
    run = build_run(plan.output_root, measured.session, measured.traces)
    assert run.of(ON).traces == (measured.traces["on/on_t1.etdump"],)
    with pytest.raises(TraceError, match="There is no trace at"):
        build_run(plan.output_root, measured.session)


def test_a_run_without_a_successful_block_is_refused(plan: Plan) -> None:
    session = load_session(plan.output_root)
    save_session(plan.output_root, replace(session, results=tuple(replace(r, error="no") for r in session.results)))
    with pytest.raises(EtprofError, match="holds no successful block") as caught:
        load_run(plan.output_root)
    assert caught.value.hint


def test_a_folder_that_holds_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"manifest\.json"):
        load_run(tmp_path)


def test_a_partial_run_has_what_was_kept_of_it(plan: Plan, tmp_path: Path) -> None:
    whole = load_partial_run(plan.output_root)
    assert len(whole.of(ON).traces) == 2
    assert whole.of(ON).outputs is not None
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in ("manifest.json", "metrics.json"):
        shutil.copy(plan.output_root / name, kept / name)
    partial = load_partial_run(kept)
    assert [len(each.results) for each in partial.variants] == [2, 2]
    assert {(each.traces, each.outputs) for each in partial.variants} == {((), None)}
    with pytest.raises(TraceError, match="There is no trace at"):
        load_run(kept)


def test_a_trace_that_was_damaged_later_is_one_sentence(plan: Plan) -> None:
    (plan.output_root / "on/on_t1.etdump").write_bytes(b"\0" * 64)
    with pytest.raises(TraceError, match=r"on_t1\.etdump"):
        load_run(plan.output_root)


def test_only_a_deep_validation_opens_the_traces(plan: Plan) -> None:
    (plan.output_root / "on/on_t1.etdump").write_bytes(b"\0" * 64)
    assert validate_run(plan.output_root, deep=False) == []
    (problem,) = validate_run(plan.output_root, deep=True)
    assert "on_t1.etdump" in problem


def test_a_real_run_is_valid_and_names_no_path_of_this_machine(real_run: Session) -> None:
    folder = real_run.plan.output_root
    assert validate_run(folder, deep=True) == []
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".etdump":
            assert str(ROOT).encode() not in path.read_bytes(), path
            assert str(Path.home()).encode() + b"/" not in path.read_bytes(), path


@pytest.mark.parametrize(
    "at",
    [
        pytest.param("manifest.json", id="before the first block", marks=pytest.mark.exhaustive),
        pytest.param("one/one_t1.log", id="in the first block", marks=pytest.mark.exhaustive),
        pytest.param("other/other_t1.result.json", id="after a block", marks=pytest.mark.exhaustive),
        pytest.param("one/one_t1_b3.etdump", id="in a later block"),
    ],
)
def test_a_killed_run_is_explained_by_validate_and_finished_by_resume(toy_cnn: Path, tmp_path: Path, at: str) -> None:
    need(compiler_path(), "there is no C++ compiler")
    ensure_runner()
    config = tmp_path / "plan.json"
    plan = {
        "model": str(toy_cnn / "toy_cnn_xnnpack_fp32.pte"),
        "output_root": str(tmp_path / "run"),
        "experiments": [{"name": "one", "runs": 40}, {"name": "other", "runs": 40}],
        "schedule": {"blocks": 8, "retries": 0},
    }
    config.write_text(json.dumps(plan))
    command = [sys.executable, "-m", "etprof", "run", "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "run" / at).exists():
            assert time.monotonic() < deadline
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.001)
        process.kill()
    problems = validate_run(tmp_path / "run", deep=True)
    assert any("interrupted" in problem or "No block was run" in problem for problem in problems)
    finished = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stderr
    assert validate_run(tmp_path / "run", deep=True) == []
    assert len(load_session(tmp_path / "run").results) == 16
