"""Every command opens each file of a run, of its model and of its plan at most once, counted by an audit hook."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.export.graph_file import save_graph
from etprof.store.session_file import load_session, save_session
from program_builder import build_program
from read_counter import count_reads
from trace_builder import recorded_graph

PLAN = {
    "model": "model.pte",
    "output_root": "run",
    "experiments": [
        {"name": "off", "hide_isa": ["avx512"], "runs": 3, "traced_runs": 2},
        {"name": "on", "runs": 3, "traced_runs": 2},
    ],
    "schedule": {"blocks": 3, "retries": 0},
    "inputs": ["input_0.bin"],
}
SESSION = ("manifest.json", "metrics.json")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A folder with a plan, a model with its graph, and a run that sampled too; and what was read to make the run."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "plan.json").write_text(json.dumps(PLAN))
    (folder / "model.pte").write_bytes(build_program())
    (folder / "input_0.bin").write_bytes(b"input")
    save_graph(folder / "model.graph.json", recorded_graph("small_cnn"))
    return folder, count_reads(folder, "run", "plan.json", "--device", "scripted", "--kernels")


@pytest.fixture
def folder(prepared: tuple[Path, dict[str, int]], tmp_path: Path) -> Path:
    return shutil.copytree(prepared[0], tmp_path / "workspace")


def files_of(folder: Path, run: str, *suffixes: str) -> set[str]:
    return {f"{run}/{p.relative_to(folder / run)}" for p in (folder / run).glob("*/*") if p.name.endswith(suffixes)}


def sessions(*runs: str) -> set[str]:
    return {f"{run}/{name}" for run in runs for name in SESSION}


def assert_read_once(counts: dict[str, int], expected: set[str]) -> None:
    assert {name: count for name, count in counts.items() if count > 1} == {}
    assert expected <= counts.keys()
    assert expected


def test_the_counter_sees_a_second_read(folder: Path) -> None:
    counts = count_reads(folder, "validate", "run", "--deep", times=2)
    assert {counts[name] for name in sessions("run") | files_of(folder, "run", ".etdump")} == {2}


def test_run_reads_what_it_measured_once(prepared: tuple[Path, dict[str, int]]) -> None:
    folder, counts = prepared
    assert len(files_of(folder, "run", ".etdump")) == 12
    assert len(files_of(folder, "run", ".kernels")) == 6
    measured = files_of(folder, "run", ".etdump", ".kernels", ".result.json")
    assert_read_once(counts, measured | {"plan.json", "model.pte", "model.graph.json", "input_0.bin"})
    assert not sessions("run") & counts.keys(), "what was just saved is known"


def test_a_resumed_run_reads_its_session_and_its_earlier_traces_once(folder: Path) -> None:
    session = load_session(folder / "run")
    save_session(folder / "run", replace(session, results=session.results[:5], stop_reason=""))
    counts = count_reads(folder, "run", "plan.json", "--device", "scripted", "--kernels", "--resume")
    assert_read_once(counts, sessions("run") | files_of(folder, "run", ".etdump", ".kernels"))


def test_a_replay_reads_its_recording_once(folder: Path) -> None:
    counts = count_reads(folder, "run", "--device", "recorded:run", "--output-root", "again")
    assert_read_once(counts, sessions("run") | files_of(folder, "again", ".etdump", ".kernels", ".result.json"))


@pytest.mark.parametrize(
    "command",
    [
        ("report", "run"),
        ("report", "run", "--model", "model.pte"),
        ("report", "run", "--format", "latency,statistics,console"),
        ("run", "plan.json", "--kernels", "--analysis-only"),
        ("kernels", "view", "run"),
        ("mcp", "analyze", "run"),
    ],
    ids=" ".join,
)
def test_a_finished_run_is_read_once(command: tuple[str, ...], folder: Path) -> None:
    counts = count_reads(folder, *command)
    assert_read_once(counts, sessions("run") | files_of(folder, "run", ".etdump", ".kernels") | {"model.graph.json"})


def test_validating_a_run_reads_everything_of_it_once(folder: Path) -> None:
    counts = count_reads(folder, "validate", "run", "--deep")
    assert_read_once(counts, sessions("run") | files_of(folder, "run", ".etdump", ".result.json") | {"model.pte"})


def test_sampling_kernels_reads_what_was_sampled_once(folder: Path) -> None:
    counts = count_reads(folder, "kernels", "run", "model.pte", "--device", "scripted", "--output-root", "sampled")
    sampled = files_of(folder, "sampled", ".etdump", ".kernels", ".result.json")
    assert len(sampled) == 12
    assert_read_once(counts, sampled | {"model.pte", "model.graph.json"})


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "run", "other"),
        ("check", "other", "--against", "run", "--tolerance", "50"),
        ("report", "run", "other", "--out", "page.html"),
    ],
    ids=" ".join,
)
def test_two_runs_of_one_model_are_read_once_each_and_their_graph_once(command: tuple[str, ...], folder: Path) -> None:
    shutil.copytree(folder / "run", folder / "other")
    counts = count_reads(folder, *command)
    traces = files_of(folder, "run", ".etdump", ".kernels") | files_of(folder, "other", ".etdump", ".kernels")
    assert_read_once(counts, sessions("run", "other") | traces | {"model.graph.json"})


@pytest.mark.parametrize("command", ["operators", "categories", "transposes", "timeline", "json"])
def test_traces_of_a_run_are_read_once_and_so_is_the_manifest_beside_them(command: str, folder: Path) -> None:
    counts = count_reads(folder, "trace", command, "run/on")
    traces = {f"run/on/on_t1{block}.etdump" for block in ("", "_b2", "_b3")}
    assert_read_once(counts, traces | {"run/manifest.json"})
