"""Puts what was sampled into a report: evidence in its arms, kernels beside their operators, contradictions among its
findings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from etprof.analysis.kernel_counts import SampledBlock
from etprof.analysis.kernel_findings import find_kernel_doubts
from etprof.analysis.kernels import build_evidence
from etprof.core.plan import TRACE, Experiment
from etprof.core.report import ArmReport, Finding, KernelEvidence, Report
from etprof.core.run import Session

ArmKey = tuple[str, int]


def add_evidence(report: Report, session: Session, sampled: Mapping[ArmKey, Sequence[SampledBlock]]) -> Report:
    """Sampled arms carry the evidence. The operators of a timed arm get the kernels of the sampled one like it."""
    evidences = {key: _build(session, key, blocks) for key, blocks in sampled.items()}
    donors = {_likeness(session.plan.experiment(name), threads): e for (name, threads), e in evidences.items()}
    arms = tuple(_complete(arm, session, evidences, donors) for arm in report.arms)
    findings = (*report.findings, *_unsampled(session, evidences), *find_kernel_doubts(list(evidences.values())))
    return replace(report, arms=arms, findings=findings)


def _build(session: Session, key: ArmKey, blocks: Sequence[SampledBlock]) -> KernelEvidence:
    result = session.results_of(*key)[0]
    return build_evidence(
        *key,
        blocks,
        seen=result.features_seen,
        hidden=result.features_hidden,
        version=result.executorch_version,
        times_are_real=session.device.times_are_real,
    )


def _likeness(experiment: Experiment, threads: int) -> tuple[tuple[str, ...], int]:
    return tuple(sorted(experiment.hide_isa)), threads


def _complete(
    arm: ArmReport,
    session: Session,
    evidences: Mapping[ArmKey, KernelEvidence],
    donors: Mapping[tuple[tuple[str, ...], int], KernelEvidence],
) -> ArmReport:
    own = evidences.get((arm.experiment, arm.threads))
    source = own or donors.get(_likeness(session.plan.experiment(arm.experiment), arm.threads))
    if source is None:
        return arm
    kernels = {(row.identity, row.name): row.kernels for row in source.operators}
    operators = tuple(replace(row, kernels=kernels.get((row.identity, row.name), ())) for row in arm.operators)
    return replace(arm, operators=operators, evidence=own)


def _unsampled(session: Session, evidences: Mapping[ArmKey, KernelEvidence]) -> list[Finding]:
    return [
        Finding(
            "not sampled",
            f"{experiment.name}, {threads} thread{'s' if threads != 1 else ''}: no kernels were sampled; "
            f"its runner is {session.results_of(experiment.name, threads)[0].runner}.",
            "Use the native runner on Linux: --runner native.",
        )
        for experiment, threads in session.plan.arms
        if experiment.mode == TRACE
        and (experiment.name, threads) not in evidences
        and session.results_of(experiment.name, threads)
    ]
