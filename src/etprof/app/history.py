"""Many runs together: added to a history, queried, followed over time, and a new run judged by them."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from etprof.analysis.history_rows import build_rows, identify_run, name_device, name_model
from etprof.analysis.regression import judge_slowdown
from etprof.analysis.report import RunAnalysis
from etprof.analysis.timing.trends import GROUPINGS, build_trend, compare_devices, estimate_against, group_trend
from etprof.app.reporting import analyze, analyze_loaded
from etprof.app.runs import load_partial_run
from etprof.core.digest import file_sha256
from etprof.core.errors import UnknownNameError, UsageError
from etprof.core.history import Trend, TrendGroup, TrendPoint
from etprof.core.layout import METRICS
from etprof.core.regression import Outcome, RegressionCheck, VariantCheck
from etprof.core.report import VariantReport
from etprof.store.history_file import Answer, RunRows, add_rows, query
from etprof.store.json_file import write_text

# Opening the file takes longer than writing a run to it.
_AT_ONCE = 50
_POINTS = """
select r.model, v.variant, r.device, r.run_id, strftime(r.started_at, '%Y-%m-%dT%H:%M:%S') as started_at, r.folder,
       v.median_ms, v.noise_floor, r.commit, r.facts, r.report
from variants v join runs r using (run_id)
where r.times_are_real and v.median_ms > 0 and ($variant = '' or v.variant = $variant) and {model}
order by r.model, v.variant, r.device, r.started_at, r.run_id
"""
_LIST = """
select r.run_id, strftime(r.started_at, '%Y-%m-%d %H:%M') as started, r.model, r.precision, r.device,
       count(v.variant) as variants, round(min(v.median_ms), 4) as fastest_ms, r.executorch, r.commit, r.folder
from runs r left join variants v using (run_id) where {model}
group by all order by started, r.run_id
"""
# toy_cnn means toy_cnn_xnnpack_fp32 too, as it is exported; nothing means every model.
_MODEL = "($model = '' or r.model = $model or starts_with(r.model, $model || '_'))"


def add_runs(
    file: Path, folders: Sequence[Path], *, commit: str = "", told: Callable[[Path, str], None] = lambda _f, _o: None
) -> dict[Path, str]:
    """Puts each run in; says of each whether it was added, updated or unchanged."""
    outcomes: dict[Path, str] = {}
    for start in range(0, len(folders), _AT_ONCE):
        some = folders[start : start + _AT_ONCE]
        # Read before the file is opened, so that other writers wait only while rows are written.
        rows = {folder: _build(analyze(folder), commit) for folder in some}
        said = iter(add_rows(file, [each for programs in rows.values() for each in programs]))
        for folder, programs in rows.items():
            outcomes[folder] = _sum_up([next(said) for _ in programs])
            told(folder, outcomes[folder])
    return outcomes


def add_analysis(file: Path, analysis: RunAnalysis, *, commit: str = "") -> str:
    """The same for a run that is analysed already."""
    return _sum_up(add_rows(file, _build(analysis, commit)))


def _sum_up(outcomes: Sequence[str]) -> str:
    """Of a run with several programs, what changed the most."""
    return next(each for each in ("added", "updated", "unchanged") if each in outcomes)


def _build(analysis: RunAnalysis, commit: str) -> Sequence[RunRows]:
    content = file_sha256(analysis.run.folder / METRICS)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return build_rows(analysis, content_sha256=content, added_at=now, commit=commit)


def list_runs(file: Path, model: str = "") -> Answer:
    return query(file, _LIST.format(model=_MODEL), {"model": model})


def build_trends(file: Path, model: str = "", *, variant: str = "", by: str = "") -> tuple[Trend, ...]:
    """A trend for each variant of the model on each device, or of all models."""
    if by and by not in GROUPINGS:
        raise UnknownNameError("grouping", by, GROUPINGS, hint=f"Known: {', '.join(GROUPINGS)}.")
    series: dict[tuple[str, str, str], list[TrendPoint]] = {}
    for row in query(file, _POINTS.format(model=_MODEL), {"model": model, "variant": variant}).rows:
        name, of, device, run_id, started, folder, median_ms, noise, commit, facts, report = row
        place = str(Path(folder) / report) if report else ""
        point = TrendPoint(run_id, started, place or folder, median_ms, noise, commit or "", json.loads(facts or "{}"))
        series.setdefault((name, of, device), []).append(point)
    if not series:
        _refuse_unknown(file, model, variant)
    trends = [build_trend(*key, points) for key, points in series.items()]
    return tuple(group_trend(trend, by) if by in ("version", "commit") else trend for trend in trends)


def compare_on_devices(trends: Sequence[Trend]) -> dict[tuple[str, str], tuple[TrendGroup, ...]]:
    """By model and variant."""
    keys = dict.fromkeys((trend.model, trend.variant) for trend in trends)
    return {key: compare_devices([each for each in trends if (each.model, each.variant) == key]) for key in keys}


def check_against_history(run: Path, file: Path, tolerance: float) -> RegressionCheck:
    """Judges a run by the recent stable runs of the same model, variant and device."""
    loaded = load_partial_run(run)
    report, session = analyze_loaded(loaded).report, loaded.session
    device, own = name_device(session.device), {identify_run(session, each) for each in session.programs}
    timed = [variant for variant in report.variants if variant.latency]
    models = {variant.variant: name_model(loaded.of(variant.variant).record) for variant in timed}
    trends = {
        (trend.model, trend.variant): trend
        for model in dict.fromkeys(models.values())
        for trend in build_trends(file, model)
        if trend.device == device
    }
    failed = [result for result in session.results if not result.is_ok]
    return RegressionCheck(
        run=str(run),
        known_good=f"the stable runs of {file}",
        model=report.model,
        tolerance=tolerance,
        output_tolerance=None,
        variants=tuple(
            _judge(each, trends.get((models[each.variant], each.variant.stem)), own, tolerance) for each in timed
        ),
        failures=tuple(f"{result.name} failed with: {result.error.splitlines()[0]}" for result in failed[:1]),
        doubts=() if timed else ("No variant of this run was timed.",),
        findings=report.findings,
    )


def _judge(variant: VariantReport, trend: Trend | None, own: Collection[str], tolerance: float) -> VariantCheck:
    latency = variant.latency
    assert latency is not None  # only timed variants are judged
    stable = [point for point in trend.stable if point.run_id not in own] if trend else []
    speedup = estimate_against(stable, latency.median_ms)
    if speedup is None:
        few = f"{len(stable)} stable runs of this model, variant and device are too few; at least 3 are needed"
        return VariantCheck(variant.label, Outcome.INCONCLUSIVE, few, medians_ms=(None, latency.median_ms))
    judged = judge_slowdown(speedup, variant.noise_floor, tolerance, latency.blocks)
    known = speedup.value * latency.median_ms
    reason = f"{judged.reason} ({len(stable)} stable runs since {stable[0].started_at})"
    return replace(judged, label=variant.label, reason=reason, medians_ms=(known, latency.median_ms))


def write_history_page(file: Path, target: Path) -> Path:
    """Trends of every model, variant and device as one HTML file."""
    from etprof.reports.history_page import render

    trends = build_trends(file)
    write_text(target, render(trends, compare_on_devices(trends), title=f"Runs of {file.name}", folder=target.parent))
    return target


def _refuse_unknown(file: Path, model: str, variant: str) -> None:
    models = [name for (name,) in query(file, "select distinct model from runs order by 1").rows]
    if model and model not in models:
        raise UnknownNameError("model in this history", model, models, hint=f"Known: {', '.join(models) or 'none'}.")
    variants = [name for (name,) in query(file, "select distinct variant from variants order by 1").rows]
    if variant and variant not in variants:
        raise UnknownNameError("variant in this history", variant, variants, hint=f"Known: {', '.join(variants)}.")
    raise UsageError(f"{file} holds no timed run of it.", hint="Emulated runs have no times.")
