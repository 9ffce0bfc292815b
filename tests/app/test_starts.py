"""Where the model's file and its packed weights are when a block starts."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from etprof.core.plan import AS_IS, CACHED, TRACE
from etprof.core.run import DeviceInfo, Job, JobOutcome
from scripted_device import a_runnable_plan, run_scripted, scripted_device

# They start runners.
pytestmark = pytest.mark.alone


@dataclass(frozen=True)
class NotingDevice:
    """The scripted device, with the jobs it was given, and whether each found a file of packed weights."""

    platform: str = "linux"
    jobs: list[tuple[Job, bool]] = field(default_factory=list)

    def describe(self) -> DeviceInfo:
        return scripted_device().describe()

    def run(self, job: Job) -> JobOutcome:
        found = job.packed_cache is not None and job.packed_cache.exists()
        self.jobs.append((job, found))
        if job.packed_cache:
            job.packed_cache.write_bytes(b"packed")
        return scripted_device().run(job)


def test_every_second_block_of_a_variant_finds_the_file_out_of_the_page_cache(tmp_path: Path) -> None:
    results = run_scripted(a_runnable_plan(tmp_path, blocks=4)).session.results
    for name in ("off", "on"):
        assert [r.cached_share for r in results if r.experiment == name] == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize(("page_cache", "expected"), [(CACHED, {1.0}), (AS_IS, {None})])
def test_a_plan_may_leave_the_page_cache_alone(page_cache: str, expected: set[float | None], tmp_path: Path) -> None:
    results = run_scripted(a_runnable_plan(tmp_path, blocks=2, page_cache=page_cache)).session.results
    assert {r.cached_share for r in results} == expected


def test_what_is_only_traced_starts_as_it_is(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=2)
    traced = replace(plan, experiments=tuple(replace(e, mode=TRACE) for e in plan.experiments))
    assert {r.cached_share for r in run_scripted(traced).session.results} == {None}


def test_packed_weights_are_a_file_of_the_run_that_the_first_block_does_not_find(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=2)
    options = (("weight_cache_enabled", True), ("packed_cache_path", "weights"))
    plan = replace(plan, experiments=tuple(replace(e, load_options=options) for e in plan.experiments))
    stale = plan.output_root / "on" / "on_t1.weights.packed"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"of an earlier run")
    device = NotingDevice()
    run_scripted(plan, device)
    of_on = [(job.packed_cache, found) for job, found in device.jobs if job.block.experiment.name == "on"]
    assert of_on == [(stale, False), (stale, True)]
