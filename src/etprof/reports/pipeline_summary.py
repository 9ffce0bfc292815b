"""The short summary of a pipeline run that stands beside the report: latency of each arm, and the verdicts."""

import json
from dataclasses import asdict

from etprof.core.report import Report
from etprof.core.units import format_ms, format_percent
from etprof.reports.sentences import verdict_sentence

# 1: the first.
SCHEMA_VERSION = 1


def render_json(report: Report, stop_reason: str) -> str:
    summary = {
        "schema_version": SCHEMA_VERSION,
        "model": report.model,
        "stopped_because": stop_reason,
        "arms": [
            {
                "experiment": arm.experiment,
                "threads": arm.threads,
                "features_hidden": arm.features_hidden,
                "runner": arm.runner,
                "robust_statistics": asdict(arm.latency) if arm.latency else None,
            }
            for arm in report.arms
        ],
        "comparisons": [
            {
                "baseline": comparison.baseline,
                "candidate": comparison.candidate,
                "threads": comparison.threads,
                "speedup": asdict(comparison.speedup) if comparison.speedup else None,
                "noise_floor": comparison.noise_floor,
                "p_value": comparison.p_value,
                "verdict": comparison.verdict.value,
                "reason": comparison.reason,
            }
            for comparison in report.comparisons
        ],
        "findings": [asdict(finding) for finding in report.findings],
    }
    return json.dumps(summary, indent=2) + "\n"


def render_markdown(report: Report, stop_reason: str) -> str:
    lines = [f"# Pipeline summary: `{report.model}`", ""]
    lines += [f"- {verdict_sentence(comparison)}" for comparison in report.comparisons]
    lines += [f"- The run ended because {stop_reason}.", "", "| Arm | Median | MAD | CV | Blocks | Iterations |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for arm in report.arms:
        if arm.latency is None:
            lines.append(f"| {arm.label} | not timed | | | | |")
            continue
        times = f"{format_ms(arm.latency.median_ms)} | {format_ms(arm.latency.mad_ms)}"
        counts = f"{arm.latency.blocks} | {arm.latency.samples}"
        lines.append(f"| {arm.label} | {times} | {format_percent(arm.latency.cv)} | {counts} |")
    lines += ["", *(f"- {f.kind}: {f.message} {f.advice}".rstrip() for f in report.findings)]
    return "\n".join(lines).rstrip() + "\n"
