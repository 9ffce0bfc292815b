"""From an eager module to an ExecuTorch program: capture, quantise, partition, emit."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from etprof.core.model import Delegation
from etprof.export.calibration import Sample
from etprof.export.delegation import describe_delegation
from etprof.export.foreign import foreign_code
from etprof.export.machine_paths import shorten_stack_traces
from etprof.export.patching import replaced
from etprof.export.quantize import quantize_graph, quantize_linear_layers
from etprof.export.request import ExportRequest
from etprof.export.source import EagerModel

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Observed:
    """What lowering knows and does not keep: why nodes were refused, and the XNNPACK graph behind each blob."""

    refusals: dict[str, str] = field(default_factory=dict)
    graphs: dict[bytes, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Lowered:
    captured: Any
    edge: Any
    program: Any
    observed: Observed
    delegation: Delegation


def lower(model: EagerModel, request: ExportRequest, samples: list[Sample], progress: Progress) -> Lowered:
    from executorch.exir import to_edge_transform_and_lower

    captured = _capture(model, request, samples, progress)
    shorten_stack_traces(captured)
    progress("lowering")
    with foreign_code(f"Lowering {request.model!r} to {request.backend}"), observe() as observed:
        edge = to_edge_transform_and_lower(
            captured,
            partitioner=_partitioners(request),
            generate_etrecord=True,
            compile_config=_compile_config(request),
        )
    delegation = describe_delegation(
        edge.exported_program().graph_module, observed.refusals, _operators_with_a_rule(request)
    )
    progress("emitting")
    with foreign_code(f"Emitting {request.model!r}"):
        program = edge.to_executorch(_backend_config(edge.exported_program()))
    return Lowered(captured, edge, program, observed, delegation)


_CAPTURE_HINT = "The guide to adding a model shows the edits that make a model exportable."


def capture(model: EagerModel, module: Any, name: str) -> Any:
    """A module in the place of the model's own as torch.export captures it."""
    import torch

    with foreign_code(f"Capturing {name!r} with torch.export", _CAPTURE_HINT):
        return torch.export.export(module, model.args, dict(model.kwargs), dynamic_shapes=model.dynamic_shapes)


def _capture(model: EagerModel, request: ExportRequest, samples: list[Sample], progress: Progress) -> Any:
    def export(module: Any) -> Any:
        return capture(model, module, request.model)

    quantization = request.quantization
    if quantization is None:
        progress("capturing")
        return export(model.module)
    progress("quantising")
    with foreign_code(f"Quantising {request.model!r} ({quantization.label})"):
        if quantization.scheme.startswith("linear"):
            quantize_linear_layers(model.module, quantization)
            return export(model.module)
        return export(quantize_graph(export(model.module).module(), quantization, samples))


def _partitioners(request: ExportRequest) -> list[Any]:
    if request.backend == "portable":
        return []
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return [XnnpackPartitioner()]


def _operators_with_a_rule(request: ExportRequest) -> frozenset[str]:
    if request.backend == "portable":
        return frozenset()
    from executorch.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS

    return frozenset(config.target_name for config in ALL_PARTITIONER_CONFIGS)


def _compile_config(request: ExportRequest) -> Any:
    from executorch.backends.xnnpack.utils.configs import get_xnnpack_edge_compile_config
    from executorch.exir import EdgeCompileConfig

    return get_xnnpack_edge_compile_config() if request.backend == "xnnpack" else EdgeCompileConfig()


def _backend_config(exported: Any) -> Any:
    """For a model that keeps state: by default ExecuTorch drops the names and the initial values of its buffers."""
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    signature = exported.graph_signature
    mutated = set(signature.buffers_to_mutate.values())
    if not mutated:
        return None
    values = dict(exported.named_buffers())
    placeholders = [name for name, buffer in signature.inputs_to_buffers.items() if buffer in mutated]
    begin_with_values = [name for name in placeholders if bool(values[signature.inputs_to_buffers[name]].any())]
    passes = [InitializedMutableBufferPass(begin_with_values)] if begin_with_values else []
    return ExecutorchBackendConfig(passes=passes, emit_mutable_buffer_names=True)


@contextmanager
def observe() -> Iterator[Observed]:
    """Listens to the partitioner's refusals and keeps each XNNPACK graph under the bytes it was serialised to."""
    from executorch.backends.xnnpack import xnnpack_preprocess
    from executorch.exir.backend.utils import WhyNoPartition

    seen = Observed()
    explain, serialize = WhyNoPartition.__call__, xnnpack_preprocess.serialize_xnnpack_binary

    def listen(self: Any, node: Any, reason: str) -> None:
        seen.refusals[node.name] = reason
        explain(self, node, reason)

    def keep(graph: Any, constants: Any) -> Any:
        blob = serialize(graph, constants)
        seen.graphs[bytes(blob)] = graph
        return blob

    # The partitioner's reasons go to a log only, and the graph behind a delegate's bytes is dropped.
    listening = replaced(WhyNoPartition, "__call__", listen)
    keeping = replaced(xnnpack_preprocess, "serialize_xnnpack_binary", keep)
    with listening, keeping:
        yield seen
