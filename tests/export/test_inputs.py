"""Inputs keep their meaning on the way to a file."""

from pathlib import Path

import numpy as np
import pytest

from etprof.export import inputs

pytestmark = pytest.mark.usefixtures("libraries")


def test_only_floating_point_is_cast() -> None:
    import torch

    tree = (torch.ones(2), {"ids": torch.tensor([3]), "on": torch.tensor([True]), "nested": [torch.ones(1)]})
    floats, rest = inputs.cast(tree, torch.float16)
    assert floats.dtype == rest["nested"][0].dtype == torch.float16
    assert (rest["ids"].dtype, rest["on"].dtype) == (torch.int64, torch.bool)


def test_files_hold_the_bytes_in_row_major_order(tmp_path: Path) -> None:
    import torch

    turned = torch.arange(6, dtype=torch.float32).reshape(2, 3).t()
    (saved,) = inputs.save([turned], tmp_path / "m.pte")
    assert (saved.shape, saved.dtype, saved.file) == ((3, 2), "float32", "m.input_0.bin")
    values = np.fromfile(tmp_path / "m.input_0.bin", dtype="<f4").reshape(3, 2)
    assert values.tolist() == turned.tolist()


def test_a_reference_that_is_no_number_has_no_file(tmp_path: Path) -> None:
    import torch

    saved = inputs.save_reference([torch.ones(2), 3, None, "word"], tmp_path / "m.pte")
    assert [(each.dtype, each.shape, each.file) for each in saved] == [
        ("float32", (2,), "m.reference_0.bin"),
        ("int64", (), "m.reference_1.bin"),
        ("none", (), ""),
        ("str", (), ""),
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.reference_0.bin", "m.reference_1.bin"]


def test_a_scalar_and_a_boolean_have_bytes_too() -> None:
    import torch

    assert inputs.tensor_bytes(torch.tensor(1.0)) == b"\x00\x00\x80?"
    assert inputs.tensor_bytes(torch.tensor([True, False])) == b"\x01\x00"


def test_constant_inputs_become_random_and_it_is_said() -> None:
    import torch

    labels = torch.tensor([1, 1])
    (varied, same), changed = inputs.vary_constants((torch.ones(8), labels))
    assert changed
    assert len(set(varied.tolist())) == 8
    assert same is labels
    assert inputs.vary_constants((torch.arange(3.0),))[1] is False
