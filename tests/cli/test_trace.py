"""`etprof trace`: single traces, as a user types the commands."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from delegate_traces import MS, a_qnn_inference
from etdump_builder import Allocation, Block, Event, build_etdump
from etprof.cli.main import main
from etprof.core.units import NO_TIMES
from trace_builder import RECORDED

Capture = pytest.CaptureFixture[str]

CNN = str(RECORDED["small_cnn"])
GRAPH = str(RECORDED["small_cnn"].with_suffix(".graph.json"))
COMMANDS = ("operators", "categories", "transposes", "timeline", "json")
PRINTING = COMMANDS[:3]
TIME = re.compile(r"\d\s?(?:ns|us|µs|ms|s)\b|\d\.\d\dx|_ms\b")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_timeline_writes_its_four_files_where_it_is_told(tmp_path: Path, capsys: Capture) -> None:
    assert main(["trace", "timeline", CNN, "--output-dir", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    suffixes = ("all_runs_timeline.csv", "run0_timeline.csv", "ops_stats.csv", "category_summary.csv")
    assert names == {f"small_cnn_{suffix}" for suffix in suffixes}
    assert set(capsys.readouterr().out.splitlines()) == {str(tmp_path / name) for name in names}


def test_timeline_of_a_folder_is_one_timeline(tmp_path: Path) -> None:
    for name in ("x_t1.etdump", "x_t1_b2.etdump"):
        (tmp_path / name).write_bytes(Path(CNN).read_bytes())
    assert main(["trace", "timeline", str(tmp_path)]) == 0
    (timeline,) = tmp_path.glob("*_all_runs_timeline.csv")
    assert timeline.name == "x_t1_all_runs_timeline.csv"
    assert timeline.read_text().count("Method::execute,EXECUTE") == 10


def test_nothing_is_written_when_one_of_the_traces_is_bad(tmp_path: Path) -> None:
    traces = [tmp_path / "x_t1.etdump", tmp_path / "x_t1_b2.etdump"]
    for path, content in zip(traces, (Path(CNN).read_bytes(), b"no trace"), strict=True):
        path.write_bytes(content)
    assert main(["trace", "timeline", *map(str, traces), "--output-dir", str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()


def test_traces_of_two_variants_are_refused_by_name(tmp_path: Path, capsys: Capture) -> None:
    """The pattern of the documents, `runs/*/*_timeline.csv`, takes in every variant."""
    for name in ("on", "off"):
        (tmp_path / f"{name}_t1.etdump").write_bytes(Path(CNN).read_bytes())
    files = [str(path) for path in sorted(tmp_path.glob("*.etdump"))]
    for command in PRINTING:
        assert main(["trace", command, *files]) == 2
        assert "not of one variant: off_t1 and on_t1." in capsys.readouterr().err
    assert main(["trace", "operators", files[1], "--compare", files[0]]) == 0


def test_operators_are_shown_with_their_modules(capsys: Capture) -> None:
    assert main(["trace", "operators", CNN, "--graph", GRAPH]) == 0
    shown = capsys.readouterr().out
    assert "Portable operators" in shown
    assert "9 of 9 operators are mapped to the graph." in shown
    assert "If Data Movement were free" in shown


def test_top_and_verbose_choose_how_many_operators_are_shown(capsys: Capture) -> None:
    trace = str(RECORDED["mobilenet_v3"])
    assert main(["trace", "operators", trace, "--top", "3"]) == 0
    assert "Delegated operators (3 of 146)" in capsys.readouterr().out
    assert main(["trace", "operators", trace, "--verbose"]) == 0
    assert "Delegated operators (146)" in capsys.readouterr().out


def test_operators_compare_a_timeline_with_a_baseline(tmp_path: Path, capsys: Capture) -> None:
    main(["trace", "timeline", CNN, "--output-dir", str(tmp_path)])
    timeline = str(tmp_path / "small_cnn_all_runs_timeline.csv")
    arguments = ["--timeline-csv", timeline, "--compare", CNN, "--name1", "mine", "--name2", "theirs", "--verbose"]
    capsys.readouterr()
    assert main(["trace", "operators", *arguments, "--output-dir", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"mine: {timeline}\n")
    assert f"\nbaseline theirs: {CNN}\n" in shown
    assert "No operator newly dominates." in shown
    assert (tmp_path / "operator_comparison.csv").is_file()
    assert (tmp_path / "category_comparison.csv").is_file()


def test_operators_of_two_thread_counts_are_compared_count_by_count(tmp_path: Path, capsys: Capture) -> None:
    for name in ("on_t1", "on_t4", "off_t1", "off_t4"):
        (tmp_path / f"{name}.etdump").write_bytes(Path(CNN).read_bytes())
    files = {side: [str(tmp_path / f"{side}_t{n}.etdump") for n in (1, 4)] for side in ("on", "off")}
    line = ["trace", "operators", "--timeline-csv", *files["on"], "--compare", *files["off"]]
    assert main([*line, "--output-dir", str(tmp_path / "out"), "--model-name", "cnn", "-v"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("model: cnn\n")
    for threads in (1, 4):
        assert f"on_t{threads}: {tmp_path}/on_t{threads}.etdump\n" in shown
        assert f"baseline off_t{threads}: {tmp_path}/off_t{threads}.etdump\n" in shown
        assert (tmp_path / f"out/on_t{threads}_operator_comparison.csv").is_file()
    assert main([*line, "--json"]) == 2
    assert "these are several thread counts" in capsys.readouterr().err


def test_a_timeline_of_one_inference_and_json_beside_the_tables(tmp_path: Path, capsys: Capture) -> None:
    out = str(tmp_path)
    assert main(["trace", "timeline", "--etdump", CNN, "--out-dir", out, "--run-index", "2", "--json"]) == 0
    rows = json.loads((tmp_path / "small_cnn_run2_timeline.json").read_text())
    assert {row["run_index"] for row in rows} == {2}
    assert isinstance(rows[0]["duration_ms"], float)
    assert len(json.loads((tmp_path / "small_cnn_all_runs_timeline.json").read_text())) > len(rows)
    assert {row["delegated"] for row in json.loads((tmp_path / "small_cnn_ops_stats.json").read_text())} == {
        True,
        False,
    }
    assert main(["trace", "timeline", CNN, "--out-dir", out, "--run-index", "2", "--all-runs"]) == 0
    assert (tmp_path / "small_cnn_run0_timeline.csv").is_file()
    assert main(["trace", "timeline", CNN, "--out-dir", out, "--run-index", "99"]) == 2
    assert "small_cnn has no inference 99" in capsys.readouterr().err


def test_an_etrecord_stands_for_the_graph_beside_it(tmp_path: Path, capsys: Capture) -> None:
    record = tmp_path / "m.pte.etrecord"
    line = ["trace", "timeline", CNN, "--out-dir", str(tmp_path), "--etrecord", str(record)]
    assert main(line) == 0, "without it there are no modules, and that is said"
    assert f"note: There is no ETRecord {record}." in capsys.readouterr().err
    record.touch()
    assert main([*line, "--strict-etrecord"]) == 2
    assert "modules are named by m.graph.json, which is not beside it" in capsys.readouterr().err
    (tmp_path / "m.graph.json").write_bytes(Path(GRAPH).read_bytes())
    assert main([*line, "--strict-etrecord"]) == 0
    assert ",c1," in (tmp_path / "small_cnn_ops_stats.csv").read_text()


def test_latency_of_timelines_says_that_they_were_traced(tmp_path: Path, capsys: Capture) -> None:
    main(["trace", "timeline", CNN, "--output-dir", str(tmp_path)])
    timeline = str(tmp_path / "small_cnn_all_runs_timeline.csv")
    capsys.readouterr()
    line = ["trace", "latency", "--timeline-csv", timeline, "--compare", CNN, "--name1", "mine", "--name2", "theirs"]
    assert main([*line, "--output-dir", str(tmp_path), "--verbose"]) == 0
    shown = capsys.readouterr()
    assert "steady, traced" in shown.out
    assert "mine against theirs: inconclusive, speed-up 1.00x by the medians alone; 1 pairs" in shown.out
    assert "these inferences were traced" in shown.err
    stats = json.loads((tmp_path / "small_cnn_all_runs_timeline_robust_stats.json").read_text())
    assert (stats["samples"], stats["is_traced"]) == (4, True)
    assert main(["trace", "latency", CNN, "--name", "mine"]) == 0
    assert "mine" in capsys.readouterr().out


def test_a_name_that_contradicts_its_path_is_doubted(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "mac_sme2_on"
    folder.mkdir()
    (folder / "x.etdump").write_bytes(Path(CNN).read_bytes())
    assert main(["trace", "operators", str(folder), "--compare", CNN, "--name1", "SME2-Off"]) == 0
    assert "which its path contradicts" in capsys.readouterr().err


def test_json_adds_up(tmp_path: Path) -> None:
    path = tmp_path / "ops.json"
    assert main(["trace", "json", CNN, "--output", str(path), "--graph", GRAPH]) == 0
    content = json.loads(path.read_text())
    assert content["schema_version"] == 1
    assert sum(row["share"] for row in content["categories"]) == pytest.approx(1.0)
    assert {row["identity"]: row["module_path"] for row in content["operators"]}["d0.1"] == "c1"
    assert content["cold_accounting"]["runs"] == 1


def test_categories_of_a_name_need_no_trace(capsys: Capture) -> None:
    assert main(["trace", "categories", "--name", "Pack LH (X32) #1", "--name", "nonsense"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Pack LH (X32) #1: Data Movement / LHS packing",
        "nonsense: Other / unmatched",
    ]


def test_the_rules_are_listed_in_their_order(capsys: Capture) -> None:
    assert main(["trace", "categories", "--list-rules"]) == 0
    shown = capsys.readouterr().out
    assert "The first rule that matches decides" in shown
    assert shown.index("LHS packing") < shown.index("fully connected")


def test_a_rule_of_the_user_moves_an_operator(tmp_path: Path, capsys: Capture) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": [{"pattern": "^GELU", "category": "Mine", "subcategory": "gelu"}]}))
    assert main(["trace", "categories", CNN, "--rules", str(rules)]) == 0
    assert "Mine" in capsys.readouterr().out


def test_transposes_say_what_only_a_graph_can_tell(tmp_path: Path, capsys: Capture) -> None:
    assert main(["trace", "transposes", CNN]) == 0
    assert "need --graph" in capsys.readouterr().err
    mobilenet = RECORDED["mobilenet_v3"]
    graph = ["--graph", str(mobilenet.with_suffix(".graph.json"))]
    assert main(["trace", "transposes", str(mobilenet), *graph, "--output-dir", str(tmp_path)]) == 0
    assert "9 pairs of transposes cancel" in capsys.readouterr().out
    assert len((tmp_path / "mobilenet_v3_transpose_pairs.csv").read_text().splitlines()) == 10


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["trace", "operators", CNN, "--csv", "--json"], 2, "--csv and --json are mutually exclusive."),
        (
            ["trace", "operators", CNN, "--csv", "--output-dir", "x"],
            2,
            "--csv and --output-dir are mutually exclusive.",
        ),
        (["trace", "categories", "--json", "--list-rules"], 2, "--json and --list-rules are mutually exclusive."),
        (["trace", "categories", "--csv"], 2, "No trace was named"),
        (["trace", "transposes", CNN, "--json", "--output-dir", "x"], 2, "are mutually exclusive."),
    ],
)
def test_a_request_that_contradicts_itself_is_refused(
    arguments: list[str], code: int, message: str, capsys: Capture
) -> None:
    assert main(arguments) == code
    said = capsys.readouterr()
    assert message in said.err
    assert said.out == ""


@pytest.mark.parametrize("command", PRINTING)
def test_csv_and_json_are_all_that_is_printed(command: str, tmp_path: Path, capsys: Capture) -> None:
    # Its operators are unknown to the table, which is a note on standard error.
    trace = tmp_path / "strange.etdump"
    events = [
        Event("Strange #1", 10, 20, delegated=True),
        Event("DELEGATE_CALL", 5, 30),
        Event("Method::execute", 0, 40),
    ]
    trace.write_bytes(build_etdump([("Execute", events), ("Execute", events)]))
    assert main(["trace", command, str(trace), "--csv"]) == 0
    assert all(None not in row.values() for row in read_csv(capsys.readouterr().out))
    assert main(["trace", command, str(trace), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1


def test_a_comparison_can_be_printed_as_csv_and_json(capsys: Capture) -> None:
    line = ["trace", "operators", str(RECORDED["mobilenet_v3"]), "--compare", CNN]
    assert main([*line, "--csv"]) == 0
    rows = read_csv(capsys.readouterr().out)
    assert main([*line, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == [row["name"] for row in content["operators"]]
    assert {row["name"] for row in content["categories"]} >= {"Convolution", "GEMM"}


def test_a_folder_of_two_thread_counts_is_refused(tmp_path: Path, capsys: Capture) -> None:
    for name in ("x_t1.etdump", "x_t1_b2.etdump", "x_t4.etdump"):
        (tmp_path / name).write_bytes(Path(CNN).read_bytes())
    assert main(["trace", "operators", str(tmp_path)]) == 2
    assert "1 and 4 threads" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "No trace was named"),
        (["absent.etdump"], 2, "There is no trace absent.etdump"),
        ([str(Path(CNN).parent)], 0, ""),
        ([GRAPH], 1, "is not an ETDump"),
        ([CNN, "--rules", "absent.json"], 2, "There is no rules file absent.json"),
    ],
    ids=["nothing", "absent", "folder", "foreign", "rules"],
)
def test_bad_input_ends_in_a_sentence(
    command: str, arguments: list[str], code: int, message: str, tmp_path: Path, capsys: Capture
) -> None:
    where = {"timeline": ["--output-dir", str(tmp_path)], "json": ["--output", str(tmp_path / "ops.json")]}
    assert main(["trace", command, *arguments, *where.get(command, [])]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_trace_is_read_without_torch(command: str, tmp_path: Path) -> None:
    """With torch and executorch made unimportable, every command still does its work."""
    code = (
        "import sys; sys.modules['torch'] = sys.modules['executorch'] = None; "
        "from etprof.cli.main import main; sys.exit(main(['trace', *sys.argv[1:]]))"
    )
    trace = tmp_path / "copy.etdump"
    trace.write_bytes(Path(CNN).read_bytes())
    done = subprocess.run([sys.executable, "-c", code, command, str(trace)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_trace_without_one_complete_inference_is_said_to_have_none(
    command: str, tmp_path: Path, capsys: Capture
) -> None:
    trace = tmp_path / "cut.etdump"
    events = [Event("Add (ND) #1", 10, 20, delegated=True), Event("DELEGATE_CALL", 5, 30)]
    trace.write_bytes(build_etdump([("Execute", events)]))
    assert main(["trace", command, str(trace)]) == 0
    assert "There is no complete inference in this trace." in capsys.readouterr().err


def test_operators_of_an_emulated_run_are_listed_in_their_order_without_times(
    emulated_dir: Path, capsys: Capture
) -> None:
    assert main(["trace", "operators", str(emulated_dir / "on")]) == 0
    said = capsys.readouterr().out
    assert NO_TIMES in said
    assert "Convolution" in said
    assert not TIME.findall(said.partition("\n")[2])


@pytest.mark.parametrize(
    "arguments",
    [
        *(["trace", command] for command in COMMANDS[1:]),
        ["trace", "operators", "--csv"],
        ["trace", "operators", "--json"],
        ["trace", "operators", "--output-dir", "tables"],
        ["trace", "operators", "--compare", CNN],
    ],
    ids=" ".join,
)
def test_what_is_about_times_alone_is_refused_for_an_emulated_run(
    arguments: list[str], emulated_dir: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(emulated_dir)
    before = sorted(emulated_dir.rglob("*"))
    assert main([*arguments[:2], "on/on_t1.etdump", *arguments[2:]]) == 2
    said = capsys.readouterr()
    assert NO_TIMES in said.err
    assert said.out == ""
    assert sorted(emulated_dir.rglob("*")) == before


def test_a_real_trace_is_not_compared_with_an_emulated_one(emulated_dir: Path, capsys: Capture) -> None:
    assert main(["trace", "operators", CNN, "--compare", str(emulated_dir / "off")]) == 2
    assert NO_TIMES in capsys.readouterr().err


def test_operators_are_shown_in_groups(capsys: Capture) -> None:
    trace = str(RECORDED["small_cnn"])
    assert main(["trace", "operators", trace, "--graph", GRAPH, "--by", "kind"]) == 0
    said = capsys.readouterr()
    assert re.search(r"depthwise 3x3 +\d", said.out)
    assert "GMAC/s" in said.out
    assert main(["trace", "operators", trace, "--by", "module"]) == 0
    assert "need --graph" in capsys.readouterr().err
    assert main(["trace", "operators", trace, "--graph", GRAPH, "--by", "shape", "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "by,name,operators,mean_ms,share,macs,gmac_per_s"
    assert main(["trace", "operators", trace, "--graph", GRAPH, "--by", "kind", "--compare", trace, "--json"]) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert {group["speedup"] for group in groups} <= {1.0, None}
    assert main(["trace", "operators", trace, "--by", "kind", "--output-dir", "x"]) == 2


def write_delegates(path: Path) -> Path:
    """Events on another clock, and allocations."""
    starts = (100 * MS, 200 * MS, 300 * MS)
    inferences: list[Block] = [("Execute", [Allocation(1, 2048), *a_qnn_inference(start)]) for start in starts]
    path.write_bytes(build_etdump(inferences, allocators=("planned memory",)))
    return path


def test_what_is_in_no_sum_is_shown_without_a_time_and_noted(tmp_path: Path, capsys: Capture) -> None:
    assert main(["trace", "operators", str(write_delegates(tmp_path / "qnn.etdump"))]) == 0
    out, error = capsys.readouterr()
    assert "on a clock that does not fit their delegate call" in error
    (line,) = (line for line in out.splitlines() if line.startswith("aten_op_0:OpId_0"))
    assert line.split()[-5:] == ["d0.0", "other", "clock", "1,200,000", "ticks"]
    assert "Undivided delegate time" in out
    assert re.search(r"planned memory +2\.0 KiB +1 ", out)


def test_json_has_events_in_no_sum_and_allocations(tmp_path: Path, capsys: Capture) -> None:
    assert main(["trace", "operators", str(write_delegates(tmp_path / "qnn.etdump")), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [(row["mean_ms"], row["mean_ticks"]) for row in content["apart"]] == [
        (None, 1_200_000.0), (None, 700_000.0), (None, 400_000.0),
    ]  # fmt: skip
    assert content["allocations"][0]["bytes_per_inference"] == 2048
    assert content["operators"] == []
    assert content["accounting"]["undivided_ns"] > 0
