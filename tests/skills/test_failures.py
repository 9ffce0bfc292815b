"""The failures of the users' documents, each brought about: what is printed is what the skill's table has."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_loaded_run, a_session, an_export_meta, paired_results
from conftest import ROOT
from etprof.analysis.report import build_report
from etprof.app.device_parts import RunnerParts
from etprof.app.runs import validate_run
from etprof.core.errors import EtprofError
from etprof.core.findings import FindingKind
from etprof.core.plan import Plan
from etprof.devices.local import LocalDevice
from etprof.export.request import ExportRequest, Quantization
from scripted_device import a_runnable_plan, run_scripted, scripted_device
from stock_runner import make_stock_runner

SKILL = ROOT / "agent_skill_ml_profiling/04_run_profiling.md"


def fail(plan: Plan) -> str:
    """What a run that is refused says."""
    with pytest.raises(EtprofError) as caught:
        run_scripted(plan)
    return caught.value.message


def runner_not_found(plan: Plan) -> str:
    missing = tuple(replace(e, runner_path=Path("no/executor_runner"), hide_isa=()) for e in plan.experiments)
    return fail(replace(plan, experiments=missing))


def model_not_found(plan: Plan) -> str:
    return fail(replace(plan, model=Path("out_toy_cnn/artifacts/toy_cnn_xnnpack_fp16.pte")))


def permission_denied(plan: Plan) -> str:
    runner = make_stock_runner(plan.model.with_name("executor_runner"))
    runner.chmod(0o644)
    experiment = replace(plan.experiments[1], runner_path=runner, extra_args=())
    device = LocalDevice(
        lambda job: [str(runner), *RunnerParts().named_runner_flags(runner, job)], scripted_device().info
    )
    session = run_scripted(replace(plan, experiments=(experiment,), pairs=()), device).session
    return session.results[0].error


def empty_etdump(plan: Plan) -> str:
    run_scripted(plan)
    (plan.output_root / "on/on_t1.etdump").write_bytes(b"")
    (problem,) = validate_run(plan.output_root, deep=False)
    return problem


def build_mismatch(plan: Plan) -> str:
    results = tuple(replace(r, executorch_version="1.5.1") for r in paired_results([4.0] * 3, [2.0] * 3))
    meta = an_export_meta(versions={"executorch": "1.4.0"})
    run = a_loaded_run(a_session(plan, results, export_meta=meta))
    kinds = [finding.kind for finding in build_report(run, title="t", created_at="now").findings]
    assert FindingKind.VERSIONS_DIFFER in kinds
    return f"a finding {FindingKind.VERSIONS_DIFFER.value}"


@pytest.mark.parametrize(
    ("provoke", "row"),
    [
        (runner_not_found, "There is no runner ..."),
        (model_not_found, "There is no model ..."),
        (permission_denied, "... cannot be started: Permission denied"),
        (empty_etdump, "... is empty"),
        (build_mismatch, "a finding versions differ"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_each_failure_of_the_documents_reads_as_in_the_table(
    provoke: Callable[[Plan], str], row: str, tmp_path: Path
) -> None:
    table = SKILL.read_text(encoding="utf-8").split("## When it fails")[1].split("\n## ")[0].replace("`", "")
    assert f"\n| {row} | " in table
    said = provoke(a_runnable_plan(tmp_path, blocks=1))
    assert re.search(re.escape(row).replace(r"\.\.\.", ".*"), said), said


def test_the_skill_has_the_sections_of_the_documents() -> None:
    text = SKILL.read_text(encoding="utf-8")
    for title in (
        "Prerequisites", "Runner selection guide", "Commands", "Verification", "When it fails", "Best practices",
        "Checklist", "References", "Assets", "Next skill",
    ):  # fmt: skip
        assert f"\n## {title}\n" in text
    assert (SKILL.parent / "references/kernel-tracing.md").is_file()
    assert "(05_analyze_results.md)" in text.partition("\n## Next skill\n")[2]


def test_the_skill_for_exports_says_how_an_int8_file_is_called() -> None:
    text = SKILL.with_name("03_export_model.md").read_text(encoding="utf-8")
    commands = text.partition("\n## Commands\n")[2].partition("\n## ")[0]
    assert "`--quantize`" in commands
    assert ExportRequest("m", quantization=Quantization()).stem.endswith("_q8")
    assert "`q8` in" in commands
