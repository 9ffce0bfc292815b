"""What `etprof export` says of the files it made: the facts of one, a table of many."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from etprof.core.errors import EtprofError
from etprof.core.layout import export_debug_path
from etprof.core.refusals import find_refusal, plain_operator
from etprof.core.runtimes import RUNTIMES
from etprof.core.units import format_bytes, format_percent
from etprof.reports.text_table import Column, TextTable

if TYPE_CHECKING:
    from etprof.core.graph import GraphNode
    from etprof.core.model import Artifact, Delegation, Numerics, Weights
    from etprof.core.runtimes import ConvertedProgram
    from etprof.export.request import ExportRequest


def artifact_facts(artifact: "Artifact") -> dict[str, str]:
    meta = artifact.meta
    delegation = meta.delegation
    total = delegation.operators_delegated + delegation.operators_left
    return {
        "file": str(artifact.pte),
        "size": format_bytes(meta.pte.bytes),
        "weights": _describe_weights(meta.weights),
        "partitions": str(delegation.partitions),
        "delegated": f"{format_percent(delegation.delegated_share)} of {total} operators",
        "left out": _describe_left_out(delegation),
        "SNR": _describe_snr(meta.numerics),
    }


def reason_lines(artifact: "Artifact", left: "Sequence[GraphNode]" = ()) -> Iterator[str]:
    """Why operators were left out, and what to write instead; nothing where the backend takes none.

    `left` are their nodes where the graph was saved: some advice depends on the shapes.
    """
    nodes = {plain_operator(node.type): node for node in reversed(left)}
    for each in artifact.meta.delegation.left if artifact.meta.backend != "portable" else ():
        reason = each.reason or "the partitioner gave no reason"
        yield f"{each.count} x {each.operator} left out: {reason}"
        if refusal := find_refusal(each.operator, nodes.get(plain_operator(each.operator)), each.reason):
            yield f"  Change: {refusal.advice}"
            if refusal.instead:
                yield f"  Instead of `{refusal.before}` write `{refusal.instead}`."


def debug_line(artifact: "Artifact") -> str:
    return f"intermediate programs: {export_debug_path(artifact.pte)}"


def converted_line(artifact: "Artifact", program: "ConvertedProgram") -> str:
    place, size = artifact.pte.parent / program.program.file, format_bytes(program.program.bytes)
    return f"for {RUNTIMES[program.runtime].title}: {place}, {size}, {_describe_snr(program.numerics)}"


def matrix_table(requests: "Sequence[ExportRequest]", results: "Sequence[Artifact | EtprofError]") -> TextTable:
    metas = [None if isinstance(result, EtprofError) else result.meta for result in results]
    columns = [
        Column("model", [request.model for request in requests]),
        Column("precision", [_describe_precision(request) for request in requests]),
        Column("result", [_describe_result(result) for result in results]),
        Column("size", [format_bytes(meta.pte.bytes) if meta else "" for meta in metas], 2, right=True),
        Column("partitions", [str(meta.delegation.partitions) if meta else "" for meta in metas], 4, right=True),
        Column(
            "delegated",
            [format_percent(meta.delegation.delegated_share) if meta else "" for meta in metas],
            3,
            right=True,
        ),
        Column("SNR", [_describe_snr(meta.numerics) if meta else "" for meta in metas], 1),
    ]
    return TextTable("", columns, more="a wider terminal shows all")


def matrix_lines(requests: "Sequence[ExportRequest]", results: "Sequence[Artifact | EtprofError]") -> Iterator[str]:
    """File names, reasons and operators that were left out, whole: they are there to be copied."""
    for request, result in zip(requests, results, strict=True):
        if isinstance(result, EtprofError):
            yield f"{request.model}, {_describe_precision(request)}: {result.message}"
            continue
        yield str(result.pte)
        if result.meta.delegation.left:
            yield f"  not delegated: {_describe_left_out(result.meta.delegation)}"


def describe_cell(result: "Artifact | EtprofError") -> str:
    """How one export of many ended, in a line."""
    if isinstance(result, EtprofError):
        return f"failed: {result.message}"
    return f"{_describe_result(result)}, {format_bytes(result.meta.pte.bytes)}, {_describe_snr(result.meta.numerics)}"


def _describe_result(result: "Artifact | EtprofError") -> str:
    return "failed" if isinstance(result, EtprofError) else "kept" if result.reused else "exported"


def _describe_precision(request: "ExportRequest") -> str:
    return request.precision + (f" {request.quantization.label}" if request.quantization else "")


def _describe_left_out(delegation: "Delegation") -> str:
    counts: Counter[str] = Counter()
    for each in delegation.left:
        counts[each.operator] += each.count
    return ", ".join(f"{count} {operator}" for operator, count in counts.items()) or "none"


def _describe_weights(weights: "Weights") -> str:
    if weights.source == "random":
        return f"random, seed {weights.seed}"
    if weights.source == "model":
        return "the model's own"
    return f"{weights.file} ({(weights.file_sha256 or '')[:12]})"


def _describe_snr(numerics: "Numerics") -> str:
    worst = numerics.worst_snr_db
    return "exact" if worst is None else f"{worst:.1f} dB (floor {numerics.floor_db:g} dB)"
