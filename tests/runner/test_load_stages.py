"""What both runners say of a start: its stages, the memory they hold, the page cache, and options of the backend."""

import shutil
from pathlib import Path

import pytest

from etprof.analysis.memory_use import describe_memory
from etprof.core import memory as names
from etprof.core.memory import Cached, LoadStage, classify_cached, find_stage
from etprof.core.plan import Block, Experiment
from etprof.core.run import BlockResult, RunnerResult
from etprof.runner.build import NativeRunner
from etprof.traces.runner_result import read_runner_result
from parts import need
from runner_block import run_block

# They run the native runner, which is built in a cache of the tests' own.
pytestmark = pytest.mark.alone

_MEMORY_FOLDER = Path("/dev/shm")


def measure(runner: NativeRunner, model: Path, folder: Path, *flags: str) -> RunnerResult:
    block = run_block(runner.command, model, folder, "--num_executions", "3", "--warmup", "2", *flags)
    assert (block.exit_code, block.stderr) == (0, "")
    return read_runner_result(folder / "result.json")


def parts_of(stage: LoadStage) -> list[int]:
    held = (stage.model_bytes, stage.library_bytes, stage.cache_bytes, stage.file_bytes, stage.anonymous_bytes)
    assert None not in held
    return [size or 0 for size in held]


def test_each_stage_has_its_memory(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    result = measure(runner, models / "fp32.pte", tmp_path)
    for stage in result.stages:
        assert sum(parts_of(stage)) == stage.rss_bytes
        assert 0 < (stage.pss_bytes or 0) <= (stage.rss_bytes or 0) <= (result.peak_bytes or 0)


@pytest.mark.portable
def test_each_stage_has_its_time(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    result = measure(runner, models / "fp32.pte", tmp_path)
    assert [stage.name for stage in result.stages if stage.name != names.PACKING] == [
        name for name in names.STAGES if name != names.PACKING
    ]
    times = {stage.name: stage.duration_ns or 0 for stage in result.stages}
    assert result.load_ns == times[names.PROGRAM] + times[names.METHOD]
    assert times[names.LIBRARIES] > 0
    # The same clock: the first inference is the first warm-up iteration.
    assert times[names.FIRST] == pytest.approx(result.warmup_ns[0], rel=0.2, abs=100_000)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_parts_add_up_to_the_peak_and_leave_little(
    runner: NativeRunner, models: Path, tmp_path: Path, precision: str
) -> None:
    said = measure(runner, models / f"{precision}.pte", tmp_path)
    use = describe_memory([BlockResult.of(Block(Experiment("on"), 1, 0), said)])
    assert use is not None
    assert sum(part.bytes for part in use.parts) == use.peak_bytes == said.peak_bytes
    assert use.unattributed <= 0.1
    assert {names.PLANNED, names.LIBRARY_PART} <= {part.name for part in use.parts}


def test_weights_are_resident_twice_while_they_are_packed(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    stages = measure(runner, models / "fp32.pte", tmp_path).stages
    packing, method = (find_stage(stages, name) for name in (names.PACKING, names.METHOD))
    assert packing is not None
    assert method is not None
    assert (packing.model_bytes or 0) >= (method.model_bytes or 0)


def test_the_file_is_in_the_page_cache_or_out_of_it_as_asked(
    runner: NativeRunner, models: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copy(models / "fp32.pte", tmp_path))
    shares = {
        wanted: measure(runner, model, tmp_path / wanted, "--page_cache", wanted).cached_share
        for wanted in ("in", "out")
    }
    assert classify_cached(shares["in"]) is Cached.IN
    need(classify_cached(shares["out"]) is not Cached.IN, "this file system keeps every page in memory")
    assert classify_cached(shares["out"]) is Cached.OUT


def test_a_file_that_lies_in_memory_is_not_said_to_have_left(
    runner: NativeRunner, models: Path, tmp_path: Path
) -> None:
    need(_MEMORY_FOLDER.is_dir(), "there is no /dev/shm")
    model = _MEMORY_FOLDER / f"etprof-{tmp_path.name}.pte"
    shutil.copy(models / "fp32.pte", model)
    try:
        said = measure(runner, model, tmp_path, "--page_cache", "out")
    finally:
        model.unlink()
    assert classify_cached(said.cached_share) is Cached.IN


def test_the_start_of_the_process_is_measured_on_request(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    asked, plain = (
        find_stage(measure(runner, models / "fp32.pte", tmp_path / clock, "--exec_clock", clock).stages, names.PROCESS)
        for clock in ("1", "0")
    )
    assert asked is not None
    assert plain is not None
    assert 0 < (asked.duration_ns or 0) < 5_000_000_000
    assert plain.duration_ns is None


def test_packed_weights_are_kept_in_a_file_for_the_next_start(
    runner: NativeRunner, models: Path, tmp_path: Path
) -> None:
    flags = ("--load_options", f"weight_cache_enabled=true,packed_cache_path={tmp_path}/packed")
    first = measure(runner, models / "fp32.pte", tmp_path / "first", *flags)
    assert (tmp_path / "packed").stat().st_size > 0
    second = measure(runner, models / "fp32.pte", tmp_path / "second", *flags)
    steady = find_stage(second.stages, names.STEADY)
    assert steady is not None
    assert (steady.cache_bytes or 0) > 0
    assert [output.sha256 for output in first.outputs] == [output.sha256 for output in second.outputs]


@pytest.mark.parametrize("mode", ["0", "1", "2"])
def test_a_workspace_is_shared_as_asked_without_another_output(
    runner: NativeRunner, models: Path, tmp_path: Path, mode: str
) -> None:
    plain = measure(runner, models / "int8.pte", tmp_path / "plain")
    shared = measure(runner, models / "int8.pte", tmp_path / "set", "--load_options", f"workspace_sharing_mode={mode}")
    assert [output.sha256 for output in plain.outputs] == [output.sha256 for output in shared.outputs]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("weight_cache=true", "The load option 'weight_cache=true' is unknown to XNNPACK."),
        ("workspace_sharing_mode=3", "The load option 'workspace_sharing_mode=3' takes 0, 1 or 2."),
        ("weight_cache_enabled=yes", "The load option 'weight_cache_enabled=yes' takes true or false."),
        (f"packed_cache_path={'x' * 256}", "takes a path of at most 255 bytes"),
    ],
)
def test_an_option_that_the_backend_would_ignore_is_refused(
    runner: NativeRunner, models: Path, tmp_path: Path, options: str, sentence: str
) -> None:
    block = run_block(runner.command, models / "fp32.pte", tmp_path, "--load_options", options)
    assert block.exit_code == 2
    assert sentence in block.stderr
