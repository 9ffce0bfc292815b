"""The registry's models that keep state agree with eager PyTorch step by step: one load, many calls."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from etprof.export.execution import load_program
from etprof.export.exporter import ExportRequest, Quantization
from etprof.export.foreign import output_to
from etprof.export.lowering import lower
from etprof.export.numerics import compare_outputs, worst_snr
from etprof.export.quantize import quantize_linear_layers
from etprof.export.registry import find_model
from etprof.export.source import EagerModel, build_model
from etprof.traces.program import read_program
from shared_exports import MODELS, SharedExports

GROUPED = Quantization("linear-dynamic", weight_bits=4, group_size=32)


def eager(name: str, quantization: Quantization | None = None) -> EagerModel:
    model = build_model(find_model(name, MODELS), 0, None)
    if quantization:
        quantize_linear_layers(model.module, quantization)
    return model


def worst_of_steps(
    program: Callable[[Sequence[Any]], list[Any]], module: Any, steps: Iterator[tuple[Any, ...]]
) -> float:
    import torch

    with torch.no_grad():
        return min(worst_snr(compare_outputs([module(*step)], program(step))) for step in steps)


def prompt_and_tokens(lengths: Sequence[int], vocabulary: int) -> Iterator[tuple[Any, ...]]:
    """Prompts of these lengths, one after the other, with their positions."""
    import torch

    torch.manual_seed(7)
    start = 0
    for length in lengths:
        yield torch.randint(0, vocabulary, (1, length)), torch.arange(start, start + length)
        start += length


@pytest.mark.parametrize(
    ("quantization", "floor_db"),
    [
        pytest.param(None, 100.0, id="fp32"),
        pytest.param(GROUPED, 25.0, id="4bit", marks=pytest.mark.exhaustive),
    ],
)
def test_the_decoder_agrees_with_eager_in_prefill_and_in_every_step_of_decode(
    exported: SharedExports, quantization: Quantization | None, floor_db: float
) -> None:
    artifact = exported("tiny_decoder", quantization=quantization)
    module = eager("tiny_decoder", quantization).module
    steps = prompt_and_tokens([32, *[1] * 6, 5, 1], 4096)
    assert worst_of_steps(load_program(artifact.pte), module, steps) > floor_db


def test_the_decoder_says_what_it_takes_and_what_it_remembers(exported: SharedExports) -> None:
    program = read_program(exported("tiny_decoder").pte)
    (method,) = program.computing
    assert [each.label for each in method.inputs if not isinstance(each, str)] == [
        "int64 [at most 1, 1024]", "int64 [at most 1024]",
    ]  # fmt: skip
    assert method.state_bytes == 2 * 2 * 6 * 1024 * 64 * 4
    assert program.facts == {
        "get_max_seq_len": 1024, "get_max_context_len": 1024, "get_vocab_size": 4096, "get_n_layers": 2,
        "use_kv_cache": True, "enable_dynamic_shape": True,
    }  # fmt: skip
    # Seven million parameters of four bytes, and tables of positions.
    assert 27e6 < program.data_bytes < 30e6


def test_both_methods_of_the_encoder_and_decoder_agree_with_eager(exported: SharedExports) -> None:
    import torch

    artifact = exported("tiny_encoder_decoder")
    module = eager("tiny_encoder_decoder").module
    torch.manual_seed(7)
    frames = torch.randn(1, 200, 80)
    assert worst_of_steps(load_program(artifact.pte, "encoder"), module.encoder, iter([(frames,)])) > 100
    with torch.no_grad():
        states = module.encoder(frames)
    steps = ((ids, position, states) for ids, position in prompt_and_tokens([1] * 6, 1024))
    assert worst_of_steps(load_program(artifact.pte, "text_decoder"), module.text_decoder, steps) > 100


def test_each_method_has_its_inputs_and_its_accuracy_in_the_meta_file(exported: SharedExports) -> None:
    artifact = exported("tiny_encoder_decoder")
    assert list(artifact.meta.methods) == ["encoder", "text_decoder"]
    encoder, decoder = artifact.meta.all_methods
    assert [each.shape for each in decoder.inputs] == [(1, 1), (1,), (1, 200, 128)]
    assert encoder.inputs == artifact.meta.inputs
    for method in (encoder, decoder):
        assert (method.numerics.worst_snr_db or 0) > 100
        assert all((artifact.pte.parent / each.file).is_file() for each in (*method.inputs, *method.reference))


def test_the_video_model_remembers_frames_as_eager_does(exported: SharedExports) -> None:
    import torch

    torch.manual_seed(7)
    frames = ((torch.randn(1, 3, 128, 128),) for _ in range(6))
    program = load_program(exported("tiny_video").pte)
    assert worst_of_steps(program, eager("tiny_video").module, frames) > 90


TWO_METHODS = """
class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(32, 8), nn.Linear(8, 32)
        self.register_buffer("cache", torch.zeros(16, 8))

    def forward(self, ids, positions):
        self.cache.index_copy_(0, positions, self.embedding(ids)[0])
        return self.head(self.cache).sum(0, keepdim=True)


class Prefill(nn.Module):
    def __init__(self, core):
        super().__init__()
        self.core = core

    def forward(self, ids, positions):
        return self.core(ids, positions)


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        core = Cached()
        self.prefill, self.decode = Prefill(core), Prefill(core if SHARED else Cached())


class Model(EagerModelBase):
    def get_eager_model(self):
        return Both()

    def get_example_inputs(self, count=4):
        return torch.randint(0, 32, (1, count)), torch.arange(count)

    def get_methods(self):
        return {"prefill": MethodInputs(self.get_example_inputs()), "decode": MethodInputs(self.get_example_inputs(1))}
"""


@pytest.mark.parametrize("shared", [True, False], ids=["one cache", "a cache each"])
def test_methods_that_change_the_same_buffer_share_it_in_the_program(
    write_model: Callable[[str, str], Path], models_dir: Path, libraries: None, shared: bool
) -> None:
    imports = f"from etprof.core.model import MethodInputs\nSHARED = {shared}\n"
    write_model("both", imports + TWO_METHODS)
    model = build_model(find_model("both", models_dir), 0, None)
    with output_to(models_dir / "log"):
        lowered = lower(model, ExportRequest("both"), [], lambda _: None)
    sizes = [plan.non_const_buffer_sizes for plan in lowered.program.executorch_program.execution_plan]
    # Nothing, what is computed, and where state is shared a place of its own for 16 x 8 numbers.
    assert [len(each) for each in sizes] == ([3, 3] if shared else [2, 2])
    assert not shared or {each[2] for each in sizes} == {512}
    assert lowered.program.methods == {"prefill", "decode"}
