"""Two models measured in one run and judged: by the interval of their time, and by their SNR."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from etprof.app.gate import check_measured
from etprof.app.reporting import analyze_measured
from etprof.core.plan import Plan
from etprof.core.regression import Outcome, RegressionCheck
from etprof.reports import check_summary
from model_files import EAGER, a_device_for_models, a_model_file, a_plan_of_models
from scripted_device import run_scripted

# Against the eager outputs: 49.1 dB, and 24.4 dB.
CLOSE, ROUGH = "eager__`", "eager__p"


def a_plan(
    folder: Path, *, blocks: int = 3, old: str = EAGER, new: str = EAGER, eager: str = EAGER, **new_meta: Any
) -> Plan:
    models = {
        "old": a_model_file(folder / "old", "net", eager=eager),
        "new": a_model_file(folder / "new", "net", eager=eager, **new_meta),
    }
    return a_plan_of_models(models, folder / "run", blocks=blocks, old=old, new=new)


def check(plan: Plan, new_ms: float = 4.0, within: float | None = None) -> RegressionCheck:
    measured = run_scripted(plan, a_device_for_models({"old": 4.0, "new": new_ms}))
    return check_measured(analyze_measured(measured), 0.05, within)


def test_a_model_that_is_as_fast_passes_and_one_that_is_slower_fails(tmp_path: Path) -> None:
    same = check(a_plan(tmp_path / "same"))
    assert same.outcome is Outcome.PASS
    assert same.variants[0].label == "1 thread"
    assert (same.known_good, same.run) == (str(tmp_path / "same/old/net.pte"), str(tmp_path / "same/new/net.pte"))
    slower = check(a_plan(tmp_path / "slower"), new_ms=4.4)
    assert slower.outcome is Outcome.FAIL
    assert slower.variants[0].slowdown is not None
    assert slower.variants[0].slowdown.value == pytest.approx(0.1, rel=0.01)
    assert "SNR against the eager model" in check_summary.render(slower)


def test_too_few_blocks_decide_nothing(tmp_path: Path) -> None:
    result = check(a_plan(tmp_path, blocks=2))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "2 blocks are too few" in result.variants[0].reason


def test_outputs_are_judged_by_what_the_old_model_reached_or_its_precision_allows(tmp_path: Path) -> None:
    lost = check(a_plan(tmp_path / "lost", old=CLOSE, new=ROUGH))
    assert lost.outcome is Outcome.FAIL
    assert lost.failures == (
        "1 thread: the outputs have 24.4 dB of SNR against the eager model, those of the known-good model 49.1 dB; "
        "at least 48.1 dB is expected.",
    )
    kept = check(a_plan(tmp_path / "kept", old=ROUGH, new=ROUGH))
    assert kept.outcome is Outcome.PASS
    assert kept.variants[0].least_snr_db == pytest.approx(23.4, abs=0.1)
    assert "24.4 dB to 24.4 dB" in check_summary.render(kept)


def test_another_precision_is_another_model_unless_the_tolerance_is_stated(tmp_path: Path) -> None:
    plan = a_plan(tmp_path, new=ROUGH, precision="q8")
    changed = check(plan)
    assert "precision changed from fp32 to q8" in changed.failures[0]
    stated = check(replace(plan, output_root=tmp_path / "again"), within=0.1)
    assert (stated.outcome, stated.failures) == (Outcome.PASS, ())
    assert stated.variants[0].least_snr_db == pytest.approx(20)


def test_without_the_eager_outputs_those_of_the_old_model_are_the_measure(tmp_path: Path) -> None:
    same = check(a_plan(tmp_path / "same", eager=""))
    assert (same.outcome, same.variants[0].output_difference) == (Outcome.PASS, 0.0)
    other = check(a_plan(tmp_path / "other", eager="", new=ROUGH))
    assert "the outputs differ from the known-good ones by 0.15 of the largest value" in other.failures[0]


def test_a_model_that_fails_fails_the_check(tmp_path: Path) -> None:
    plan = a_plan(tmp_path)
    broken = replace(plan.experiments[1], extra_args=("--behave", "refuse"))
    result = check(replace(plan, experiments=(plan.experiments[0], broken)))
    assert result.outcome is Outcome.FAIL
    assert "2 of 2 blocks of new_t1 failed" in result.failures[0]
