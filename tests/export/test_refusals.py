"""Operators that the partitioner leaves out for the reason we name, and the code we propose, which it takes."""

from pathlib import Path
from typing import Any

import pytest

from etprof.core.model import LeftOperator
from etprof.core.refusals import OPERATORS_WITH_A_RULE, REFUSALS, Refusal, plain_operator
from etprof.export.delegation import describe_delegation
from etprof.export.foreign import output_to
from etprof.export.lowering import observe

pytestmark = pytest.mark.usefixtures("libraries")

CASES = tuple(refusal for refusal in REFUSALS if refusal.instead)
HALF, IMAGE, ROWS = ("gelu", "_to_dim_order_copy"), (1, 6, 8, 8), (2, 4, 8)
# Where rows of eight will not do.
SHAPES = {
    "avg_pool2d": IMAGE, "amax": IMAGE, "upsample_nearest2d": IMAGE, "native_group_norm": IMAGE, "mm": (4, 8),
    "expand_copy": (1, 4, 8), "squeeze_copy": (2, 1, 8), "unsqueeze_copy": (2, 8), "where": (2, 8),
}  # fmt: skip
ONES = {"upsample_nearest2d": (6, 1, 2, 2), "expand_copy": (4, 1, 1)}
# What is left of code in fp16 that has numbers in it: their conversion.
NUMBERS = "dtype conversion from torch.float32 to torch.float16"


def inputs() -> tuple[Any, ...]:
    import torch

    torch.manual_seed(0)
    drawn = []
    for case in CASES:
        shape = IMAGE if case.ranks == (4,) else SHAPES.get(case.operator, ROWS)
        is_half = "float16" in case.data_types or "torch.float16" in case.reason
        drawn.append(torch.randn(shape, dtype=torch.float16 if is_half else torch.float32))
    return tuple(drawn)


def build_module(which: str) -> Any:
    """Computes every case, by the code in its field of that name."""
    import torch

    class Cases(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(1)
            self.register_buffer("weight", torch.randn(8))
            self.register_buffer("bias", torch.randn(8))
            self.register_buffer("mask", (torch.randn(2, 8) > 0).float())
            self.register_buffer("quarter", torch.tensor([0.25], dtype=torch.float16))
            for at, case in enumerate(CASES):
                n = 192 if case.operator == "native_group_norm" else 8
                self.register_buffer(f"mean{at}", torch.full((1, n), 1 / n))
                self.register_buffer(f"ones{at}", torch.ones(ONES.get(case.operator, (1, 8))))

        def forward(self, *given: Any) -> tuple[Any, ...]:
            return tuple(self.compute(at, x) for at, x in enumerate(given))

        def compute(self, at: int, x: Any) -> Any:
            case: Refusal = CASES[at]
            names = {
                "torch": torch, "F": torch.nn.functional, "x": x, "C": 6, "weight": self.weight, "bias": self.bias,
                "n": 192 if case.operator == "native_group_norm" else 8, "mask": self.mask, "quarter": self.quarter,
                "mean": getattr(self, f"mean{at}"), "ones": getattr(self, f"ones{at}"),
                "y": (x * 2.0).transpose(0, 1) if case.operator == "mm" else x * 2.0 if case.operator == "where" else x,
            }  # fmt: skip
            return eval(getattr(case, which), names)

    return Cases().eval()


def lower(which: str, log: Path) -> tuple[LeftOperator, ...]:
    import torch
    from executorch.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.backends.xnnpack.utils.configs import get_xnnpack_edge_compile_config
    from executorch.exir import to_edge_transform_and_lower

    with output_to(log), observe() as observed:
        captured = torch.export.export(build_module(which), inputs())
        edge = to_edge_transform_and_lower(
            captured, partitioner=[XnnpackPartitioner()], compile_config=get_xnnpack_edge_compile_config()
        )
    rules = frozenset(config.target_name for config in ALL_PARTITIONER_CONFIGS)
    return describe_delegation([edge.exported_program().graph_module], observed.refusals, rules).left


def test_each_operator_is_left_out_for_the_reason_we_name(tmp_path: Path) -> None:
    left = [(plain_operator(each.operator), each.reason) for each in lower("before", tmp_path / "log")]
    for case in CASES:
        assert any(case.operator == name and case.reason in reason for name, reason in left), (case.operator, left)


def test_what_we_propose_instead_is_delegated_as_a_whole(tmp_path: Path) -> None:
    assert [each for each in lower("instead", tmp_path / "log") if NUMBERS not in each.reason] == []


def test_what_we_propose_computes_the_same() -> None:
    import torch

    before, after = (build_module(which)(*inputs()) for which in ("before", "instead"))
    for case, was, now in zip(CASES, before, after, strict=True):
        torch.testing.assert_close(now, was, rtol=2e-3, atol=2e-3, msg=f"{case.before} is not {case.instead}")


def test_the_operators_with_a_rule_are_those_of_the_wheel() -> None:
    from executorch.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS

    assert {plain_operator(config.target_name) for config in ALL_PARTITIONER_CONFIGS} == OPERATORS_WITH_A_RULE
