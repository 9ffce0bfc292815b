"""Cores asked for by mask, by list and by cluster name."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import a_device_info
from etprof.core.errors import PlanError, UsageError
from etprof.core.plan import Experiment
from etprof.core.run import Cluster
from etprof.pipeline import run_plan
from etprof.store.plan_file import build_plan
from scripted_device import Witness, a_runnable_plan, scripted_device


def experiment_with(cores: Any) -> Experiment:
    plan = {"model": "m.pte", "output_root": "run", "experiments": [{"name": "on", "cpu_affinity": cores}]}
    return build_plan(plan, "plan.json").experiments[0]


@pytest.mark.parametrize(
    ("written", "cores"),
    [([4, 5], (4, 5)), (3, (3,)), ("0xf0", (4, 5, 6, 7)), ("0,4-6", (0, 4, 5, 6)), ("7", (7,)), ([], ())],
)
def test_cores_can_be_written_in_many_ways(written: Any, cores: tuple[int, ...]) -> None:
    assert experiment_with(written).cpu_affinity == cores


def test_a_cluster_is_left_to_the_device() -> None:
    assert (experiment_with("big").cpu_cluster, experiment_with("big").cpu_affinity) == ("big", ())


@pytest.mark.parametrize("written", ["huge", "4-", "0xzz", "", "1,,2"])
def test_other_words_are_refused(written: str) -> None:
    with pytest.raises(PlanError, match="cpu_affinity"):
        experiment_with(written)


def test_a_cluster_becomes_the_cores_it_stands_for_on_the_device(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    plan = replace(plan, experiments=tuple(replace(e, cpu_cluster="big") for e in plan.experiments))
    clusters = (Cluster("little", "A", (0,)), Cluster("big", "B", (1,)))
    device = replace(scripted_device(), info=a_device_info(clusters=clusters))
    session = run_plan(plan, device, Witness(), command="test")
    assert {e.cpu_affinity for e in session.plan.experiments} == {(1,)}
    assert {result.cpu_affinity for result in session.results} == {(1,)}


def test_a_cluster_the_device_does_not_have_is_refused_before_anything_runs(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    plan = replace(plan, experiments=tuple(replace(e, cpu_cluster="prime") for e in plan.experiments))
    with pytest.raises(UsageError, match="no prime cores"):
        run_plan(plan, scripted_device(), Witness(), command="test")
    assert not plan.output_root.exists()
