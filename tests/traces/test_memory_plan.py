"""The memory that a program planned: what is alive while each operator runs, and files that lie about it."""

from pathlib import Path

import pytest

from etprof.core.errors import TraceError
from etprof.core.memory import ActivationPlan, PlannedTensor
from etprof.traces.memory_plan import read_planned_program
from program_builder import FLOAT32, PLANNED, Call, Method, Tensor, Values, build_program


def read(folder: Path, *methods: Method) -> ActivationPlan:
    path = folder / "model.pte"
    path.write_bytes(build_program(*methods))
    return read_planned_program(path)[1]["forward"]


def test_what_is_alive_is_what_is_still_needed(tmp_path: Path) -> None:
    plan = read(tmp_path, PLANNED)
    assert (plan.model, plan.method, plan.buffers, plan.total_bytes) == ("model.pte", "forward", (144, 120), 264)
    assert plan.operators == ("aten::relu.out", "aten::exp.out", "aten::sum.out")
    assert plan.live_bytes == (40 + 80, 80 + 120, 120 + 20)
    assert (plan.peak_bytes, plan.peak_operator) == (200, 1)


def test_the_tensors_of_the_peak_are_named_with_what_makes_them(tmp_path: Path) -> None:
    assert read(tmp_path, PLANNED).tensors == (
        PlannedTensor("float32 [30]", 120, "aten::exp.out"),
        PlannedTensor("float32 [20]", 80, "aten::relu.out"),
    )


def test_tensors_that_share_their_place_count_once(tmp_path: Path) -> None:
    view = Tensor((4, 5), FLOAT32, place=(1, 64))
    values = (PLANNED.values[0], PLANNED.values[1], view)
    calls = (Call("aten::relu.out", (0, 1)), Call("executorch_prim::et_view.default", (1, 2)))
    plan = read(tmp_path, Method(values=values, inputs=(0,), outputs=(2,), calls=calls, buffers=(144,)))
    assert plan.live_bytes == (120, 80)


def test_an_input_is_alive_until_its_last_use_and_an_output_until_the_end(tmp_path: Path) -> None:
    calls = (Call("aten::sum.out", (0, 3)), Call("aten::exp.out", (1, 2)))
    plan = read(tmp_path, Method(values=PLANNED.values, inputs=(0, 1), outputs=(3,), calls=calls, buffers=(144, 120)))
    # The output lies in the input's place, and is the smaller one.
    assert plan.live_bytes == (40 + 80, 20 + 80 + 120)


def test_state_is_always_alive(tmp_path: Path) -> None:
    cache = Tensor((25,), FLOAT32, has_value=True, place=(2, 0))
    values = (*PLANNED.values[:2], cache)
    calls = (Call("aten::relu.out", (0, 1)), Call("aten::copy.out", (2,)))
    plan = read(tmp_path, Method(values=values, inputs=(0,), outputs=(1,), calls=calls, buffers=(144, 120)))
    assert plan.live_bytes == (40 + 80 + 100, 80 + 100)


def test_a_list_of_tensors_keeps_them_alive(tmp_path: Path) -> None:
    values = (*PLANNED.values[:3], Values((0, 1)))
    calls = (Call("aten::relu.out", (0, 1)), Call("aten::cat.out", (3, 2)))
    plan = read(tmp_path, Method(values=values, inputs=(0,), outputs=(2,), calls=calls, buffers=(144, 120)))
    assert plan.live_bytes == (120, 240)


def test_a_program_without_planned_memory_has_an_empty_plan(tmp_path: Path) -> None:
    assert read(tmp_path).total_bytes == 0


@pytest.mark.parametrize(
    ("tensor", "buffers", "problem"),
    [
        (Tensor((10,), FLOAT32, place=(1, 8)), (40,), "beyond its buffer"),
        (Tensor((10,), FLOAT32, place=(3, 0)), (40,), "a buffer that does not exist"),
        (Tensor((1 << 31, 1 << 31, 1 << 31), FLOAT32, place=(1, 0)), (40,), "beyond its buffer"),
        (Tensor((10,), FLOAT32, place=(1, 0)), (1 << 60,), "an impossible size"),
        (Tensor((10,), FLOAT32, place=(1, 0)), (1 << 48, 1 << 48), "an impossible size"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(
    tensor: Tensor, buffers: tuple[int, ...], problem: str, tmp_path: Path
) -> None:
    method = Method(values=(tensor, tensor), calls=(Call("aten::relu.out", (0, 1)),), buffers=buffers)
    with pytest.raises(TraceError, match=problem):
        read(tmp_path, method)
