"""What is refused, and whether the model or its lowering is to blame."""

import pytest

from etprof.core.errors import ExportError
from etprof.export.acceptance import refuse_broken
from etprof.export.numerics import OutputError, compare_outputs, worst_snr
from etprof.export.request import ExportRequest

pytestmark = pytest.mark.usefixtures("libraries")


@pytest.mark.parametrize(
    ("half_snr", "hint"),
    [
        (55.1, "PyTorch itself reaches 55.1 dB in fp16, so the loss is in the lowered program"),
        (3.0, "PyTorch itself reaches 3.0 dB in fp16: its values do not fit"),
        (None, "Values may be too small or too large for fp16"),
    ],
)
def test_a_loss_in_fp16_is_laid_on_the_model_or_on_its_lowering(half_snr: float | None, hint: str) -> None:
    reference, errors = noisy_outputs()
    with pytest.raises(ExportError, match="does not match the eager model") as caught:
        refuse_broken(ExportRequest("mine", dtype="fp16"), reference, errors, lambda: half_snr)
    assert hint in caught.value.hint


def test_what_reaches_the_floor_is_accepted() -> None:
    reference, errors = noisy_outputs()
    request = ExportRequest("mine", dtype="fp16", min_snr_db=-20.0)
    assert request.floor_db <= worst_snr(errors) < ExportRequest("mine", dtype="fp16").floor_db
    refuse_broken(request, reference, errors, lambda: None)


def noisy_outputs() -> tuple[list[object], list[OutputError]]:
    import torch

    reference = [torch.ones(8)]
    return list(reference), list(compare_outputs(reference, [torch.full((8,), 3.0)]))
