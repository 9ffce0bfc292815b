"""What devices add to a block's result, and what they clear before it."""

from dataclasses import dataclass, replace
from pathlib import Path

from etprof.core.plan import TRACE
from etprof.core.run import CpuState, DeviceInfo, Job, JobOutcome
from etprof.devices.base import merge_states, remove_stale_files, runner_flags
from scripted_device import a_job, a_runnable_plan, run_scripted, scripted_device, with_experiment


@dataclass(frozen=True)
class ShakyDevice:
    """The scripted device, lost once before each block, with a battery."""

    platform: str = "linux"

    def describe(self) -> DeviceInfo:
        return scripted_device().describe()

    def run(self, job: Job) -> JobOutcome:
        battery = CpuState(battery_percent=50, on_battery=True)
        outcome = scripted_device().run(job)
        return replace(outcome, interruptions=("it was lost",), before=battery, after=battery)


def test_interruptions_and_the_devices_own_state_are_kept_with_the_block(tmp_path: Path) -> None:
    session = run_scripted(a_runnable_plan(tmp_path, blocks=1), ShakyDevice()).session
    assert len(session.results) == 2
    for result in session.results:
        assert result.retried == ("it was lost",)
        assert (result.cpu_before.battery_percent, result.cpu_after.on_battery) == (50, True)
        assert result.cpu_before.load_average == 0.1


def test_the_runners_own_words_win() -> None:
    said = CpuState(frequencies_khz={4: 1}, temperature_c=50.0)
    seen = CpuState(frequencies_khz={4: 2}, load_average=3.0, temperature_c=20.0, battery_percent=9)
    assert merge_states(said, seen) == CpuState({4: 1}, 3.0, 50.0, battery_percent=9)
    assert merge_states(CpuState(), seen).frequencies_khz == {}, "those of idle cores say nothing of a block"
    assert merge_states(said, None) == said


def test_a_traced_experiment_times_nothing_and_names_its_samples(tmp_path: Path) -> None:
    job = with_experiment(a_job(tmp_path), mode=TRACE, hide_isa=("sme", "sme2"), extra_args=("--sample_ms", "5"))
    flags = runner_flags(replace(job, samples=tmp_path / "t.kernels"))
    pairs = dict(zip(flags[::2], flags[1::2], strict=True))
    assert (pairs["--num_executions"], pairs["--traced_executions"]) == ("0", "2")
    assert (pairs["--hide_isa"], pairs["--kernel_samples"]) == ("sme,sme2", str(tmp_path / "t.kernels"))
    assert flags[-2:] == ["--sample_ms", "5"]
    assert "--kernel_samples" not in runner_flags(job)


def test_files_of_an_earlier_run_are_removed_and_others_stay(tmp_path: Path) -> None:
    job = replace(a_job(tmp_path), samples=tmp_path / "on" / "on_t1.kernels")
    job.outputs.mkdir()
    assert job.samples is not None
    ours = (job.result, job.etdump, job.log, job.samples, job.outputs / "output_3.bin")
    others = (job.model, job.outputs / "notes.txt")
    for path in (*ours, *others):
        path.write_text("stale")
    remove_stale_files(job)
    assert [path.exists() for path in ours] == [False] * 5
    assert [path.exists() for path in others] == [True] * 2


def test_a_start_is_timed_where_the_runner_is_what_starts(tmp_path: Path) -> None:
    job = replace(a_job(tmp_path), page_cache="out")
    assert runner_flags(job)[-6:-2] == ["--page_cache", "out", "--exec_clock", "1"]
    launched = runner_flags(with_experiment(job, launcher=("perf", "stat")))
    assert "--page_cache" in launched
    assert "--exec_clock" not in launched, "a launcher would lose the program that it launched"
    emulated = runner_flags(job, is_emulated=True)
    assert not {"--page_cache", "--exec_clock"} & set(emulated)


def test_a_workload_is_a_flag_and_the_times_of_its_steps_are_another(tmp_path: Path) -> None:
    job = replace(a_job(tmp_path), workload=tmp_path / "on.workload", steps=tmp_path / "on_t1.steps")
    flags = runner_flags(job)
    assert flags[flags.index("--workload") + 1] == str(job.workload)
    assert flags[flags.index("--steps_path") + 1] == str(job.steps)
    assert "--steps_path" not in runner_flags(replace(job, steps=None))
    assert "--workload" not in runner_flags(a_job(tmp_path))


def test_load_options_are_flags_with_the_file_of_the_run(tmp_path: Path) -> None:
    options = (("weight_cache_enabled", True), ("workspace_sharing_mode", 0), ("packed_cache_path", "packed"))
    job = replace(with_experiment(a_job(tmp_path), load_options=options), packed_cache=tmp_path / "on_t1.packed")
    flags = runner_flags(job)
    expected = f"weight_cache_enabled=true,workspace_sharing_mode=0,packed_cache_path={tmp_path}/on_t1.packed"
    assert flags[flags.index("--load_options") + 1] == expected
