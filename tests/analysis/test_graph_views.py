"""What was measured lies on the graph: nothing is lost, nothing counted twice, and each graph has its own numbers."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_device_info, a_loaded_run, a_session, paired_results
from etprof.analysis.report import analyze_run, build_report
from etprof.core.graph_view import MODULES, PROGRAM, GraphView, Overlay, Quantity
from etprof.core.report import Report
from report_builder import a_report, a_trace, the_graph, untraced, with_graph
from sample_builder import AVX512, place, samples
from trace_builder import WITH_GRAPH, a_call, an_inference, read_inferences, recorded, recorded_graph

CREATED = "2026-01-02T00:00:00+00:00"


def the_view(report: Report) -> GraphView:
    (view,) = report.views
    return view


def the_overlay(report: Report, quantity: Quantity, stem: str) -> Overlay:
    (overlay,) = (each for each in the_view(report).overlays if (each.quantity, each.stem) == (quantity, stem))
    return overlay


def numbers(overlay: Overlay, graph: str) -> dict[str, float]:
    return {node: float(value) for node, value in overlay.values[graph].items()}


def test_the_nodes_of_a_variant_add_up_to_its_operators(tmp_path: Path) -> None:
    report = with_graph(tmp_path)
    for variant in report.variants:
        time = numbers(the_overlay(report, Quantity.TIME, variant.variant.stem), MODULES)
        share = numbers(the_overlay(report, Quantity.SHARE, variant.variant.stem), MODULES)
        assert sum(time.values()) == pytest.approx(sum(row.mean_ms for row in variant.operators))
        assert sum(share.values()) == pytest.approx(100 * sum(row.share for row in variant.operators))
        assert set(time) == {f"call0.node{i}" for i in range(3)} | {f"call1.node{i}" for i in range(3)} | {"operator0"}


def test_an_instruction_has_its_whole_call_and_a_delegates_node_its_operators(tmp_path: Path) -> None:
    report = with_graph(tmp_path)
    overlay = the_overlay(report, Quantity.TIME, "on_t1")
    own = {str(row.identity): row.mean_ms for row in report.variants[1].operators}
    program = numbers(overlay, PROGRAM)
    assert set(overlay.values) == {MODULES, PROGRAM, "0", "2"}
    assert set(program) == {"0", "1", "2"}
    assert program["1"] == pytest.approx(own["p0"])
    # The builder gives each call three microseconds that no operator owns.
    assert program["0"] == pytest.approx(sum(ms for identity, ms in own.items() if identity.startswith("d0.")) + 0.003)
    assert numbers(overlay, "0") == pytest.approx({str(node): own[f"d0.{node}"] for node in range(3)})
    assert numbers(overlay, "2").keys() == {"0", "1", "2"}


def test_a_speed_up_is_that_of_the_operators_change(tmp_path: Path) -> None:
    report = with_graph(tmp_path)
    (comparison,) = report.comparisons
    overlay = the_overlay(report, Quantity.SPEEDUP, "on_t1_against_off_t1")
    assert overlay.title == comparison.title
    changes = {str(change.identity): change.speedup for change in comparison.operators}
    assert numbers(overlay, "0")["0"] == pytest.approx(changes["d0.0"])
    assert numbers(overlay, PROGRAM)["0"] > 1.0


def test_kernels_are_those_with_the_most_samples_of_a_node_and_of_its_call(tmp_path: Path) -> None:
    trace = a_trace(tmp_path, 0.25)
    run = trace.run == 1
    first = int(trace.start_ns[run].min())
    taken = [(first + 10_000 * i, place(AVX512, "xnn_f32_gemm__avx512f")) for i in range(20)]
    session = a_session(results=paired_results([4.8] * 4, [2.0] * 4))
    content = samples(taken, "x86_64")
    loaded = a_loaded_run(
        session, {"off": [trace], "on": [trace]}, sampled={"on": [(content, trace)]}, graph=the_graph()
    )
    report = build_report(loaded, title="t", created_at=CREATED)
    overlay = the_overlay(report, Quantity.KERNELS, "on_t1")
    assert overlay.values[MODULES]["call0.node0"] == "AVX-512"
    assert overlay.values[PROGRAM]["0"] == "AVX-512"
    assert overlay.values["0"] == {"0": "AVX-512"}


def test_an_emulated_run_has_its_graph_and_kernels_and_no_times(tmp_path: Path) -> None:
    trace = a_trace(tmp_path, 0.25)
    first = int(trace.start_ns[trace.run == 1].min())
    content = samples([(first + 10_000 * i, place(AVX512, "xnn_f32_gemm__avx512f")) for i in range(20)], "x86_64")
    session = a_session(results=paired_results([4.8] * 4, [2.0] * 4), device=a_device_info(times_are_real=False))
    loaded = a_loaded_run(
        session, {"off": [trace], "on": [trace]}, sampled={"on": [(content, trace)]}, graph=the_graph()
    )
    view = the_view(build_report(loaded, title="t", created_at=CREATED))
    assert len(view.nodes) == 7
    assert {overlay.quantity for overlay in view.overlays} == {Quantity.KERNELS}


def test_kinds_of_inferences_have_their_own_overlays(tmp_path: Path) -> None:
    kinds = (an_inference(a_call("Add #1")), an_inference(a_call("Add #1", "Clamp #1"), start_us=100))
    again = (an_inference(a_call("Add #1"), start_us=200), an_inference(a_call("Add #1", "Clamp #1"), start_us=300))
    trace = read_inferences(tmp_path, *kinds, *again)
    session = a_session(results=paired_results([4.8] * 4, [2.0] * 4))
    report = build_report(a_loaded_run(session, {"off": [trace], "on": [trace]}), title="t", created_at=CREATED)
    stems = [each.stem for each in the_view(report).overlays if each.quantity is Quantity.TIME]
    assert stems == ["off_t1_s0", "off_t1_s1", "on_t1_s0", "on_t1_s1"]
    assert the_overlay(report, Quantity.TIME, "on_t1_s1").title == "on, 1 thread, inferences of kind 1"


@pytest.mark.parametrize("name", WITH_GRAPH)
def test_every_operator_of_a_recorded_model_has_its_time_on_the_graph(name: str) -> None:
    trace = recorded(name)
    session = a_session(results=paired_results([4.8] * 4, [2.0] * 4))
    run = a_loaded_run(session, {"off": [trace], "on": [trace]}, graph=recorded_graph(name))
    report = analyze_run(run, title="t", created_at=CREATED).report
    rows = report.variants[0].operators
    values = numbers(the_overlay(report, Quantity.TIME, "off_t1"), MODULES)
    ids = {node.id: node.attributes.get("operators", "") for node in the_view(report).nodes}
    assert sum(values.values()) == pytest.approx(sum(row.mean_ms for row in rows))
    for row in rows:
        (id,) = (id for id, held in ids.items() if f"{row.identity} {row.name}" in held.split("; "))
        assert values[id] >= row.mean_ms * 0.999


def test_a_run_without_traces_and_graph_has_no_view_and_one_with_a_graph_only_its_nodes(tmp_path: Path) -> None:
    assert untraced(tmp_path).views == ()
    session = a_session(results=paired_results([4.8] * 4, [2.0] * 4))
    view = the_view(build_report(a_loaded_run(session, graph=the_graph()), title="t", created_at=CREATED))
    assert len(view.nodes) == 7
    assert view.overlays == ()


def test_models_that_differ_have_views_of_their_own(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    assert [(view.model, view.method) for view in report.views] == [(report.model, "forward")]
    session = a_session(results=tuple(
        replace(result, method_name="encode" if result.experiment == "on" else "decode")
        for result in paired_results([4.8] * 4, [2.0] * 4)
    ))  # fmt: skip
    trace = a_trace(tmp_path, 1.0)
    several = build_report(a_loaded_run(session, {"off": [trace], "on": [trace]}), title="t", created_at=CREATED)
    assert [view.method for view in several.views] == ["decode", "encode"]
    assert not [each for view in several.views for each in view.overlays if each.quantity is Quantity.SPEEDUP]
