"""A workload is settled against its program before the first block, or refused with the number of the step."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import a_plan
from etprof.app.workload_checks import SettledWorkload, settle_workload
from etprof.core.errors import UsageError
from etprof.core.plan import Experiment, Program
from etprof.core.program import ProgramFile, ProgramMethod, ProgramTensor
from etprof.core.workload import ARANGE, FILE, RANDOM, VALUE, Phase, PhaseInput, Workload
from etprof.runner.planned_workload import PlannedWorkload, parse_workload

IDS = ProgramTensor("int64", 8, (1, 16), is_dynamic=True)
POSITIONS = ProgramTensor("int64", 8, (16,), is_dynamic=True)
CACHE = ProgramTensor("float32", 4, (16, 8))
OUTPUT = ProgramTensor("float32", 4, (1, 8))
FORWARD = ProgramMethod("forward", (IDS, POSITIONS), (OUTPUT,), (CACHE,))
PREFILL, DECODE = (
    replace(FORWARD, name="prefill", state_arenas=(1,)),
    replace(FORWARD, name="decode", state_arenas=(1,)),
)
FRAME = ProgramMethod("forward", (ProgramTensor("float32", 4, (2, 2)),), (OUTPUT,), ())


def tokens(count: int) -> tuple[PhaseInput, ...]:
    return PhaseInput(RANDOM, low=0, high=31, shape=(1, count)), PhaseInput(ARANGE, shape=(count,))


def a_decoder(prompt: int = 4, repeats: int = 3, **changes: Any) -> Workload:
    decode = replace(Phase("decode", inputs=tokens(1), repeats=repeats), **changes)
    return Workload((Phase("prefill", inputs=tokens(prompt)), decode))


def settle(workload: Workload, *methods: ProgramMethod, method: str = "", **experiment: Any) -> SettledWorkload:
    program = Program(Path("model.pte"), method, workload=workload)
    return settle_workload(program, ProgramFile(methods, "0" * 64), (Experiment("on", **experiment),))


def planned(settled: SettledWorkload) -> PlannedWorkload:
    return parse_workload(settled.content, "content")


def elements(settled: SettledWorkload, phase: int, index: int, dtype: str = "<i8") -> list[Any]:
    """Of an input of a phase, those of each of its slices."""
    plan = planned(settled)
    given = plan.phases[phase].inputs[index]
    count = int(np.prod((given.slices, *given.shape)))
    return np.frombuffer(plan.data, dtype, count, given.offset).reshape(given.slices, -1).tolist()


def test_nothing_is_left_open() -> None:
    workload = Workload((Phase("all", inputs=(PhaseInput(VALUE, value=2), PhaseInput(ARANGE))),))
    (phase,) = settle(workload, FORWARD).workload.phases
    assert (phase.method, phase.advance) == ("forward", 16)
    assert [(each.shape, each.dtype) for each in phase.inputs] == [((1, 16), "int64"), ((16,), "int64")]


def test_positions_run_on_and_each_step_draws_its_own_numbers() -> None:
    settled = settle(a_decoder(), FORWARD)
    assert elements(settled, 0, 1) == [[0, 1, 2, 3]]
    assert elements(settled, 1, 1) == [[4], [5], [6]]
    drawn = elements(settled, 1, 0)
    assert len(drawn) == 3
    assert all(0 <= each <= 31 for (each,) in drawn)
    assert elements(settle(a_decoder(repeats=8), FORWARD), 1, 0)[:3] == drawn
    assert elements(settle(replace_seed(a_decoder(), 1), FORWARD), 0, 0) != elements(settled, 0, 0)


def replace_seed(workload: Workload, seed: int) -> Workload:
    phases = (
        replace(phase, inputs=tuple(replace(each, seed=seed) for each in phase.inputs)) for phase in workload.phases
    )
    return Workload(tuple(phases))


def test_a_phase_that_resets_begins_at_position_zero() -> None:
    assert elements(settle(a_decoder(resets=True), FORWARD), 1, 1) == [[0], [1], [2]]


def test_runners_are_told_of_state_and_of_what_methods_have_in_common() -> None:
    two = Workload((Phase("a", "prefill", tokens(4)), Phase("b", "decode", tokens(1))))
    settled = planned(settle(two, PREFILL, DECODE))
    assert (settled.has_state, settled.shared) == (True, (1,))
    assert [phase.method for phase in settled.phases] == ["prefill", "decode"]
    stateless = planned(settle(Workload((Phase("a", inputs=(PhaseInput(VALUE, value=1),)),)), FRAME))
    assert (stateless.has_state, stateless.shared) == (False, ())


def test_a_file_holds_one_step_or_several_that_are_taken_in_turn(tmp_path: Path) -> None:
    file = tmp_path / "frames.bin"
    file.write_bytes(np.arange(12, dtype="<f4").tobytes())
    phase = Phase("frames", inputs=(PhaseInput(FILE, file=file),), repeats=9)
    assert elements(settle(Workload((phase,)), FRAME), 0, 0, "<f4") == np.arange(12).reshape(3, 4).tolist()
    short = settle(Workload((replace(phase, repeats=2),)), FRAME)
    assert elements(short, 0, 0, "<f4") == np.arange(8).reshape(2, 4).tolist()


@pytest.mark.parametrize(
    ("dtype", "width", "expected"),
    [("bfloat16", 2, b"\xc0\x3f"), ("float16", 2, b"\x00\x3e"), ("float64", 8, b"\x00\x00\x00\x00\x00\x00\xf8\x3f")],
)
def test_a_number_has_the_bytes_of_its_type(dtype: str, width: int, expected: bytes) -> None:
    method = replace(FRAME, inputs=(ProgramTensor(dtype, width, (1,)),))
    settled = planned(settle(Workload((Phase("a", inputs=(PhaseInput(VALUE, value=1.5),)),)), method))
    assert bytes(settled.data[:width]) == expected


def test_random_inputs_of_many_large_steps_stay_small() -> None:
    image = replace(FRAME, inputs=(ProgramTensor("float32", 4, (1024, 1024)),))
    phase = Phase("frames", inputs=(PhaseInput(RANDOM, low=-1, high=1),), repeats=1000)
    settled = planned(settle(Workload((phase,)), image))
    assert (settled.phases[0].inputs[0].slices, len(settled.data)) == (4, 16 << 20)


@pytest.mark.parametrize(
    ("workload", "methods", "sentence"),
    [
        (a_decoder(repeats=13), (FORWARD,), r"Step 14 \(decode 13 of 13\) reaches position 16; none of its buffers"),
        (a_decoder(repeats=4, advance=4), (FORWARD,), r"Step 5 \(decode 4 of 4\) reaches position 19"),
        (a_decoder(17), (FORWARD,), r"Input 0 of step 1 \(prefill 1 of 1\) cannot have the shape \[1, 17\]"),
        (a_decoder(method="other"), (FORWARD,), r"has no method 'other', which step 2 \(decode 1 of 3\) names"),
        (a_decoder(), (PREFILL, DECODE), r"several methods, none is called forward, and step 1 \(prefill 1 of 1\)"),
        (a_decoder(inputs=()), (FORWARD,), r"Step 2 \(decode 1 of 3\) has 0 inputs; forward takes 2"),
        (a_decoder(), (replace(FORWARD, inputs=("int", POSITIONS)),), r"Input 0 of step 1 .* is of type int"),
        (Workload((Phase("a", inputs=(PhaseInput(VALUE, value=0.5),)),)), (replace(FRAME, inputs=(IDS,)),),
         r"Input 0 of step 1 \(a 1 of 1\): 0.5 is not a number of type int64"),
        (Workload((Phase("a", inputs=(PhaseInput(VALUE, value=1e39),)),)), (FRAME,), r"1e\+39 is beyond the range"),
        (Workload((Phase("a", inputs=(PhaseInput(VALUE, dtype="int8"),)),)), (FRAME,), r"cannot be of type int8"),
        (Workload((Phase("a", inputs=(PhaseInput(RANDOM, low=-1, high=1),)),)),
         (replace(FRAME, inputs=(ProgramTensor("uint8", 1, (2,)),)),), "-1 is not a number of type uint8"),
        (Workload((Phase("a", inputs=(PhaseInput(VALUE),)),)),
         (replace(FRAME, inputs=(ProgramTensor("float8_e5m2", 1, (2,)),)),), "can be given as a file only"),
        (Workload((Phase("a", inputs=(PhaseInput(FILE, file=Path("none.bin")),)),)), (FRAME,),
         r"There is no file none.bin, which input 0 of step 1 \(a 1 of 1\) names"),
        (Workload((Phase("a", inputs=(PhaseInput(ARANGE, shape=(2, 2)),), repeats=20_000_000 // 20 + 1),)), (FRAME,),
         "20 sequences of 1000001 steps are 20000020 times to keep"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_the_step(
    workload: Workload, methods: tuple[ProgramMethod, ...], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        settle(workload, *methods)


def test_the_program_says_itself_how_many_positions_there_are() -> None:
    room = ProgramMethod("get_max_seq_len", (), ("int",), (), value=6)
    assert settle(a_decoder(repeats=2), FORWARD, room)
    with pytest.raises(
        UsageError, match=r"Step 4 .* reaches position 6; the program has room for 6 \(get_max_seq_len\)"
    ):
        settle(a_decoder(repeats=3), FORWARD, room)


def test_a_file_of_another_size_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "frames.bin"
    file.write_bytes(bytes(17))
    with pytest.raises(UsageError, match=r"holds 17 bytes; input 0 of step 1 \(a 1 of 1\) takes 16"):
        settle(Workload((Phase("a", inputs=(PhaseInput(FILE, file=file),)),)), FRAME)


def test_the_method_of_the_plan_is_that_of_phases_without_one() -> None:
    settled = settle(a_decoder(), PREFILL, DECODE, method="decode")
    assert {phase.method for phase in settled.workload.phases} == {"decode"}


def test_a_plan_says_which_experiments_run_a_workload() -> None:
    plan = replace(a_plan(), workload=a_decoder())
    assert plan.program("on").workload == a_decoder()
    others = tuple(replace(each, inputs=(Path("a.bin"),)) for each in plan.experiments)
    assert replace(plan, experiments=others).program("on").workload is None
