"""The commands on bare traces, as a user types them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from etdump_builder import Event, build_etdump
from etprof.cli.main import main

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "traces"
CNN = str(DATA / "small_cnn.etdump")
GRAPH = str(DATA / "small_cnn.graph.json")
COMMANDS = ("timeline", "operators", "ops-json", "categories", "transposes")
DOORS = {
    "etdump_to_csv.py": "timeline",
    "analyze_etdump_csv.py": "operators",
    "etdump_to_ops_json.py": "ops-json",
    "categorize_operators.py": "categories",
    "analyze_transpose_patterns.py": "transposes",
}


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etprof.cli.console.out._width", 200)
    monkeypatch.setattr("etprof.cli.console.out._height", 50)


def test_timeline_writes_its_four_files_where_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", CNN, "--output-dir", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    suffixes = ("all_runs_timeline.csv", "run0_timeline.csv", "ops_stats.csv", "category_summary.csv")
    assert names == {f"small_cnn_{suffix}" for suffix in suffixes}
    shown = capsys.readouterr().out
    assert all(name in shown for name in names)


def test_timeline_of_a_folder_is_one_timeline(tmp_path: Path) -> None:
    for name in ("x_t1.etdump", "x_t1_b2.etdump"):
        (tmp_path / name).write_bytes(Path(CNN).read_bytes())
    assert main(["timeline", str(tmp_path)]) == 0
    (timeline,) = tmp_path.glob("*_all_runs_timeline.csv")
    assert timeline.name == "x_t1_all_runs_timeline.csv"
    assert timeline.read_text().count("Method::execute,EXECUTE") == 10


def test_nothing_is_written_when_one_of_the_traces_is_bad(tmp_path: Path) -> None:
    assert main(["timeline", CNN, GRAPH, "--output-dir", str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == []


def test_operators_are_shown_with_their_modules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operators", CNN, "--graph", GRAPH]) == 0
    shown = capsys.readouterr().out
    assert "Portable operators" in shown
    assert "9 of 9 operators are mapped to the graph." in shown
    assert "If Data Movement were free" in shown


def test_operators_compare_a_timeline_with_a_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["timeline", CNN, "--output-dir", str(tmp_path)])
    timeline = str(tmp_path / "small_cnn_all_runs_timeline.csv")
    arguments = ["--timeline-csv", timeline, "--compare", CNN, "--name1", "mine", "--name2", "theirs", "--verbose"]
    assert main(["operators", *arguments, "--output-dir", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "baseline theirs" in shown
    assert "No operator newly dominates." in shown
    assert (tmp_path / "operator_comparison.csv").is_file()
    assert (tmp_path / "category_comparison.csv").is_file()


def test_a_name_that_contradicts_its_path_is_doubted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mac_sme2_on"
    folder.mkdir()
    (folder / "x.etdump").write_bytes(Path(CNN).read_bytes())
    assert main(["operators", str(folder), "--compare", CNN, "--name1", "SME2-Off"]) == 0
    assert "which its path contradicts" in capsys.readouterr().err


def test_ops_json_adds_up(tmp_path: Path) -> None:
    path = tmp_path / "ops.json"
    assert main(["ops-json", CNN, "--output", str(path), "--graph", GRAPH]) == 0
    content = json.loads(path.read_text())
    assert content["schema_version"] == 1
    assert sum(row["share"] for row in content["categories"]) == pytest.approx(1.0)
    assert {row["identity"]: row["module_path"] for row in content["operators"]}["d0.1"] == "c1"
    assert content["cold_accounting"]["runs"] == 1


def test_categories_of_a_name_need_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["categories", "--name", "Pack LH (X32) #1", "--name", "nonsense"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Pack LH (X32) #1: Data Movement / LHS packing",
        "nonsense: Other / unmatched",
    ]


def test_a_rule_of_the_user_moves_an_operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": [{"pattern": "^GELU", "category": "Mine", "subcategory": "gelu"}]}))
    assert main(["categories", CNN, "--rules", str(rules)]) == 0
    assert "Mine" in capsys.readouterr().out


def test_transposes_say_what_only_a_graph_can_tell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transposes", CNN]) == 0
    assert "without --graph" in capsys.readouterr().err
    mobilenet = str(DATA / "mobilenet_v3.etdump")
    graph = str(DATA / "mobilenet_v3.graph.json")
    assert main(["transposes", mobilenet, "--graph", graph, "--output-dir", str(tmp_path)]) == 0
    assert "9 pairs of transposes cancel" in capsys.readouterr().out
    assert len((tmp_path / "mobilenet_v3_transpose_pairs.csv").read_text().splitlines()) == 10


def test_a_folder_of_two_thread_counts_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("x_t1.etdump", "x_t1_b2.etdump", "x_t4.etdump"):
        (tmp_path / name).write_bytes(Path(CNN).read_bytes())
    assert main(["operators", str(tmp_path)]) == 2
    assert "1 and 4 threads" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "No trace was named"),
        (["absent.etdump"], 1, "There is no trace at absent.etdump"),
        ([str(DATA)], 0, ""),
        ([GRAPH], 1, "is no ETDump"),
        ([CNN, "--rules", "absent.json"], 2, "cannot be read"),
    ],
    ids=["nothing", "absent", "folder", "foreign", "rules"],
)
def test_bad_input_ends_in_a_sentence(
    command: str, arguments: list[str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = {"timeline": ["--output-dir", str(tmp_path)], "ops-json": ["--output", str(tmp_path / "ops.json")]}
    assert main([command, *arguments, *where.get(command, [])]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("door", DOORS)
def test_a_door_leads_to_its_command(door: str) -> None:
    script = ROOT / "model_profiling" / "tools" / door
    done = subprocess.run([sys.executable, str(script), "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"etprof {DOORS[door]}" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_a_trace_is_read_without_torch(command: str, tmp_path: Path) -> None:
    """With torch and executorch made unimportable, every command still does its work."""
    code = (
        "import sys; sys.modules['torch'] = sys.modules['executorch'] = None; "
        "from etprof.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    trace = tmp_path / "copy.etdump"
    trace.write_bytes(Path(CNN).read_bytes())
    done = subprocess.run([sys.executable, "-c", code, command, str(trace)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_trace_without_one_complete_inference_is_said_to_have_none(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "cut.etdump"
    events = [Event("Add (ND) #1", 10, 20, delegated=True), Event("DELEGATE_CALL", 5, 30)]
    trace.write_bytes(build_etdump([("Execute", events)]))
    assert main([command, str(trace)]) == 0
    assert "There is no complete inference in this trace." in capsys.readouterr().err
