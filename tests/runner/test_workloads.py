"""Workloads run for real by both runners: state, positions, methods, and what is kept of each step."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from etprof.app.workload_checks import settle_workload
from etprof.core.plan import Experiment, Program
from etprof.core.run import INPUTS_WRONG
from etprof.core.workload import ARANGE, FILE, RANDOM, VALUE, Phase, PhaseInput, Workload
from etprof.runner.build import NativeRunner
from etprof.runner.planned_workload import parse_workload, render_workload
from etprof.traces.etdump import read_etdump
from etprof.traces.program import read_program
from etprof.traces.steps_file import read_steps
from runner_block import Block, run_block, signal_to_noise_db

# They run the native runner, which is built in a cache of the tests' own.

_PYTHON = (sys.executable, "-m", "etprof.runner.python_runner")


def tokens(count: int) -> tuple[PhaseInput, ...]:
    return PhaseInput(RANDOM, low=0, high=31, shape=(1, count)), PhaseInput(ARANGE, shape=(count,))


DECODER = Workload((Phase("prefill", inputs=tokens(4)), Phase("decode", inputs=tokens(1), repeats=8)))
TWO_METHODS = Workload(
    (replace(DECODER.phases[0], method="prefill"), replace(DECODER.phases[1], method="decode")),
)
FRAMES = Workload((Phase("frame", inputs=(PhaseInput(VALUE, value=0),), repeats=3),))


@dataclass(frozen=True)
class Ran:
    block: Block
    workload: Workload

    @property
    def digests(self) -> list[str]:
        return [output["sha256"] for output in self.block.result["outputs"]]

    @property
    def times(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        return read_steps(self.block.folder / "block.steps")


# Each process of the Python runner takes seconds to start: what both do the same way it is asked in CI only.
@pytest.fixture(params=["native", pytest.param("python", marks=pytest.mark.exhaustive)])
def command(request: pytest.FixtureRequest) -> tuple[str, ...]:
    if request.param == "python":
        return _PYTHON
    runner: NativeRunner = request.getfixturevalue("runner")
    return tuple(runner.command)


def run(command: tuple[str, ...], model: Path, workload: Workload, folder: Path, *flags: str) -> Ran:
    folder.mkdir(parents=True, exist_ok=True)
    settled = settle_workload(Program(model, workload=workload), read_program(model), (Experiment("on"),))
    file = folder / "block.workload"
    file.write_bytes(settled.content)
    wanted = ("--workload", str(file), "--steps_path", str(folder / "block.steps"), "--warmup", "2", "--inputs", "")
    return Ran(run_block(command, model, folder, *wanted, *flags), settled.workload)


def test_sequences_are_timed_step_by_step_and_traced_in_the_order_of_their_steps(
    command: tuple[str, ...], stateful_models: Path, tmp_path: Path
) -> None:
    flags = ("--num_executions", "4", "--traced_executions", "3")
    ran = run(command, stateful_models / "decoder.pte", DECODER, tmp_path, *flags)
    result = ran.block.result
    assert (ran.block.exit_code, result["error"], result["method_name"]) == (0, "", "forward")
    assert ran.times.shape == (4, 9)
    # What a sequence takes beside its steps are the gaps in which inputs are set.
    assert (ran.times.sum(1) <= result["latency_ns"]).all()
    assert (ran.times > 0).all()
    assert (len(result["warmup_ns"]), len(result["traced_ns"]), result["sequences_agree"]) == (2, 3, True)
    trace = read_etdump(ran.block.etdump)
    assert trace.run_count == 3 * len(ran.workload.traced_steps) == 27


def test_state_is_reset_before_each_sequence_and_both_runners_compute_the_same(
    runner: NativeRunner, stateful_models: Path, tmp_path: Path
) -> None:
    model = stateful_models / "decoder.pte"
    of = {name: tmp_path / name for name in ("native", "timed first", "python")}
    native = run(tuple(runner.command), model, DECODER, of["native"])
    timed = run(tuple(runner.command), model, DECODER, of["timed first"], "--warmup", "0")
    python = run(_PYTHON, model, DECODER, of["python"])
    assert native.digests == timed.digests == python.digests
    assert len(set(native.digests)) == 2
    assert timed.block.result["sequences_agree"] is None


def test_state_that_starts_with_values_has_them_again_after_a_reset(
    command: tuple[str, ...], stateful_models: Path, tmp_path: Path
) -> None:
    ran = run(command, stateful_models / "decaying.pte", FRAMES, tmp_path)
    assert ran.block.result["sequences_agree"] is True
    again = replace(FRAMES.phases[0], name="again", resets=True)
    twice = run(command, stateful_models / "decaying.pte", Workload((*FRAMES.phases, again)), tmp_path / "twice")
    going_on = Workload((*FRAMES.phases, replace(again, resets=False)))
    longer = run(command, stateful_models / "decaying.pte", going_on, tmp_path / "longer")
    assert twice.digests == [*ran.digests, *ran.digests]
    assert longer.digests[0] == ran.digests[0] != longer.digests[1]
    # Ones, halved in each of six steps.
    assert longer.block.output(0)[0] - longer.block.output(1)[0] == pytest.approx(1 / 8 - 1 / 64)


def test_methods_have_their_state_in_common_where_the_program_says_so_and_apart_where_not(
    command: tuple[str, ...], stateful_models: Path, tmp_path: Path
) -> None:
    one = run(command, stateful_models / "decoder.pte", DECODER, tmp_path / "one")
    shared = run(command, stateful_models / "shared.pte", TWO_METHODS, tmp_path / "shared", "--traced_executions", "1")
    apart = run(command, stateful_models / "apart.pte", TWO_METHODS, tmp_path / "apart")
    assert (shared.block.exit_code, shared.block.result["method_name"]) == (0, "prefill, decode")
    assert shared.digests == one.digests
    assert apart.digests[0] == one.digests[0]
    assert apart.digests[1] != one.digests[1]
    assert [each.block.result["sequences_agree"] for each in (shared, apart)] == [True, True]
    assert read_etdump(shared.block.etdump).run_count == 9


def test_the_python_runner_does_not_trace_methods_that_would_spoil_each_others_state(
    stateful_models: Path, tmp_path: Path
) -> None:
    ran = run(_PYTHON, stateful_models / "apart.pte", TWO_METHODS, tmp_path, "--traced_executions", "1")
    assert ran.block.exit_code == 1
    assert "cannot trace several methods that each keep state of their own" in ran.block.result["error"]


def test_inputs_of_a_step_lie_as_the_program_wants_them(command: tuple[str, ...], models: Path, tmp_path: Path) -> None:
    model = models / "channels_last.pte"
    (file,) = models.glob("channels_last.input_*.bin")
    plain = run_block(command, model, tmp_path / "plain")
    workload = Workload((Phase("image", inputs=(PhaseInput(FILE, file=file),), repeats=2),))
    ran = run(command, model, workload, tmp_path / "workload")
    assert signal_to_noise_db(plain.output(), ran.block.output()) > 100


def test_ten_thousand_steps_take_no_more_memory_than_ten(
    runner: NativeRunner, stateful_models: Path, tmp_path: Path
) -> None:
    model, flags = stateful_models / "decaying.pte", ("--num_executions", "3", "--traced_executions", "2")
    peaks, sizes = [], []
    for repeats in (10, 10_000):
        frames = Workload((replace(FRAMES.phases[0], repeats=repeats),))
        ran = run(tuple(runner.command), model, frames, tmp_path / str(repeats), *flags)
        assert (ran.block.exit_code, ran.times.shape) == (0, (3, repeats))
        peaks.append(ran.block.result["peak_bytes"])
        sizes.append(ran.block.etdump.stat().st_size)
    # The times themselves are 240 kB, which are there twice when they are written.
    assert peaks[1] - peaks[0] < 2 << 20
    assert read_etdump(tmp_path / "10000" / "block.etdump").run_count == 2 * 64
    assert sizes[1] < 10 * sizes[0]


def test_a_runner_refuses_what_is_no_workload_or_does_not_fit(
    command: tuple[str, ...], stateful_models: Path, tmp_path: Path
) -> None:
    model = stateful_models / "decoder.pte"
    tmp_path.joinpath("none.workload").write_bytes(b"etprof workload 1\nother\ndata\n")
    block = run_block(command, model, tmp_path, "--inputs", "", "--workload", str(tmp_path / "none.workload"))
    assert (block.exit_code, "is not a workload that etprof wrote" in block.result["error"]) == (INPUTS_WRONG, True)
    settled = settle_workload(Program(model, workload=DECODER), read_program(model), ())
    whole = parse_workload(settled.content, "")
    for name, wrong in (
        ("short", replace(whole, data=b"")),
        ("few inputs", replace(whole, phases=(replace(whole.phases[0], inputs=whole.phases[0].inputs[:1]),))),
    ):
        file = tmp_path / f"{name}.workload"
        file.write_bytes(render_workload(wrong))
        block = run_block(command, model, tmp_path / name, "--inputs", "", "--workload", str(file))
        assert block.exit_code == INPUTS_WRONG, block.result
