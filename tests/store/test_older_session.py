"""Folders of the kit before ours: known by their manifest or by having none, and read by their traces alone."""

from pathlib import Path

import pytest

from etprof.core.plan import TRACE, Variant
from etprof.store.older_session import is_older_manifest, load_older_session


@pytest.mark.parametrize(
    ("manifest", "older"),
    [
        ({"model": "m.pte", "results": []}, True),
        ({"model": "m.pte", "results": [], "schema_version": 1}, False),
        ({"model": "m.pte"}, False),
        ([], False),
        ("model results", False),
    ],
)
def test_an_older_manifest_is_known_by_its_keys(manifest: object, older: bool) -> None:
    assert is_older_manifest(manifest) is older


def test_each_folder_and_thread_count_is_a_variant_and_each_trace_a_block(tmp_path: Path) -> None:
    for name in ("sme2_off/x_t1.etdump", "sme2_on/x_t4.etdump", "sme2_on/x_t1.etdump", "sme2_on/y_t1.etdump"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "sme2_on/x_t1.log").write_text("log")
    session = load_older_session(tmp_path, {"model": "m.pte"})
    assert session.plan.variants == (Variant("sme2_off", 1), Variant("sme2_on", 1), Variant("sme2_on", 4))
    blocks = [(r.variant.stem, r.index, r.etdump, r.log) for r in session.results]
    assert blocks == [
        ("sme2_off_t1", 0, "sme2_off/x_t1.etdump", ""),
        ("sme2_on_t1", 0, "sme2_on/x_t1.etdump", "sme2_on/x_t1.log"),
        ("sme2_on_t4", 0, "sme2_on/x_t4.etdump", ""),
        ("sme2_on_t1", 1, "sme2_on/y_t1.etdump", ""),
    ]


def test_nothing_is_claimed_that_the_folder_does_not_say(tmp_path: Path) -> None:
    (tmp_path / "on").mkdir()
    (tmp_path / "on" / "trace.etdump").write_bytes(b"x")
    session = load_older_session(tmp_path, {})
    assert session.is_older
    assert session.plan.pairs == ()
    assert {e.mode for e in session.plan.experiments} == {TRACE}
    assert (session.plan.model, session.device.name) == (Path("unknown"), "unknown")
    assert session.programs[0].export_meta is None
    (result,) = session.results
    assert (result.threads, result.runner, result.latency_ns) == (1, "unknown", ())
    assert any("older format" in note for note in session.notes)
