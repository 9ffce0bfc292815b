"""What a plan asks of a program is settled before the first block, or refused with what the program takes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import a_plan, an_export_meta
from etprof.app.program_checks import SettledProgram, settle_program
from etprof.core.errors import TraceError, UsageError
from etprof.core.model import ExportMeta, TensorFile
from etprof.core.plan import Experiment, Plan
from program_builder import FLOAT32, Method, Tensor, build_program

_INT = 2
ROWS = Method(values=(Tensor((16, 2), FLOAT32, is_dynamic=True), Tensor((2,))))


def plan_of(folder: Path, *methods: Method, **changes: Any) -> Plan:
    plan = replace(a_plan(folder / "run"), **changes)
    plan.model.write_bytes(build_program(*methods))
    return plan


def settle(plan: Plan, meta: ExportMeta | None = None) -> SettledProgram:
    (program,) = plan.programs
    return settle_program(program, plan.experiments, meta)


def exported(folder: Path, *shape: int) -> ExportMeta:
    """The meta file of an export with one float input of this shape, whose bytes are there."""
    size = 4
    for each in shape:
        size *= each
    (folder / "model.input_0.bin").write_bytes(bytes(size))
    return an_export_meta(inputs=(TensorFile(shape, "float32", file="model.input_0.bin", sha256="0" * 64),))


def test_shapes_and_files_of_the_export_are_used(tmp_path: Path) -> None:
    settled = settle(plan_of(tmp_path, ROWS), exported(tmp_path, 4, 2))
    assert settled.record.program.input_shapes == ((4, 2),)
    assert settled.record.program.inputs == (tmp_path / "model.input_0.bin",)
    assert (settled.record.program.method, settled.note) == ("forward", "")


def test_a_plan_with_other_shapes_gets_ones_and_a_note(tmp_path: Path) -> None:
    settled = settle(plan_of(tmp_path, ROWS, input_shapes=((16, 2),)), exported(tmp_path, 4, 2))
    assert (settled.record.program.inputs, settled.record.program.input_shapes) == ((), ((16, 2),))
    assert settled.note == (
        "model.pte: inputs filled with ones; those of its export have other shapes than the plan asks for."
    )


def test_a_plan_may_name_files_with_their_shapes(tmp_path: Path) -> None:
    file = tmp_path / "rows.bin"
    file.write_bytes(bytes(7 * 2 * 4))
    settled = settle(plan_of(tmp_path, ROWS, inputs=(file,), input_shapes=((7, 2),)), exported(tmp_path, 4, 2))
    assert (settled.record.program.inputs, settled.record.program.input_shapes) == ((file,), ((7, 2),))


@pytest.mark.parametrize("shape", [(17, 2), (4,), (4, 2, 1)])
def test_a_shape_the_program_cannot_take_is_refused_with_what_it_takes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match=r"Input 0 of model.pte cannot have the shape") as caught:
        settle(plan_of(tmp_path, ROWS, input_shapes=(shape,)))
    assert caught.value.hint == "It takes float32 [at most 16, 2]."


def test_a_fixed_shape_is_that_shape_and_no_smaller_one(tmp_path: Path) -> None:
    fixed = Method(values=(Tensor((16, 2), FLOAT32), Tensor((2,))))
    assert settle(plan_of(tmp_path, fixed, input_shapes=((16, 2),))).record.program.input_shapes == ((16, 2),)
    with pytest.raises(UsageError, match="cannot have the shape"):
        settle(plan_of(tmp_path, fixed, input_shapes=((8, 2),)))


def test_a_file_of_another_size_is_refused_with_both_sizes(tmp_path: Path) -> None:
    file = tmp_path / "rows.bin"
    file.write_bytes(bytes(32))
    with pytest.raises(UsageError, match=r"holds 32 bytes; input 0 of model.pte is float32 \[16, 2\], which is 128"):
        settle(plan_of(tmp_path, ROWS, inputs=(file,)))


def test_as_many_files_and_shapes_as_the_program_has_inputs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="takes 1 inputs; there are 2 input shapes"):
        settle(plan_of(tmp_path, ROWS, input_shapes=((1, 2), (1, 2))))


def test_an_input_that_is_no_tensor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Input 0 of model.pte is of type int"):
        settle(plan_of(tmp_path, Method(values=(_INT, Tensor((2,))))))


def test_several_methods_without_forward_are_refused_by_name_and_one_of_them_is_run(tmp_path: Path) -> None:
    methods = Method("encode"), Method("decode")
    with pytest.raises(UsageError, match="2 methods and none is called forward: encode, decode"):
        settle(plan_of(tmp_path, *methods))
    with pytest.raises(UsageError, match="has no method 'denoise'") as caught:
        settle(plan_of(tmp_path, *methods, method="denoise"))
    assert caught.value.hint == "It has encode, decode."
    settled = settle(plan_of(tmp_path, *methods, method="decode"), exported(tmp_path, 4, 2))
    assert (settled.record.program.method, settled.record.program.inputs) == ("decode", ())
    assert settled.note == "model.pte: inputs filled with ones; its export has none for decode."


def test_the_only_method_is_run_whatever_it_is_called(tmp_path: Path) -> None:
    assert settle(plan_of(tmp_path, Method("encode"))).record.program.method == "encode"


def test_a_stock_runner_runs_the_first_method_only(tmp_path: Path) -> None:
    stock = tmp_path / "executor_runner"
    stock.write_bytes(b"Model executed successfully")
    experiments = (Experiment("stock", runner_path=stock),)
    methods = Method("encode"), Method("decode")
    assert settle(plan_of(tmp_path, *methods, method="encode", experiments=experiments))
    with pytest.raises(UsageError, match="runs the program's first method, encode, not decode"):
        settle(plan_of(tmp_path, *methods, method="decode", experiments=experiments))


def test_state_is_named_from_the_program(tmp_path: Path) -> None:
    values = (Tensor((1, 8), FLOAT32, name="cache"), Tensor((5,)), Tensor((2,)))
    settled = settle(plan_of(tmp_path, Method(values=values, inputs=(1,), outputs=(2,))))
    assert settled.record.state == ("cache, float32 [1, 8]",)


def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    plan.model.write_bytes(b"model")
    with pytest.raises(TraceError, match="cannot be loaded"):
        settle(plan)
