"""Sessions of earlier versions, recorded when they were current: each is read, with what was added since filled in.

To record one before a version step, copy manifest.json and metrics.json of a small run to tests/data/sessions/vN, and
take out what names the machine.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from etprof.core.errors import StoreError
from etprof.core.plan import Pair, Variant
from etprof.store.session_file import load_session, save_reports, save_session
from etprof.store.upgrades import SCHEMA_VERSION, UPGRADES
from trace_builder import DATA

SESSIONS = DATA / "sessions"
EARLIER = [f"v{version}" for version in range(1, SCHEMA_VERSION)]
FILES = ("manifest.json", "metrics.json")


def copy(version: str, folder: Path) -> dict[str, dict[str, Any]]:
    """The files of a recorded session in the folder, and their content."""
    for name in FILES:
        shutil.copy(SESSIONS / version / name, folder)
    return {name: json.loads((folder / name).read_text()) for name in FILES}


def test_every_earlier_version_has_its_step_and_its_recorded_session() -> None:
    assert list(UPGRADES) == list(range(2, SCHEMA_VERSION + 1))
    assert sorted(path.name for path in SESSIONS.iterdir()) == EARLIER


@pytest.mark.parametrize("version", EARLIER)
def test_a_recorded_session_loses_nothing_that_was_measured(version: str, tmp_path: Path) -> None:
    stored = copy(version, tmp_path)
    session = load_session(tmp_path)
    (program,) = session.programs
    assert (program.model_sha256, session.command) == tuple(
        stored["manifest.json"][key] for key in ("model_sha256", "command")
    )
    results = stored["metrics.json"]["results"]
    assert results
    for result, kept in zip(session.results, results, strict=True):
        for key in ("latency_ns", "traced_ns", "features_hidden"):
            assert getattr(result, key) == tuple(kept[key])
        assert result.outputs[0].sha256 == kept["outputs"][0]["sha256"]


@pytest.mark.parametrize("version", EARLIER)
def test_a_session_that_is_saved_again_has_the_present_version(version: str, tmp_path: Path) -> None:
    copy(version, tmp_path)
    session = load_session(tmp_path)
    save_session(tmp_path, session)
    assert {json.loads((tmp_path / name).read_text())["schema_version"] for name in FILES} == {SCHEMA_VERSION}
    assert load_session(tmp_path) == session


def test_what_version_2_added_is_filled_in(tmp_path: Path) -> None:
    copy("v1", tmp_path)
    session = load_session(tmp_path)
    assert session.reports == ("report.md", "report.html", "analysis_summary.json", "report.csv", "trace.json")
    assert {result.method_name for result in session.results} == {""}
    meta = session.programs[0].export_meta
    assert meta is not None
    assert (meta.model, meta.numerics.worst_snr_db) == ("toy_cnn", 129.8)
    assert session.plan.variants == (Variant("linux_avx512_off", 1), Variant("linux_avx512_on", 1))


def test_what_version_3_added_is_filled_in(tmp_path: Path) -> None:
    metrics = copy("v2", tmp_path)["metrics.json"]
    metrics["results"][0]["cpu_before"]["frequencies_khz"] = [1_800_000, 3_000_000]
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    session = load_session(tmp_path)
    assert (session.runner_sha256, session.prepared, session.programs[0].state) == ({}, (), ())
    assert (session.plan.method, session.plan.input_shapes) == ("", ())
    assert session.plan.schedule.equivalence_bound == 0.02
    assert (session.device.sme_units, session.device.performance_cores) == (None, None)
    assert session.plan.pairs == (Pair("linux_avx512_off", "linux_avx512_on", None, None),)
    assert {result.cpu_time for result in session.results} == {None}
    assert session.results[0].cpu_before.frequencies_khz == {}, "they were of cores without numbers, at rest"


def test_what_version_4_added_is_filled_in(tmp_path: Path) -> None:
    copy("v3", tmp_path)
    session = load_session(tmp_path)
    assert session.plan.advice_off == ()
    assert session.plan_path is None
    assert {result.has_debug_log for result in session.results} == {False}


def test_what_version_5_added_is_filled_in(tmp_path: Path) -> None:
    stored = copy("v4", tmp_path)["manifest.json"]
    session = load_session(tmp_path)
    (record,) = session.programs
    assert record.experiments == tuple(e.name for e in session.plan.experiments)
    assert record.inputs_sha256 == tuple(stored["inputs_sha256"])
    assert (record.program.method, record.program.input_shapes) == ("forward", ((1, 3, 256, 256),))
    assert (record.program.model, record.program.inputs) == (session.plan.model, session.plan.inputs)
    assert (session.plan.runtime, record.program.runtime, record.reference) == ("executorch", "executorch", ())
    assert record.export_meta is not None
    assert (record.export_meta.model, record.export_meta.reference) == ("toy_cnn", ())
    assert {(e.model, e.method, e.inputs, e.input_shapes, e.runtime) for e in session.plan.experiments} == {
        (None, "", (), (), "")
    }
    assert (session.exploration, session.dropped) == (None, ())
    assert (record.weight_bytes, record.state_bytes) == (None, None)
    assert session.plan.schedule.page_cache == "as is"
    assert {session.plan.workload, *(e.workload for e in session.plan.experiments)} == {None}
    assert {each.program.workload for each in session.programs} == {None}
    assert {(r.steps, r.sequences_agree) for r in session.results} == {("", None)}
    assert {e.load_options for e in session.plan.experiments} == {()}
    assert {(r.stages, r.planned_bytes, r.cached_share) for r in session.results} == {((), None, None)}


def test_a_run_of_version_1_that_was_interrupted_had_no_report_and_a_bare_model_no_meta(tmp_path: Path) -> None:
    manifest = copy("v1", tmp_path)["manifest.json"]
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "stop_reason": "", "export_meta": {}}))
    session = load_session(tmp_path)
    assert (session.reports, session.programs[0].export_meta) == ((), None)


def test_a_version_of_the_future_is_refused_with_a_hint(tmp_path: Path) -> None:
    for name, content in copy("v1", tmp_path).items():
        (tmp_path / name).write_text(json.dumps({**content, "schema_version": SCHEMA_VERSION + 1}))
    with pytest.raises(StoreError, match=f"schema version {SCHEMA_VERSION + 1}") as caught:
        load_session(tmp_path)
    assert f"versions 1 to {SCHEMA_VERSION}" in caught.value.message
    assert "Read it with the etprof that wrote it" in caught.value.hint


def test_noting_a_report_in_an_older_run_leaves_its_metrics_and_the_run_readable(tmp_path: Path) -> None:
    """Then its manifest is of the present version and its metrics are of the one before."""
    before = copy("v1", tmp_path)["metrics.json"]
    session = load_session(tmp_path)
    save_reports(tmp_path, session, ("report.md", "new.txt"))
    assert json.loads((tmp_path / "metrics.json").read_text()) == before
    again = load_session(tmp_path)
    assert again.reports == ("report.md", "new.txt")
    assert again.results == session.results


@pytest.mark.parametrize(
    ("name", "changes"),
    [("metrics.json", {"results": None}), ("metrics.json", {"results": ["x"]}), ("manifest.json", {"plan": 3})],
)
def test_a_damaged_session_of_an_earlier_version_is_refused_in_words(
    name: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    content = copy("v1", tmp_path)[name]
    (tmp_path / name).write_text(json.dumps({**content, **changes}))
    with pytest.raises(StoreError, match="does not hold a readable session") as caught:
        load_session(tmp_path)
    assert caught.value.hint
