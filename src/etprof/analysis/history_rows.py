"""A run's analysis as the rows that a history keeps of it."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from etprof.analysis.report import RunAnalysis
from etprof.core.report import VariantReport
from etprof.core.run import DeviceInfo, ProgramRecord, Session
from etprof.core.units import NS_PER_MS

Row = Mapping[str, object]


def build_rows(
    analysis: RunAnalysis, *, content_sha256: str, added_at: str, commit: str
) -> list[dict[str, Sequence[Row]]]:
    """For each program of the run, its rows by table: one model's history does not depend on what ran beside it.

    `content_sha256` changes when the run has more blocks than before.
    """
    facts = {"content_sha256": content_sha256, "added_at": added_at, "commit": commit}
    return [_build_program_rows(analysis, record, facts) for record in analysis.run.session.programs]


def _build_program_rows(
    analysis: RunAnalysis, record: ProgramRecord, facts: Mapping[str, str]
) -> dict[str, Sequence[Row]]:
    report, session = analysis.report, analysis.run.session
    run_id = identify_run(session, record)
    known = [variant for variant in report.variants if variant.latency or variant.operators or variant.evidence]
    variants = [each for each in known if _find_program(analysis, each) is record]
    return {
        "runs": [
            {
                "run_id": run_id,
                "folder": str(analysis.run.folder.resolve()),
                "report": "report.html" if "report.html" in session.reports else "",
                **facts,
                **_describe_run(session, record),
            }
        ],
        "variants": [_describe_variant(run_id, variant) for variant in variants],
        "blocks": [*_list_blocks(run_id, session, record)],
        "operators": [row for variant in variants for row in _list_operators(run_id, variant)],
        "categories": [
            {
                "run_id": run_id,
                "variant": variant.variant.stem,
                "category": row.name,
                "mean_ms": row.mean_ms,
                "share": row.share,
            }
            for variant in variants
            for row in variant.categories
        ],
        "findings": [
            {"run_id": run_id, "kind": each.kind.value, "message": each.message, "advice": each.advice}
            for each in report.findings
        ],
    }


def _find_program(analysis: RunAnalysis, variant: VariantReport) -> ProgramRecord:
    """A variant of an earlier run in the same folder belongs to the program of the same model."""
    programs = analysis.run.session.programs
    own = analysis.run.of(variant.variant).record
    same = [each for each in programs if variant.experiment in each.experiments]
    return next(iter((*same, *(each for each in programs if each.model_sha256 == own.model_sha256), *programs)))


def identify_run(session: Session, record: ProgramRecord) -> str:
    """The same wherever its folder is moved to, also after it was resumed; another for every run that was started.

    In a run of several programs each has an identity of its own.
    """
    first = next((result for result in session.results if result.experiment in record.experiments), None)
    facts = [
        session.started_at,
        record.model_sha256,
        session.device.name,
        session.device.cpu_model,
        first.started_at if first else "",
        first.latency_ns if first else (),
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def name_device(device: DeviceInfo) -> str:
    """What tells physical devices apart as far as they say, and stays the same from day to day."""
    return " ".join(dict.fromkeys(filter(None, (device.name, device.model, device.soc or device.cpu_model))))


def name_model(record: ProgramRecord) -> str:
    """The times of a workload are those of sequences, which are compared with no others."""
    workload = record.program.workload
    return f"{record.program.model.stem} ({workload.summary})" if workload else record.program.model.stem


def _describe_run(session: Session, record: ProgramRecord) -> dict[str, object]:
    device, meta = session.device, record.export_meta
    runner = hashlib.sha256(json.dumps(dict(session.runner_sha256), sort_keys=True).encode()).hexdigest()[:16]
    facts = {
        "model digest": record.model_sha256,
        "precision": meta.precision if meta else "",
        "system": device.system,
        "build": device.build,
        "governor": device.governor,
        "runner and its libraries": runner if session.runner_sha256 else "",
        **session.versions,
        **({f"exported with {name}": version for name, version in meta.versions.items()} if meta else {}),
    }
    return {
        "started_at": session.started_at,
        "model": name_model(record),
        "model_sha256": record.model_sha256,
        "precision": meta.precision if meta else "",
        "method": next(
            (r.method_name for r in session.results if r.method_name and r.experiment in record.experiments), ""
        ),
        "device": name_device(device),
        "device_name": device.name,
        "cpu_model": device.cpu_model,
        "architecture": device.architecture,
        "cpu_count": device.cpu_count,
        "system": device.system,
        "governor": device.governor,
        "times_are_real": device.times_are_real,
        "etprof": session.versions.get("etprof", ""),
        "executorch": session.versions.get("executorch", ""),
        "runner_sha256": runner if session.runner_sha256 else "",
        "facts": {name: value for name, value in facts.items() if value},
        "stop_reason": session.stop_reason,
    }


def _describe_variant(run_id: str, variant: VariantReport) -> dict[str, object]:
    latency, evidence = variant.latency, variant.evidence
    return {
        "run_id": run_id,
        "variant": variant.variant.stem,
        "experiment": variant.experiment,
        "threads": variant.threads,
        "hidden": ", ".join(variant.features_hidden),
        "blocks": latency.blocks if latency else 0,
        "median_ms": latency.median_ms if latency else None,
        "mad_ms": latency.mad_ms if latency else None,
        "p95_ms": latency.p95_ms if latency else None,
        "cold_ms": latency.cold_ms if latency else None,
        "load_ms": latency.load_ms if latency else None,
        "peak_bytes": variant.peak_bytes,
        "noise_floor": variant.noise_floor,
        "extension_share": evidence.share.value if evidence and evidence.share else None,
    }


def _list_blocks(run_id: str, session: Session, record: ProgramRecord) -> Iterator[Row]:
    """Times of an emulated device are left out, as everywhere."""
    real = session.device.times_are_real
    for result in (each for each in session.results if each.experiment in record.experiments):
        yield {
            "run_id": run_id,
            "variant": result.variant.stem,
            "block": result.index,
            "started_at": result.started_at or None,
            "error": result.error.partition("\n")[0],
            "iterations": len(result.latency_ns),
            "median_ms": median(result.latency_ns) / NS_PER_MS if real and result.latency_ns else None,
            "load_ms": result.load_ns / NS_PER_MS if real and result.load_ns is not None else None,
            "peak_bytes": result.peak_bytes,
            "temperature_c": result.cpu_after.temperature_c,
        }


def _list_operators(run_id: str, variant: VariantReport) -> Iterator[Row]:
    for row in variant.operators:
        yield {
            "run_id": run_id,
            "variant": variant.variant.stem,
            "operator": str(row.identity),
            "name": row.name,
            "category": row.category,
            "kind": row.kind,
            "module": row.module_path,
            "delegated": row.delegated,
            "mean_ms": row.mean_ms,
            "share": row.share,
            "macs": row.work.macs if row.work else None,
        }
