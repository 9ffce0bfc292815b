"""What a run shows about the exported model itself: findings that are no doubt about a measurement."""

from collections.abc import Iterator, Mapping

from etprof.analysis.graph.data_movement import list_between_calls
from etprof.analysis.graph.precision import find_cuts, find_fp32_compute, find_unshrunk_weights
from etprof.core.findings import Finding, FindingKind
from etprof.core.graph import GraphNode
from etprof.core.loaded_run import LoadedRun, LoadedVariant
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.core.report import VariantReport
from etprof.core.run import ProgramRecord, Session
from etprof.core.runtimes import EXECUTORCH, RUNTIMES

Nodes = Mapping[OperatorId, GraphNode]


def find_model_findings(
    run: LoadedRun, reports: Mapping[Variant, VariantReport], nodes: Mapping[Variant, Nodes]
) -> tuple[Finding, ...]:
    """Each once, also where several sessions ran the same model."""
    found: list[Finding] = []
    for session in run.sessions:
        own = [loaded for loaded in run.variants if loaded.session is session]
        traced = [loaded for loaded in own if reports[loaded.variant].operators]
        timed = [loaded for loaded in traced if reports[loaded.variant].latency] or traced
        for record in session.programs:
            found += _find_other_versions(session, record)
            same = [loaded for loaded in own if loaded.record is record]
            for loaded in same[:1]:
                if record.export_meta and loaded.graph:
                    found += find_unshrunk_weights(record.export_meta, loaded.graph)
            for loaded in [each for each in timed if each in same][-1:]:
                found += _find_cuts(loaded, reports[loaded.variant])
        for loaded in timed:
            if meta := loaded.record.export_meta:
                operators, of = reports[loaded.variant].operators, nodes[loaded.variant]
                library = "XNNPACK" if loaded.runtime == EXECUTORCH else RUNTIMES[loaded.runtime].title
                found += find_fp32_compute(meta, loaded.variant, operators, of, library)
    return tuple(dict.fromkeys(found))


def _find_other_versions(session: Session, record: ProgramRecord) -> Iterator[Finding]:
    """A program is written for the runtime of its own version: on another it may fail, or run other kernels."""
    exported = (record.export_meta.versions.get("executorch") or "") if record.export_meta else ""
    results = [r for r in session.results if r.is_ok and r.experiment in record.experiments]
    runtimes = sorted({_release(r.executorch_version) for r in results if r.executorch_version})
    others = [runtime for runtime in runtimes if exported and runtime != _release(exported)]
    if others:
        yield Finding(
            FindingKind.VERSIONS_DIFFER,
            f"{record.program.model.name} was exported with ExecuTorch {_release(exported)}, and its runner is of "
            f"{', '.join(others)}.",
            "Export the model again with the installed version, or use a runner of the version it was exported with.",
        )


def _release(version: str) -> str:
    """The version without what it was built for, such as +cpu."""
    return version.partition("+")[0]


def _find_cuts(loaded: LoadedVariant, report: VariantReport) -> Iterator[Finding]:
    calls = {row.identity.call for row in report.operators if row.delegated}
    between = list_between_calls(loaded.traces[0])
    yield from find_cuts(loaded.record.export_meta, between, report.operators, partitions=len(calls))
