"""Programs that plain ExecuTorch exported are explained as ours are: cut in two, quantised, of several methods."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from etprof.app.explaining import explain_program
from etprof.core.explanation import Explanation
from etprof.export.foreign import output_to
from etprof.traces.program import read_program

pytestmark = pytest.mark.usefixtures("libraries")


def lower(programs: Any) -> bytes:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    names = programs if isinstance(programs, dict) else None
    partitioners = {name: [XnnpackPartitioner()] for name in names} if names else [XnnpackPartitioner()]
    return bytes(to_edge_transform_and_lower(programs, partitioner=partitioners).to_executorch().buffer)


def cut_in_two() -> bytes:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.Linear(32, 8))
    return lower(torch.export.export(model.eval(), (torch.randn(4, 16),)))


def quantised() -> bytes:
    import torch
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torch import nn
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 7, padding=3, groups=8))
    example = (torch.randn(1, 3, 16, 16),)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(model.eval(), example).module(), quantizer)
    prepared(*example)
    return lower(torch.export.export(convert_pt2e(prepared), example))


def several_methods() -> bytes:
    import torch
    from torch import nn

    encode = nn.Conv2d(4, 4, 1)
    decode = nn.Sequential(nn.ConvTranspose2d(4, 2, 2, stride=2), nn.Upsample(scale_factor=2))
    image = (torch.randn(1, 4, 8, 8),)
    return lower({"encode": torch.export.export(encode, image), "decode": torch.export.export(decode, image)})


@pytest.fixture
def explain(tmp_path: Path) -> Callable[[Callable[[], bytes]], dict[str, Explanation]]:
    def make_and_explain(make: Callable[[], bytes]) -> dict[str, Explanation]:
        path = tmp_path / "foreign.pte"
        with output_to(tmp_path / "log"):
            path.write_bytes(make())
        assert sorted(tmp_path.iterdir()) == [path, tmp_path / "log"]
        return {each.method: each for each in explain_program(path).explanations}

    return make_and_explain


Explain = Callable[[Callable[[], bytes]], dict[str, Explanation]]


def test_a_model_cut_by_an_operator(explain: Explain) -> None:
    found = explain(cut_in_two)["forward"]
    linear = [node for node in found.nodes if node.kind == "linear"]
    assert [(node.partition, node.shapes) for node in linear] == [
        (0, "4x16 * 32x16 -> 4x32"), (1, "4x32 * 8x32 -> 4x8"),
    ]  # fmt: skip
    (left,) = found.left
    assert left.operator == "aten::native_layer_norm.out"
    assert left.reason == "XNNPACK's partitioner has no rule for this operator"
    assert "F.linear(x, mean)" in left.instead
    assert left.shapes == ("4x32 -> 4x32",)


def test_a_quantised_model(explain: Explain) -> None:
    found = explain(quantised)["forward"]
    compute = {group.kind: group for group in found.groups if group.is_compute}
    assert {kind: group.data_type for kind, group in compute.items()} == {
        "3x3 convolution": "qint8, qcint8 weights", "depthwise 7x7": "qint8, qcint8 weights",
    }  # fmt: skip
    assert found.left == ()


def test_a_model_of_several_methods(explain: Explain, tmp_path: Path) -> None:
    found = explain(several_methods)
    assert set(found) == set(read_program(tmp_path / "foreign.pte").names) == {"encode", "decode"}
    assert [group.kind for group in found["encode"].groups if group.is_compute] == ["1x1 convolution"]
    assert [group.kind for group in found["decode"].groups if group.is_compute] == ["transposed 2x2 convolution"]
    assert [group.operator for group in found["decode"].left] == ["aten::upsample_nearest2d.vec_out"]
    assert "conv_transpose2d" in found["decode"].left[0].instead
