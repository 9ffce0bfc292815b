"""Puts what was sampled into a report: evidence in its variants, kernels at operators, contradictions as findings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from etprof.analysis.kernels.evidence import build_evidence
from etprof.analysis.kernels.kernel_doubts import find_kernel_doubts
from etprof.core.coverage import Coverage
from etprof.core.findings import Finding, FindingKind
from etprof.core.loaded_run import LoadedRun, LoadedVariant
from etprof.core.plan import TRACE, Variant
from etprof.core.report import KernelEvidence, Report, VariantReport

# What a sampled variant and the timed one like it share: hidden features and threads.
Likeness = tuple[tuple[str, ...], int]


def add_evidence(report: Report, run: LoadedRun, coverage: Coverage | None = None) -> Report:
    """Sampled variants carry the evidence. The operators of a timed one get the kernels of the sampled one like it."""
    hidden = [set(loaded.results[0].features_hidden) for loaded in run.variants if loaded.results]
    evidences = {loaded.variant: _build(loaded, hidden, coverage) for loaded in run.variants if loaded.sampled}
    donors = {_likeness(run.of(variant)): evidence for variant, evidence in evidences.items()}
    variants = tuple(_complete(variant, run, evidences, donors) for variant in report.variants)
    findings = (*report.findings, *_unsampled(run, evidences), *find_kernel_doubts(list(evidences.values())))
    return replace(report, variants=variants, findings=findings)


def _build(loaded: LoadedVariant, hidden: Sequence[set[str]], coverage: Coverage | None) -> KernelEvidence:
    result = loaded.results[0]
    return build_evidence(
        loaded.variant,
        loaded.sampled,
        seen=result.features_seen,
        hidden=result.features_hidden,
        elsewhere=hidden,
        version=result.executorch_version,
        coverage=coverage,
        times_are_real=loaded.times_are_real,
    )


def _likeness(loaded: LoadedVariant) -> Likeness:
    return tuple(sorted(loaded.experiment.hide_isa)), loaded.variant.threads


def _complete(
    report: VariantReport,
    run: LoadedRun,
    evidences: Mapping[Variant, KernelEvidence],
    donors: Mapping[Likeness, KernelEvidence],
) -> VariantReport:
    own = evidences.get(report.variant)
    source = own or donors.get(_likeness(run.of(report.variant)))
    if source is None:
        return report
    kernels = {(row.identity, row.name): row.kernels for row in source.operators}
    operators = tuple(replace(row, kernels=kernels.get((row.identity, row.name), ())) for row in report.operators)
    return replace(report, operators=operators, evidence=own)


def _unsampled(run: LoadedRun, evidences: Mapping[Variant, KernelEvidence]) -> list[Finding]:
    return [
        Finding(
            FindingKind.NOT_SAMPLED,
            f"{loaded.variant.label}: no kernels were sampled; its runner is {loaded.results[0].runner}.",
            "Use the native runner on Linux: --runner native.",
        )
        for loaded in run.variants
        if loaded.experiment.mode == TRACE and loaded.variant not in evidences and loaded.results
    ]
