"""Surprises of an export: another precision than was asked for, a file that did not shrink, a model cut into pieces."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from etprof.core.categories import COMPUTE, plain_name
from etprof.core.data_types import find_data_type
from etprof.core.findings import Finding, FindingKind
from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.model import Delegation, ExportMeta
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.core.rows import OperatorRow
from etprof.core.units import format_bytes, format_count, format_ms, format_percent

# Weights of which this share is stored as fp32 do not make a file smaller.
_NOT_SHRUNK = 0.5
# A model in this many pieces pays for the cuts.
_MANY_PARTITIONS = 5
_LISTED = 3


def find_fp32_compute(
    meta: ExportMeta,
    variant: Variant,
    operators: Sequence[OperatorRow],
    nodes: Mapping[OperatorId, GraphNode],
    library: str = "XNNPACK",
) -> Iterator[Finding]:
    """Convolutions and GEMMs that ran in fp32, as their names say, although the export was to be fp16 or INT8.

    `library` has the kernels.
    """
    wanted = _wanted_precision(meta)
    compute = [row for row in operators if row.delegated and row.category in COMPUTE]
    behind = [row for row in compute if find_data_type(row.name).startswith("fp32")]
    if not wanted or not behind:
        return
    longest = max(behind, key=lambda row: row.mean_ms)
    node = nodes.get(longest.identity)
    given = next((tensor.dtype for tensor in node.inputs if not tensor.constant), "") if node else ""
    where = f" in {longest.module_path}" if longest.module_path else ""
    verb = "runs" if len(behind) == 1 else "run"
    yield Finding(
        FindingKind.PRECISION,
        f"{variant.label}: the model was exported as {wanted}, but {len(behind)} of "
        f"{format_count(len(compute), 'Convolution and GEMM operator')} {verb} in fp32 "
        f"({format_ms(sum(row.mean_ms for row in behind))}); the longest is {longest.name}{where}.",
        _explain_fp32(wanted, given, library),
    )


def find_unshrunk_weights(meta: ExportMeta, graph: ModelGraph) -> Iterator[Finding]:
    """An fp16 file whose weights are stored as fp32: XNNPACK's serialiser keeps the filters of convolutions so."""
    if meta.precision != "fp16":
        return
    stored: Counter[str] = Counter()
    filters: dict[tuple[int, int], str] = {}
    for number, partition in enumerate(graph.partitions):
        for node in partition:
            for tensor in (each for each in node.inputs if each.constant):
                stored[tensor.dtype] += (tensor.bits or 0) // 8
                if tensor.dtype == "fp32" and len(tensor.shape) > 1:
                    filters[number, node.index] = node.module_path
    whole = sum(stored.values())
    if not whole or stored["fp32"] < _NOT_SHRUNK * whole:
        return
    modules = list(dict.fromkeys(filter(None, filters.values())))
    yield Finding(
        FindingKind.FILE_SIZE,
        f"The model was exported as fp16, but {format_bytes(stored['fp32'])} of its {format_bytes(whole)} of weights "
        f"({format_percent(stored['fp32'] / whole, 0)}) are stored as fp32: the filters of "
        f"{format_count(len(filters), 'layer')}{_listed(modules)}. The file has {format_bytes(meta.pte.bytes)}.",
        "Expect no smaller file from fp16: ExecuTorch stores the filters of convolutions as fp32. INT8 is smaller.",
    )


def find_cuts(
    meta: ExportMeta | None,
    between: Mapping[int, Sequence[str]],
    operators: Sequence[OperatorRow],
    partitions: int,
) -> Iterator[Finding]:
    """Many partitions and the operator that cuts them; `between` has what runs after each delegate call."""
    if partitions < _MANY_PARTITIONS:
        return
    cutters = Counter(name for call in range(partitions - 1) for name in dict.fromkeys(between.get(call, ())))
    if not cutters:
        return
    event, cuts = cutters.most_common(1)[0]
    rows = [row for row in operators if not row.delegated and plain_name(row.name) == plain_name(event)]
    in_order = sorted(rows, key=lambda row: row.identity.order)
    modules = list(dict.fromkeys(row.module_path for row in in_order if row.module_path))
    operator = _operator_of(event)
    reason = _find_reason(meta.delegation, operator) if meta else ""
    yield Finding(
        FindingKind.PARTITIONS,
        f"The model runs as {partitions} partitions: {operator} is not delegated and cuts it in {cuts} of "
        f"{format_count(partitions - 1, 'place')}{_listed(modules)}."
        + (f" The partitioner says: {reason.rstrip('.')}." if reason else ""),
        f"Replace {operator} with an operator that XNNPACK takes in this precision; each cut costs a delegate call and "
        "often two layout changes.",
    )


def _wanted_precision(meta: ExportMeta) -> str:
    """What every convolution and GEMM is expected to run in; empty where fp32 is expected for some of them."""
    if meta.quantization and meta.quantization.get("scheme") == "static":
        return "INT8"
    return "fp16" if meta.precision == "fp16" else ""


def _explain_fp32(wanted: str, given: str, library: str) -> str:
    if given in ("fp32", "float32"):
        return "The model itself computes in fp32 there: look for a cast, or an operator without a quantisation rule."
    if wanted == "fp16":
        advice = "compare the latency with an fp32 export."
        return f"{library} has no fp16 kernel for them on this CPU and converts: {advice}"
    return "The quantiser skipped them: `etprof export --debug` keeps the programs that show why."


def _find_reason(delegation: Delegation, operator: str) -> str:
    return next((left.reason for left in delegation.left if _base(left.operator) == operator), "")


def _operator_of(event: str) -> str:
    """gelu for native_call_gelu.out #3."""
    return plain_name(event).split(".")[0]


def _base(operator: str) -> str:
    """gelu for aten.gelu.default."""
    return operator.split(".")[1] if operator.count(".") else operator


def _listed(modules: Sequence[str]) -> str:
    if not modules:
        return ""
    more = f" and {len(modules) - _LISTED} more" if len(modules) > _LISTED else ""
    return f" ({', '.join(modules[:_LISTED])}{more})"
