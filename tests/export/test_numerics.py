"""The figures that decide whether an export is trusted."""

import math
from typing import Any

import pytest

from etprof.core.errors import ExportError
from etprof.export.numerics import compare, compare_outputs, worst_snr

pytestmark = pytest.mark.usefixtures("libraries")


def tensor(*values: float) -> Any:
    import torch

    return torch.tensor(values)


def test_a_tenth_of_the_amplitude_is_twenty_decibels() -> None:
    error = compare(0, tensor(10.0, 0.0), tensor(10.0, 1.0))
    assert error.snr_db == pytest.approx(20)
    assert error.max_abs_error == 1
    assert error.cosine == pytest.approx(10 / math.sqrt(101))


def test_equal_outputs_are_exact() -> None:
    output = compare(0, tensor(1.0, 2.0), tensor(1.0, 2.0)).describe()
    assert output.exact is True
    assert output.snr_db is None


def test_a_vanished_output_is_zero_decibels_and_not_exact() -> None:
    assert compare(0, tensor(1e-9, 2e-9), tensor(0.0, 0.0)).snr_db == pytest.approx(0)


def test_noise_without_a_signal_is_not_exact() -> None:
    error = compare(0, tensor(0.0, 0.0), tensor(1.0, 1.0))
    assert error.describe().exact is False
    assert worst_snr([error]) == -math.inf


@pytest.mark.parametrize(
    ("expected", "got", "words"),
    [
        ((1.0, 2.0), (1.0,), "shape"),
        ((1.0, 2.0), (1.0, math.nan), "exported program is not finite"),
        ((1.0, math.inf), (1.0, 2.0), "eager model is not finite"),
    ],
)
def test_what_cannot_be_compared_is_an_error(expected: tuple[float], got: tuple[float], words: str) -> None:
    with pytest.raises(ExportError, match=words):
        compare(0, tensor(*expected), tensor(*got))


def test_a_lost_output_is_an_error() -> None:
    with pytest.raises(ExportError, match="has 1 outputs, the eager model 2"):
        compare_outputs([tensor(1.0), tensor(1.0)], [tensor(1.0)])
