"""Puts what was sampled into a report: evidence in its variants, kernels at operators, contradictions as findings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from etprof.analysis.kernels.evidence import build_evidence
from etprof.analysis.kernels.kernel_doubts import find_kernel_doubts
from etprof.analysis.kernels.missing_kernels import Expected
from etprof.core.findings import Finding, FindingKind
from etprof.core.kernel_evidence import KernelEvidence
from etprof.core.loaded_run import LoadedRun, LoadedVariant
from etprof.core.plan import TRACE, Variant
from etprof.core.report import Report, VariantReport

# What a sampled variant and the timed one like it share; see `_likeness`.
Likeness = tuple[object, ...]


def add_evidence(report: Report, run: LoadedRun, expected: Mapping[Variant, Expected] | None = None) -> Report:
    """Sampled variants carry the evidence. The operators of a timed one get the kernels of the sampled one like it."""
    hidden = [set(loaded.results[0].features_hidden) for loaded in run.variants if loaded.results]
    known = expected or {}
    evidences = {
        loaded.variant: _build(loaded, hidden, known.get(loaded.variant)) for loaded in run.variants if loaded.sampled
    }
    donors = {_likeness(run.of(variant)): evidence for variant, evidence in evidences.items()}
    variants = tuple(_complete(variant, run, evidences, donors) for variant in report.variants)
    findings = (*report.findings, *_unsampled(run, evidences), *find_kernel_doubts(list(evidences.values())))
    return replace(report, variants=variants, findings=findings)


def _build(loaded: LoadedVariant, hidden: Sequence[set[str]], expected: Expected | None) -> KernelEvidence:
    result = loaded.results[0]
    return build_evidence(
        loaded.variant,
        loaded.sampled,
        seen=result.features_seen,
        hidden=result.features_hidden,
        elsewhere=hidden,
        expected=expected,
        times_are_real=loaded.times_are_real,
    )


def _likeness(loaded: LoadedVariant) -> Likeness:
    """What decides which kernels execute: the model, its method, the runner, what was hidden from it, cores, threads.

    Our runner is one program wherever it lies, and says what was hidden. Of a stock one only its path is known.
    """
    experiment, first = loaded.experiment, next(iter(loaded.results), None)
    runner = "" if first is None or not first.is_stock else str(experiment.runner_path)
    hidden = first.features_hidden if first else experiment.hide_isa
    return (
        loaded.record.model_sha256, loaded.method, runner, tuple(sorted(hidden)), experiment.cpu_affinity,
        loaded.variant.threads,
    )  # fmt: skip


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
    """Variants in trace mode that left no samples; where others were sampled, those that no runner of ours timed."""
    return [
        Finding(
            FindingKind.NOT_SAMPLED,
            f"{loaded.variant.label}: no kernels were sampled; its runner is {loaded.results[0].runner}.",
            "Use the native runner on Linux: --runner native, and no `runner_path`.",
        )
        for loaded in run.variants
        if loaded.results and loaded.variant not in evidences
        if loaded.experiment.mode == TRACE or (evidences and loaded.results[0].is_stock)
    ]
