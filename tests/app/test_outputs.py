"""Outputs of a run: kept once, compared by what they are, and found in the report where they cannot be."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.app.measuring import replay
from etprof.app.reporting import analyze_measured
from etprof.app.runs import load_run, validate_run
from etprof.core.errors import RunnerError, TraceError
from etprof.core.findings import FindingKind
from etprof.core.plan import Plan
from etprof.core.report import Report
from program_builder import FLOAT32, Method, Tensor, build_program
from scripted_device import Witness, a_runnable_plan, run_scripted


def behaving(plan: Plan, *, off: str = "", on: str = "") -> Plan:
    """The plan with further arguments for the scripted runner of each variant."""
    more = {"off": off, "on": on}
    experiments = tuple(replace(e, extra_args=(*e.extra_args, *more[e.name].split())) for e in plan.experiments)
    return replace(plan, experiments=experiments)


def kept(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/*.outputs/*"))


def report_of(plan: Plan) -> Report:
    return analyze_measured(run_scripted(plan)).report


def kinds(report: Report) -> set[FindingKind]:
    return {finding.kind for finding in report.findings}


def test_the_same_outputs_are_stored_once_and_every_block_names_them(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=3)
    session = run_scripted(plan).session
    assert kept(plan.output_root) == ["off/off_t1.outputs/output_0.bin"]
    assert {o.file for r in session.results for o in r.outputs} == {"off/off_t1.outputs/output_0.bin"}
    assert all(len(r.outputs[0].sha256) == 64 for r in session.results)
    assert list(plan.output_root.glob("on/*.outputs")) == []
    assert validate_run(plan.output_root, deep=True) == []
    assert load_run(plan.output_root).variants[1].outputs is not None


def test_a_variant_with_other_outputs_keeps_them_and_is_found(tmp_path: Path) -> None:
    plan = behaving(a_runnable_plan(tmp_path, blocks=2), on="--output other")
    report = report_of(plan)
    assert kept(plan.output_root) == ["off/off_t1.outputs/output_0.bin", "on/on_t1.outputs/output_0.bin"]
    assert FindingKind.OUTPUTS_DIFFER in kinds(report)


def test_a_block_whose_outputs_differ_from_its_variants_first_is_found_and_keeps_them(tmp_path: Path) -> None:
    plan = behaving(a_runnable_plan(tmp_path, blocks=3), on="--output_of_b2 other")
    report = report_of(plan)
    assert kept(plan.output_root) == ["off/off_t1.outputs/output_0.bin", "on/on_t1_b2.outputs/output_0.bin"]
    (finding,) = [f for f in report.findings if f.kind is FindingKind.OUTPUTS_VARY]
    assert finding.message.startswith("on, 1 thread: 1 of 3 blocks gave other outputs than the first")


def test_a_run_with_shared_outputs_is_replayed_and_shares_them_again(tmp_path: Path) -> None:
    plan = behaving(a_runnable_plan(tmp_path, blocks=2), off="--twin_output yes", on="--twin_output yes")
    recorded = run_scripted(plan).session
    again = replay(plan.output_root, tmp_path / "again", Witness(), force=False, command="test").session
    assert [r.outputs for r in again.results] == [r.outputs for r in recorded.results]
    assert kept(tmp_path / "again") == kept(plan.output_root) == ["off/off_t1.outputs/output_0.bin"]
    assert validate_run(tmp_path / "again", deep=True) == []


def test_a_run_that_is_resumed_shares_outputs_with_the_blocks_before(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=3)
    run_scripted(plan)
    session = run_scripted(plan, resume=True).session
    assert len(session.results) == 6
    assert validate_run(plan.output_root, deep=True) == []


def test_outputs_of_a_failed_block_are_not_what_others_share(tmp_path: Path) -> None:
    plan = behaving(a_runnable_plan(tmp_path, blocks=2, off="short trace"))
    session = run_scripted(plan).session
    assert {o.file for r in session.results if r.is_ok for o in r.outputs} == {"on/on_t1.outputs/output_0.bin"}


def test_outputs_that_are_no_numbers_are_listed_as_not_compared(tmp_path: Path) -> None:
    plan = behaving(a_runnable_plan(tmp_path, blocks=2), off="--output_type string", on="--output_type string")
    report = report_of(plan)
    (finding,) = [f for f in report.findings if f.kind is FindingKind.OUTPUTS_NOT_COMPARED]
    assert finding.message == "off, 1 thread; on, 1 thread: not compared, since not numbers: output 0 (string)."
    assert report.comparisons[0].output_difference is None


def test_a_model_that_keeps_state_is_named_with_its_method(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    values = (Tensor((1, 8), FLOAT32, name="cache"), Tensor((5,)), Tensor((2,)))
    plan.model.write_bytes(build_program(Method(values=values, inputs=(1,), outputs=(2,))))
    report = report_of(plan)
    (finding,) = [f for f in report.findings if f.kind is FindingKind.KEEPS_STATE]
    assert "in 1 tensor: cache, float32 [1, 8]." in finding.message
    assert report.context["method"] == "forward"


def test_a_program_that_the_first_block_cannot_load_ends_the_run_with_one_sentence(tmp_path: Path) -> None:
    plan, witness = a_runnable_plan(tmp_path, on="cannot load", off="cannot load", blocks=6), Witness()
    for _ in range(2):
        # The second try meets the folder of the first.
        with pytest.raises(RunnerError, match=r"No block can run .*model.pte: The backend is not registered"):
            run_scripted(plan, witness=witness)
    assert len(witness.started) == 2
    assert run_scripted(a_runnable_plan(tmp_path, blocks=1)).session.results


def test_a_file_that_is_no_program_is_refused_before_the_first_block(tmp_path: Path) -> None:
    plan, witness = a_runnable_plan(tmp_path), Witness()
    plan.model.write_bytes(b"model")
    with pytest.raises(TraceError, match="is not an ExecuTorch program"):
        run_scripted(plan, witness=witness)
    assert (witness.started, plan.output_root.exists()) == ([], False)
