"""What two programs compute has to be the same work: it is refused before the first block, with what differs."""

from pathlib import Path

import numpy as np
import pytest

from etprof.app.program_checks import settle_plan
from etprof.app.program_pairs import refuse_other_work
from etprof.core.errors import UsageError
from etprof.core.plan import Plan
from model_files import a_model_file, a_plan_of_models
from program_builder import FLOAT32, Method, Tensor

FLOAT16 = 5
VALUES = np.array([0.1, -2.5, 3.25, 700.0, 0.0], "<f4")


def takes(scalar_type: int, *sizes: int, gives: tuple[int, ...] = (2,), is_dynamic: bool = False) -> Method:
    return Method(values=(Tensor(sizes, scalar_type), Tensor(gives, FLOAT32, is_dynamic=is_dynamic)))


def compare(plan: Plan) -> None:
    refuse_other_work(plan, settle_plan(plan))


def test_the_same_work_passes_and_so_does_an_input_rounded_to_half_precision(tmp_path: Path) -> None:
    whole = a_model_file(tmp_path, "fp32", method=takes(FLOAT32, 5), data=VALUES.tobytes())
    half = a_model_file(tmp_path, "fp16", method=takes(FLOAT16, 5), data=VALUES.astype("<f2").tobytes())
    compare(a_plan_of_models({"old": whole, "new": half, "again": whole}, tmp_path / "run"))


@pytest.mark.parametrize(
    ("method", "data", "difference"),
    [
        (takes(FLOAT32, 5), (VALUES + 1).tobytes(), "input 0 of old.pte has other values than that of new.pte"),
        (takes(FLOAT16, 5), (VALUES + 9).astype("<f2").tobytes(), "input 0 of old.pte has other values"),
        (takes(FLOAT32, 1, 5), VALUES.tobytes(), r"old.pte takes \[5\], and new.pte \[1, 5\]"),
        (takes(FLOAT32, 5, gives=(3,)), VALUES.tobytes(), r"old.pte gives \[2\], and new.pte \[3\]"),
    ],
)
def test_other_work_is_refused_with_what_differs(tmp_path: Path, method: Method, data: bytes, difference: str) -> None:
    old = a_model_file(tmp_path, "old", method=takes(FLOAT32, 5), data=VALUES.tobytes())
    new = a_model_file(tmp_path, "new", method=method, data=data)
    plan = a_plan_of_models({"old": old, "new": new}, tmp_path / "run")
    with pytest.raises(UsageError, match=f"old and new cannot be compared: {difference}") as caught:
        compare(plan)
    assert "same inputs" in caught.value.hint


def test_an_output_of_any_size_may_be_the_same(tmp_path: Path) -> None:
    models = {
        name: a_model_file(
            tmp_path, name, method=takes(FLOAT32, 5, gives=gives, is_dynamic=True), data=VALUES.tobytes()
        )
        for name, gives in (("old", (2,)), ("new", (3,)))
    }
    compare(a_plan_of_models(models, tmp_path / "run"))


def test_inputs_filled_with_ones_are_not_those_of_an_export(tmp_path: Path) -> None:
    old, new = (a_model_file(tmp_path, name) for name in ("old", "new"))
    (tmp_path / "new.export_meta.json").unlink()
    with pytest.raises(UsageError, match=r"the inputs of new.pte are filled with ones"):
        compare(a_plan_of_models({"old": old, "new": new}, tmp_path / "run"))


def test_programs_that_nobody_compares_may_differ(tmp_path: Path) -> None:
    old = a_model_file(tmp_path, "old", method=takes(FLOAT32, 5), data=VALUES.tobytes())
    plan = a_plan_of_models({"old": old, "new": a_model_file(tmp_path, "new")}, tmp_path / "run")
    compare(Plan(plan.model, plan.output_root, plan.experiments, ()))


def test_two_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    models = {name: a_model_file(tmp_path / name, "net", data=name.ljust(5).encode()) for name in ("old", "new")}
    with pytest.raises(UsageError, match=r"input 0 of .*old/net.pte has other values than that of .*new/net.pte"):
        compare(a_plan_of_models(models, tmp_path / "run"))
