"""From an eager module to an ExecuTorch program: capture, quantise, partition, emit."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from etprof.core.errors import ExportError
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
    """`captured` has each method by its name."""

    captured: dict[str, Any]
    edge: Any
    program: Any
    observed: Observed
    delegation: Delegation


def lower(model: EagerModel, request: ExportRequest, samples: list[Sample], progress: Progress) -> Lowered:
    from executorch.exir import to_edge_transform_and_lower

    captured = _capture_methods(model, request, samples, progress)
    for each in captured.values():
        shorten_stack_traces(each)
    progress("lowering")
    with foreign_code(f"Lowering {request.model!r} to {request.backend}"), observe() as observed:
        edge = to_edge_transform_and_lower(
            captured,
            partitioner=_partitioners(request),
            constant_methods=dict(model.constant_methods) or None,
            generate_etrecord=True,
            compile_config=_compile_config(request),
        )
    lowered = {name: edge.exported_program(name) for name in captured}
    modules = [each.graph_module for each in lowered.values()]
    delegation = describe_delegation(modules, observed.refusals, _operators_with_a_rule(request))
    progress("emitting")
    with foreign_code(f"Emitting {request.model!r}"):
        shares = shares_state(model, lowered)
        program = edge.to_executorch(_backend_config(lowered.values(), shares=shares, in_place=request.state_in_place))
    return Lowered(captured, edge, program, observed, delegation)


_CAPTURE_HINT = "The guide to adding a model shows the edits that make a model exportable."


def capture(model: EagerModel, module: Any, name: str) -> Any:
    """A module in the place of the model's own as torch.export captures it."""
    import torch

    with foreign_code(f"Capturing {name!r} with torch.export", _CAPTURE_HINT):
        return torch.export.export(module, model.args, dict(model.kwargs), dynamic_shapes=model.dynamic_shapes)


def _capture_methods(
    model: EagerModel, request: ExportRequest, samples: list[Sample], progress: Progress
) -> dict[str, Any]:
    quantization = request.quantization
    progress("quantising" if quantization else "capturing")
    if quantization and quantization.scheme.startswith("linear"):
        # Once for all methods, which may share layers.
        with foreign_code(f"Quantising {request.model!r} ({quantization.label})"):
            quantize_linear_layers(model.module, quantization)
    return {name: _capture(part, request, samples) for name, part in model.entry_points.items()}


def _capture(model: EagerModel, request: ExportRequest, samples: list[Sample]) -> Any:
    def export(module: Any) -> Any:
        return capture(model, module, request.model)

    quantization = request.quantization
    if quantization is None or quantization.scheme.startswith("linear"):
        return export(model.module)
    with foreign_code(f"Quantising {request.model!r} ({quantization.label})"):
        # Nothing is calibrated where ranges are found at run time: one pass has to reach every node.
        passes = samples or [(model.args, model.kwargs)]
        return export(quantize_graph(export(model.module).module(), quantization, passes))


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


def shares_state(model: EagerModel, lowered: Mapping[str, Any]) -> bool:
    """Whether several methods change the same buffers. ExecuTorch shares by name, so no others may have that name."""
    known: dict[str, Any] = {}
    found: set[bool] = set()
    for method, part in model.entry_points.items():
        own = dict(part.module.named_buffers())
        for name in lowered[method].graph_signature.buffers_to_mutate.values():
            found |= {known[name] is own[name]} if name in known else set()
            known[name] = own[name]
    if len(found) > 1:
        raise ExportError(
            "Methods of the model share some of their state, and have other state under the same names.",
            hint="Give buffers that are not shared names of their own.",
        )
    return found == {True}


def _backend_config(methods: Collection[Any], *, shares: bool, in_place: bool) -> Any:
    """For a model that keeps state: by default ExecuTorch drops the names and the initial values of its buffers, and
    computes a new tensor for each change of one, which it copies back."""
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.passes import MemoryPlanningPass
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    if not any(each.graph_signature.buffers_to_mutate for each in methods):
        return None
    begin_with_values = list(dict.fromkeys(name for each in methods for name in _list_initial_values(each)))
    passes = [InitializedMutableBufferPass(begin_with_values)] if begin_with_values else []
    planning = {"memory_planning_pass": MemoryPlanningPass(share_mutable_buffers=True)} if shares else {}
    return ExecutorchBackendConfig(
        passes=passes, emit_mutable_buffer_names=True, run_reinplace_pass=in_place, **planning
    )


def _list_initial_values(exported: Any) -> list[str]:
    """The inputs of a graph that are buffers which it changes and which do not start with zeros."""
    signature = exported.graph_signature
    mutated = set(signature.buffers_to_mutate.values())
    values = dict(exported.named_buffers())
    return [
        name for name, buffer in signature.inputs_to_buffers.items() if buffer in mutated and bool(values[buffer].any())
    ]


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
