"""Why a model takes the kernels it does: its nodes with their predictions, in groups that a reader can act on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from etprof.analysis.graph.work import build_work
from etprof.analysis.kernels.cases import find_case
from etprof.analysis.predicted_kernels import PredictedVariant, check_predictions, find_disagreements, place_node
from etprof.core.explanation import ExplainedNode, Explanation, KernelGroup, LeftGroup
from etprof.core.graph import GraphNode
from etprof.core.loaded_run import LoadedRun
from etprof.core.model import ExportMeta
from etprof.core.plan import Variant
from etprof.core.predictions import KernelTable, NodePrediction
from etprof.core.refusals import find_refusal, plain_operator, tell_reason
from etprof.core.report import Report, VariantReport

# Of the time of an inference, by partition and number of the node.
Shares = Mapping[tuple[int | None, int], float]
_Row = TypeVar("_Row")


def explain_model(
    predictions: Sequence[NodePrediction],
    table: KernelTable | None,
    *,
    model: str,
    method: str = "",
    meta: ExportMeta | None = None,
    shares: Shares | None = None,
) -> Explanation:
    """Without `shares` groups are ranked by their multiply-accumulates; `meta` has the partitioner's own reasons."""
    nodes = tuple(_describe(each, shares) for each in predictions)
    whole = sum(node.macs or 0 for node in nodes)
    outside = [(each.node, node) for each, node in zip(predictions, nodes, strict=True) if not node.is_delegated]
    return Explanation(
        model=model,
        method=method,
        executorch=table.executorch if table else "",
        executorch_commit=table.executorch_commit if table else "",
        nodes=nodes,
        groups=_group([node for node in nodes if node.is_delegated], whole),
        left=_group_left(outside, meta),
    )


def explain_variant(
    predicted: PredictedVariant, report: VariantReport, *, model: str, method: str, meta: ExportMeta | None
) -> Explanation:
    """With the shares of time that the operators of a variant have, where any is mapped to its node, as in no workload.

    Packing and clamping are their node's.
    """
    nodes = {identity: each.node for identity, each in predicted.by_operator.items()}
    shares: dict[tuple[int | None, int], float] = {}
    for row in report.operators:
        if row.identity in nodes:
            place = place_node(row.identity, nodes[row.identity])
            shares[place] = shares.get(place, 0.0) + row.share
    return explain_model(
        predicted.predictions, predicted.table, model=model, method=method, meta=meta,
        shares=shares or None,
    )  # fmt: skip


def explain_programs(
    report: Report, run: LoadedRun, predicted: Mapping[Variant, PredictedVariant]
) -> tuple[Explanation, ...]:
    """One for each program whose graph is known; the first is that of the variant to improve."""
    known = [each for each in (*report.to_improve[-1:], *report.variants) if each.variant in predicted]
    chosen: dict[tuple[str, ...], VariantReport] = {}
    for each in (each for each in known if predicted[each.variant].predictions):
        record = run.of(each.variant).record
        chosen.setdefault((record.model_sha256, record.program.method), each)
    return tuple(_explain_measured(each, run, predicted[each.variant]) for each in chosen.values())


def _explain_measured(report: VariantReport, run: LoadedRun, predicted: PredictedVariant) -> Explanation:
    loaded = run.of(report.variant)
    explained = explain_variant(
        predicted, report, model=loaded.model.name, method=loaded.method, meta=loaded.record.export_meta
    )
    return replace(explained, variant=report.variant if report.operators else None)


def add_explanation(report: Report, predicted: Mapping[Variant, PredictedVariant], explained: Explanation) -> Report:
    """The report with an explanation, and a finding for what was predicted wrongly."""
    checks = check_predictions(report, predicted)
    return replace(
        report,
        findings=(*report.findings, *find_disagreements(checks)),
        explanation=replace(explained, checks=checks),
    )


def _describe(prediction: NodePrediction, shares: Shares | None) -> ExplainedNode:
    node = prediction.node
    work = build_work(node)
    return ExplainedNode(
        partition=prediction.partition,
        index=node.index,
        type=node.type,
        kind=work.kind,
        data_type=_name_types(node),
        module_path=node.module_path,
        shapes=work.shapes,
        macs=work.macs,
        share=None if shares is None else shares.get((prediction.partition, node.index), 0.0),
        is_compute=prediction.is_compute,
        families=prediction.families,
        obstacle=prediction.obstacle or "",
        why=prediction.why,
        change=prediction.change,
    )


def _name_types(node: GraphNode) -> str:
    """fp32, or qint8, qcint8 weights; of an operator that was not delegated what it reads first."""
    case = find_case(node)
    read = case.inputs or next((tensor.dtype for tensor in (*node.inputs, *node.outputs)), "")
    return f"{read}, {case.weights} weights" if case.weights not in ("", read) else read


def _group(nodes: Sequence[ExplainedNode], whole_macs: int) -> tuple[KernelGroup, ...]:
    """Convolutions and products first, the largest part of the time or of the multiply-accumulates first."""
    found = _split(
        nodes,
        lambda node: (
            node.kind, node.data_type, node.is_compute, tuple(node.families.items()), node.obstacle, node.why,
            node.change,
        ),
    )  # fmt: skip
    groups = [_build_group(rows, whole_macs) for rows in found]
    return tuple(sorted(groups, key=lambda g: (not g.is_compute, -(g.share or 0.0), -(g.macs_share or 0.0), -g.count)))


def _build_group(rows: Sequence[ExplainedNode], whole_macs: int) -> KernelGroup:
    first = rows[0]
    macs = [row.macs for row in rows]
    known = sum(each for each in macs if each is not None)
    return KernelGroup(
        kind=first.kind,
        data_type=first.data_type,
        count=len(rows),
        is_compute=first.is_compute,
        families=first.families,
        obstacle=first.obstacle,
        why=first.why,
        change=first.change,
        modules=_distinct(row.module_path for row in rows),
        shapes=_distinct(row.shapes for row in rows),
        share=_sum_shares(rows),
        macs_share=known / whole_macs if whole_macs and None not in macs else None,
    )


def _group_left(outside: Sequence[tuple[GraphNode, ExplainedNode]], meta: ExportMeta | None) -> tuple[LeftGroup, ...]:
    reasons = {id(row): _find_reason(node, meta) for node, row in outside}
    groups = []
    for pairs in _split(outside, lambda pair: (pair[1].type, pair[1].data_type, reasons[id(pair[1])])):
        node, first = pairs[0]
        rows = [row for _, row in pairs]
        reason = reasons[id(first)]
        refusal = find_refusal(node.type, node, reason)
        groups.append(
            LeftGroup(
                operator=first.type,
                count=len(rows),
                data_type=first.data_type,
                reason=reason,
                advice=refusal.advice if refusal else "",
                before=refusal.before if refusal else "",
                instead=refusal.instead if refusal else "",
                modules=_distinct(row.module_path for row in rows),
                shapes=_distinct(row.shapes for row in rows),
                share=_sum_shares(rows),
            )
        )
    return tuple(sorted(groups, key=lambda group: (-(group.share or 0.0), -group.count)))


def _find_reason(node: GraphNode, meta: ExportMeta | None) -> str:
    """What the partitioner said when the model was exported; else what the finished program tells."""
    left = meta.delegation.left if meta else ()
    given = [each.reason for each in left if plain_operator(each.operator) == plain_operator(node.type) and each.reason]
    return "; ".join(dict.fromkeys(given)) or tell_reason(node)


def _split(rows: Iterable[_Row], key: Callable[[_Row], object]) -> list[list[_Row]]:
    """In groups of the same key, in the order in which each came first."""
    groups: dict[object, list[_Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.values())


def _sum_shares(rows: Sequence[ExplainedNode]) -> float | None:
    known = [row.share for row in rows if row.share is not None]
    return sum(known) if len(known) == len(rows) else None


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, texts)))
