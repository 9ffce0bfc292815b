"""Single traces outside of any run: files and folders of them, with a user's rules and the model's graph."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_device_info, a_plan, a_session
from etprof.app.trace_tables import write_timelines
from etprof.app.traces import read_compared, read_traces
from etprof.core.errors import UsageError
from etprof.core.operators import OperatorId
from etprof.core.units import NO_TIMES
from etprof.store.session_file import save_session
from trace_builder import RECORDED, recorded

SMALL_CNN = RECORDED["small_cnn"]
GRAPH = SMALL_CNN.with_suffix(".graph.json")


def test_traces_of_one_experiment_are_taken_together(tmp_path: Path) -> None:
    for name in ("on_t1.etdump", "on_t1_b2.etdump"):
        (tmp_path / name).write_bytes(SMALL_CNN.read_bytes())
    found = read_traces([tmp_path])
    assert [path.name for path in found.paths] == ["on_t1.etdump", "on_t1_b2.etdump"]
    one = read_traces([SMALL_CNN])
    assert [row.name for row in found.operators] == [row.name for row in one.operators]
    assert found.operators[0].count == 2 * one.operators[0].count
    assert sum(row.share for row in found.categories) == pytest.approx(1.0)
    assert found.origin == f"{tmp_path / 'on_t1.etdump'} and 1 more"
    assert (one.origin, one.stem, one.notes, one.emulated) == (str(SMALL_CNN), "small_cnn", (), False)


def test_a_timeline_stands_in_for_its_trace(tmp_path: Path) -> None:
    every, _ = write_timelines(tmp_path, "small_cnn", [recorded("small_cnn")])
    found = read_traces([every])
    assert found.operators == read_traces([SMALL_CNN]).operators
    assert found.stem == "small_cnn"


def test_notes_of_several_traces_are_each_said_once() -> None:
    path = RECORDED["two_methods"]
    assert read_traces([path, path]).notes == recorded("two_methods").notes
    assert len(recorded("two_methods").notes) == 1


def test_a_users_rules_decide_before_ours(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": [{"pattern": "^Convolution", "category": "Mine", "subcategory": "all"}]}))
    found = read_traces([SMALL_CNN], rules=rules)
    assert "Mine" in {row.name for row in found.categories}
    assert not [row for row in found.operators if row.category == "Convolution"]


def test_operators_lead_to_the_nodes_of_the_models_graph(tmp_path: Path) -> None:
    found = read_traces([SMALL_CNN], graph=GRAPH)
    assert found.nodes[OperatorId("d0.1")].type == "XNNConv2d"
    assert read_traces([SMALL_CNN]).nodes == {}
    with pytest.raises(UsageError, match="There is no graph"):
        read_traces([SMALL_CNN], graph=tmp_path / "none.json")


def test_two_thread_counts_in_a_folder_are_refused(tmp_path: Path) -> None:
    for name in ("on_t1.etdump", "on_t4_b2.etdump"):
        (tmp_path / name).write_bytes(SMALL_CNN.read_bytes())
    with pytest.raises(UsageError, match="traces of 1 and 4 threads") as caught:
        read_traces([tmp_path])
    assert "*_t1*.etdump" in caught.value.hint


def place(folder: Path, *names: str) -> list[Path]:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_bytes(SMALL_CNN.read_bytes())
    return [folder / name for name in names]


def test_files_of_several_variants_are_named_and_refused(tmp_path: Path) -> None:
    on = place(tmp_path / "on", "on_t1.etdump", "on_t1_b2.etdump", "on_t2.etdump")
    off = place(tmp_path / "off", "off_t1.etdump")
    assert len(read_traces(on[:2]).paths) == 2
    for mixed, named in (([*on[:2], *off], "on_t1 and off_t1"), (on, "on_t1 and on_t2")):
        with pytest.raises(UsageError, match=f"not of one variant: {named}.") as caught:
            read_traces(mixed)
        assert caught.value.exit_code == 2
    elsewhere = place(tmp_path / "elsewhere", "on_t1.etdump")
    with pytest.raises(UsageError, match=r"on/on_t1 and .*elsewhere/on_t1\."):
        read_traces([on[0], *elsewhere])


def test_files_with_names_of_their_own_are_pooled_as_a_folder_only(tmp_path: Path) -> None:
    files = place(tmp_path / "mine", "morning.etdump", "evening.etdump")
    assert len(read_traces([tmp_path / "mine"]).paths) == 2
    with pytest.raises(UsageError, match="not of one variant: morning and evening"):
        read_traces(files)


def test_the_same_inferences_are_not_counted_twice(tmp_path: Path) -> None:
    (trace,) = place(tmp_path, "on_t1.etdump")
    every, first = write_timelines(tmp_path, "on_t1", [recorded("small_cnn")])
    for both in ([trace, every], [every, first]):
        with pytest.raises(UsageError, match="hold the same inferences"):
            read_traces(both)


def test_a_shells_pattern_behind_compare_means_the_baseline(tmp_path: Path) -> None:
    on = place(tmp_path / "on", "on_t1.etdump", "on_t1_b2.etdump")
    off = place(tmp_path / "off", "off_t1.etdump", "off_t1_b2.etdump", "off_t1_b3.etdump")
    ((candidate, baseline),) = read_compared([*on, *off[1:]], off[:1])
    assert (set(candidate.paths), set(baseline.paths)) == (set(on), set(off))
    ((candidate, baseline),) = read_compared(on[:1], on[1:])
    assert (candidate.paths, baseline.paths) == ((on[0],), (on[1],)), "two blocks of one variant"
    with pytest.raises(UsageError, match="not of one variant"):
        read_compared([*on, *place(tmp_path / "off2", "off_t2.etdump")], off[:1])


def test_traces_of_several_thread_counts_are_compared_count_by_count(tmp_path: Path) -> None:
    """The users' documents: `--timeline-csv ON/*.csv --compare OFF/*.csv`, of a plan with two thread counts."""
    on = place(tmp_path / "on", "on_t1.etdump", "on_t1_b2.etdump", "on_t4.etdump")
    off = place(tmp_path / "off", "off_t4.etdump", "off_t1.etdump")
    as_options = read_compared(on, off)
    # A shell's pattern behind each option: all but the first of each are arguments.
    as_typed = read_compared([on[0], *on[1:], off[1]], off[:1])
    for pairs in (as_options, as_typed):
        assert [(c.paths, b.paths) for c, b in pairs] == [((on[0], on[1]), (off[1],)), ((on[2],), (off[0],))]


def test_a_thread_count_without_its_counterpart_is_refused(tmp_path: Path) -> None:
    on = place(tmp_path / "on", "on_t1.etdump", "on_t4.etdump")
    off = place(tmp_path / "off", "off_t1.etdump", "off_t2.etdump")
    for baseline in (off, off[:1]):
        with pytest.raises(UsageError, match=r"on_t4.* cannot be paired"):
            read_compared(on, baseline)


def test_no_trace_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No trace was named"):
        read_traces([])
    with pytest.raises(UsageError, match=r"There is no \.etdump in the folder"):
        read_traces([tmp_path])


def test_a_trace_of_an_emulated_device_has_no_times(tmp_path: Path) -> None:
    session = a_session(a_plan(tmp_path), device=a_device_info(times_are_real=False))
    save_session(tmp_path, session)
    path = tmp_path / "on" / "on_t1.etdump"
    path.parent.mkdir()
    path.write_bytes(SMALL_CNN.read_bytes())
    found = read_traces([path])
    assert found.emulated
    assert found.operators
    with pytest.raises(UsageError, match=NO_TIMES):
        found.require_times()
    save_session(tmp_path, replace(session, device=a_device_info()))
    real = read_traces([path])
    assert real.require_times() is real
