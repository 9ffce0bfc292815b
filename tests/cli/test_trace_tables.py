"""The tables of `etprof trace` on a narrow terminal, for somebody who is tired; from traces of real models."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from etprof.analysis.graph.data_movement import find_cancelling, list_layout_changes
from etprof.analysis.operators.operator_changes import build_operator_changes
from etprof.app.traces import TraceSet, read_traces
from etprof.cli import trace_tables as tables
from etprof.core.categories import RULES
from etprof.reports.text_table import TextTable, render_table
from trace_builder import RECORDED, WITH_GRAPH, an_inference, read_inferences

WIDTHS = (80, 100, 160)
# Those that hold a complete inference.
TRACES = [name for name, path in RECORDED.items() if read_traces([path]).operators]


def read(name: str) -> TraceSet:
    graph = RECORDED[name].with_suffix(".graph.json")
    return read_traces([RECORDED[name]], graph=graph if name in WITH_GRAPH else None)


def lines_of(found: Iterable[TextTable], width: int | None) -> list[str]:
    lines = [line for table in found for line in render_table(table, width).splitlines()]
    assert width is None or max(map(len, lines)) <= width
    return lines


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", TRACES)
def test_operators_stand_whole_beside_their_identities(name: str, width: int) -> None:
    given = read(name)
    lines = lines_of(tables.operator_tables(given, None), width)
    untimed = lines_of([tables.untimed_table(given, None)], width)
    for row in given.operators:
        # Where modules are known, they tell an operator better than a name that others share, which then leaves first.
        module = re.escape(row.module_path or f"({row.kind})")
        named = rf"{re.escape(row.name)} +{row.identity} "
        whole = re.compile(rf"(?:.* )?{row.identity} +.*{module} " if row.identity in given.nodes else named)
        assert any(whole.match(f"{line} ") for line in lines), row
        assert any(whole.match(f"{line} ") for line in untimed), row


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", TRACES)
def test_categories_and_classes_stand_whole(name: str, width: int) -> None:
    given = read(name)
    lines = lines_of([tables.accounting_table(given), tables.classes_table(given)], width)
    for row in given.categories:
        assert any(re.match(rf"{row.name} +\d", line) for line in lines), row
    for category, subcategory in {(row.category, row.subcategory) for row in given.operators}:
        assert any(re.match(rf"{category} +{subcategory} +\d", line) for line in lines), (category, subcategory)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", TRACES)
def test_changes_stand_whole(name: str, width: int) -> None:
    candidate, baseline = read(name), read("transformer")
    changes = build_operator_changes(baseline.operators, candidate.operators)
    lines = lines_of(tables.change_tables(changes, baseline.categories, candidate.categories, None), width)
    for change in changes:
        module = re.escape(change.module_path or f"({change.kind})")
        start = re.compile(rf"(?:{re.escape(change.name)} +)?{change.identity} +{module} ")
        assert any(start.match(line) for line in lines), change


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", WITH_GRAPH)
def test_layout_changes_and_pairs_stand_whole(name: str, width: int) -> None:
    given = read(name)
    changes = list_layout_changes(given.operators, given.nodes, given.graph)
    pairs = find_cancelling(given.operators, given.nodes, given.graph, given.traces[0])
    lines = lines_of([tables.layout_table(changes, 1000), tables.pair_table(pairs, 1000)], width)
    for change in changes:
        assert any(re.match(rf"{re.escape(change.name)} +{re.escape(change.identity)}\b", line) for line in lines)
    for pair in pairs:
        assert any(re.match(rf"{pair.first.identity} +{pair.second.identity} ", line) for line in lines)


def test_rules_stand_whole() -> None:
    lines = lines_of([tables.rules_table(RULES)], None)
    for rule in RULES:
        assert any(line.endswith(rule.pattern) for line in lines)


def test_eighty_columns_leave_room_for_names_of_thirty_six_letters_and_more(tmp_path: Path) -> None:
    names = [f"Operator {letter * (length - 9)}" for letter, length in (("a", 36), ("b", 50))]
    operators = [[(name, 1000) for name in names]]
    read_inferences(tmp_path, *(an_inference(*operators, start_us=run * 10_000) for run in range(3)))
    given = read_traces([tmp_path / "built.etdump"])
    lines = lines_of(tables.operator_tables(given, None), 80)
    for name in names:
        (line,) = [line for line in lines if line.startswith(name)]
        assert "1.00 ms" in line


def test_what_does_not_fit_is_named_and_wide_shows_it() -> None:
    given = read("mobilenet_v3")
    narrow = " ".join(lines_of(tables.operator_tables(given, 3), 80))
    left_out = "operator, category, type, median, if it were free, shapes"
    assert f"not shown at this width: {left_out} (--wide shows all)" in narrow
    wide = lines_of(tables.operator_tables(given, 3), None)
    headings = "operator +id +category +type +module +kind +mean +median +share +if it were free +MACs +GMAC/s +shapes"
    assert any(re.fullmatch(headings, line) for line in wide)
    assert not any("not shown" in line for line in wide)


def test_a_trace_of_portable_operators_alone_has_no_empty_table(tmp_path: Path) -> None:
    read_inferences(tmp_path, *(an_inference(start_us=n * 100, portable=[("native_call_add.out", 5)]) for n in (0, 1)))
    titles = [table.title for table in tables.operator_tables(read_traces([tmp_path / "built.etdump"]), None)]
    assert [title.partition(":")[0] for title in titles] == ["Where the time goes", "Portable operators"]


def test_newly_dominant_operators_have_a_line_each() -> None:
    candidate, baseline = read("mobilenet_v3"), read("small_cnn")
    changes = build_operator_changes(baseline.operators, candidate.operators)
    first, *others = tables.newly_dominant_lines(changes)
    assert first == "Newly dominant:"
    assert others == [f"  {change.name} [{change.identity}]" for change in changes if change.newly_dominant]
    assert list(tables.newly_dominant_lines(())) == ["No operator newly dominates."]


def test_sentences_bound_the_gain_and_count_what_the_graph_explains() -> None:
    said = list(tables.operator_sentences(read("small_cnn")))
    assert re.fullmatch(r"If Data Movement were free: at most \d\.\d\dx overall\.", said[0])
    assert re.fullmatch(r"If .+ \[[dp][\d.]+\] were free: at most \d\.\d\dx overall\.", said[1])
    assert said[2:] == ["9 of 9 operators are mapped to the graph."]
