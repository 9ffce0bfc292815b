"""The short summary of a pipeline run that stands beside the report: latency of each variant, and the verdicts."""

import json
from dataclasses import asdict

from etprof.core.findings import group_findings
from etprof.core.report import Report
from etprof.core.units import format_ms, format_percent
from etprof.reports.markdown import escape_text
from etprof.reports.program_tables import list_sentences
from etprof.reports.sentences import finding_sentence, finding_title, verdict_sentence

# 1: the first. 2: arms are called variants, and a comparison names a variant on each side.
SCHEMA_VERSION = 2


def render_json(report: Report, stop_reason: str) -> str:
    summary = {
        "schema_version": SCHEMA_VERSION,
        "model": report.model,
        "stopped_because": stop_reason,
        "variants": [
            {
                "experiment": variant.experiment,
                "threads": variant.threads,
                "features_hidden": variant.features_hidden,
                "runner": variant.runner,
                "robust_statistics": asdict(variant.latency) if variant.latency else None,
            }
            for variant in report.variants
        ],
        "comparisons": [
            {
                "baseline": asdict(comparison.baseline),
                "candidate": asdict(comparison.candidate),
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
    lines = [f"# Pipeline summary: {escape_text(report.model)}", ""]
    lines += [f"- {escape_text(verdict_sentence(comparison))}" for comparison in report.comparisons]
    lines += [f"- {escape_text(sentence)}" for sentence in list_sentences(report)]
    lines += [f"- Stopped: {escape_text(stop_reason)}.", "", "| Variant | Median | MAD | CV | Blocks | Iterations |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for variant in report.measured:
        if variant.latency is None:
            lines.append(f"| {escape_text(variant.label)} | not timed | | | | |")
            continue
        times = f"{format_ms(variant.latency.median_ms)} | {format_ms(variant.latency.mad_ms)}"
        counts = f"{variant.latency.blocks} | {variant.latency.samples}"
        lines.append(f"| {escape_text(variant.label)} | {times} | {format_percent(variant.latency.cv)} | {counts} |")
    groups = group_findings(report.findings)
    lines += [
        "",
        *(f"- {escape_text(finding_title(group))}: {escape_text(finding_sentence(group))}" for group in groups),
    ]
    return "\n".join(lines).rstrip() + "\n"
