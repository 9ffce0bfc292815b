"""Models that are not one tensor in, one tensor out, run for real by both runners."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from etprof.core.run import INPUTS_WRONG, MODEL_INVALID
from etprof.runner.build import NativeRunner
from etprof.traces.program import read_program
from etprof.traces.runner_result import read_output_values, read_runner_result
from runner_block import Block, run_block

# They run the native runner, which is built in a cache of the tests' own.

_PYTHON = (sys.executable, "-m", "etprof.runner.python_runner")


@pytest.fixture(params=["native", "python"])
def command(request: pytest.FixtureRequest) -> tuple[str, ...]:
    if request.param == "python":
        return _PYTHON
    runner: NativeRunner = request.getfixturevalue("runner")
    return tuple(runner.command)


def first_output(command: tuple[str, ...], model: Path, folder: Path, *flags: str) -> list[float]:
    block = run_block(command, model, folder, *flags)
    assert (block.exit_code, block.result["error"]) == (0, "")
    return list(block.output())


def test_outputs_are_those_of_the_first_inference_however_many_follow(
    command: tuple[str, ...], odd_models: Path, tmp_path: Path
) -> None:
    flags = [("--num_executions", "1"), ("--warmup", "3", "--num_executions", "5"), ("--num_executions", "0")]
    outputs = [first_output(command, odd_models / "counter.pte", tmp_path / str(i), *f) for i, f in enumerate(flags)]
    assert outputs[0] == outputs[1] == outputs[2]


def test_a_model_with_state_is_told_by_its_program_and_others_are_not(odd_models: Path) -> None:
    states = {path.stem: [len(m.state) for m in read_program(path).methods] for path in odd_models.glob("*.pte")}
    assert states.pop("counter") == [1]
    assert not any(any(counts) for counts in states.values())


def test_an_input_has_the_shape_that_is_asked_for(command: tuple[str, ...], odd_models: Path, tmp_path: Path) -> None:
    model = odd_models / "dynamic.pte"
    block = run_block(command, model, tmp_path, "--input_shapes", "1x8")
    assert (block.exit_code, block.result["outputs"][0]["shape"]) == (0, [1, 4])
    ones = run_block(command, model, tmp_path / "ones", "--input_shapes", "3x8", "--inputs", "")
    assert (ones.exit_code, ones.result["outputs"][0]["shape"]) == (0, [3, 4])


@pytest.mark.parametrize(
    ("shapes", "sentence"),
    [
        ("17x8", "the model takes at most"),
        ("8", "the model takes at most"),
        ("1x8,1x8", "--input_shapes names 2"),
        ("2x8", "holds 32 bytes"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(
    runner: NativeRunner, odd_models: Path, tmp_path: Path, shapes: str, sentence: str
) -> None:
    # The Python runner takes seconds to start: one of its refusals stands for all.
    for command in (runner.command, *([_PYTHON] if shapes == "17x8" else [])):
        block = run_block(command, odd_models / "dynamic.pte", tmp_path, "--input_shapes", shapes)
        assert block.exit_code == INPUTS_WRONG
        assert sentence in block.result["error"]


def test_a_shape_that_is_none_is_wrong_usage(runner: NativeRunner, odd_models: Path, tmp_path: Path) -> None:
    for shapes in ("1,x8", "1x", "axb", "1x-8", "1x99999999999"):
        block = run_block(runner.command, odd_models / "dynamic.pte", tmp_path, "--input_shapes", shapes)
        assert (block.exit_code, "takes shapes such as 1x3x224x224" in block.stderr) == (2, True)


def test_none_numbers_and_every_tensor_type_are_reported(
    command: tuple[str, ...], odd_models: Path, tmp_path: Path
) -> None:
    block = run_block(command, odd_models / "odd.pte", tmp_path)
    assert [(o["dtype"], o["shape"]) for o in block.result["outputs"]] == [
        ("float32", [1, 8]), ("none", []), ("int64", []), ("bool", []), ("float64", []), ("uint16", [8]),
        ("bfloat16", [1, 8]), ("float32", [1, 8]),
    ]  # fmt: skip
    values = _read(block)
    assert values[1] is None
    assert [list(v) for v in values[2:6] if v is not None] == [[3.0], [1.0], [2.5], [*range(8)]]
    image, rounded, undefined = (v for i in (0, 6, 7) if (v := values[i]) is not None)
    assert np.allclose(rounded, image / 2, rtol=0.01)
    assert all(math.isnan(v) for v in undefined)


def _read(block: Block) -> tuple[NDArray[np.float64] | None, ...]:
    said = read_runner_result(block.folder / "result.json")
    return read_output_values(block.folder / "outputs", said.outputs)


def test_outputs_without_planned_memory_are_given_some(
    command: tuple[str, ...], odd_models: Path, tmp_path: Path
) -> None:
    model = odd_models / "unplanned.pte"
    flags = ("--warmup", "2", "--traced_executions", "2")
    output = first_output(command, model, tmp_path, *flags)
    assert len(output) == 4
    assert any(output)


def test_the_method_is_the_one_that_is_named(command: tuple[str, ...], odd_models: Path, tmp_path: Path) -> None:
    block = run_block(command, odd_models / "methods.pte", tmp_path, "--method_name", "decode")
    assert (block.exit_code, block.result["method_name"]) == (0, "decode")
    unnamed = run_block(command, odd_models / "methods.pte", tmp_path)
    assert unnamed.exit_code == MODEL_INVALID
    assert "has no method 'forward', only" in unnamed.result["error"]
    assert "decode, encode" in unnamed.result["error"]
    only = run_block(command, odd_models / "encode_only.pte", tmp_path)
    assert (only.exit_code, only.result["method_name"]) == (0, "encode")
