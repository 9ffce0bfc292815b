"""The times of a calibration's operators: one for each certain node, from all of its events, on every level."""

from pathlib import Path

import pytest

from etprof.analysis.probed_operators import build_probes
from etprof.core.device_profile import Extent
from report_builder import a_trace, the_graph

PROBE = "fp32/net/stem.conv/XNNConv2d.1"


def test_each_node_has_its_time_on_every_level(tmp_path: Path) -> None:
    hidden, shown = [a_trace(tmp_path, 1.0)] * 2, [a_trace(tmp_path, 0.25)] * 2
    found = {probe.probe: probe for probe in build_probes("fp32/net", the_graph(), {"shown": shown, "hidden": hidden})}
    convolution = found[PROBE]
    # Three inferences are steady; each is a microsecond longer than the one before.
    assert convolution.times_us["hidden"].value == pytest.approx(3002, abs=1)
    assert convolution.times_us["shown"].value == pytest.approx(752, abs=1)
    assert convolution.extent == Extent(4096, 576, 192)
    assert (convolution.group, convolution.case.operator) == ("compute", "convolution")
    assert convolution.macs == 452_984_832
    assert found["fp32/net/head/XNNAdd.1"].group == "elementwise"
    assert found["fp32/net/head/XNNStaticTranspose.1"].group == "movement"
    portable = found["fp32/net/up/aten::upsample_nearest2d.vec_out.1"]
    assert (portable.group, portable.is_delegated) == ("portable", False)


def test_intervals_tell_how_blocks_differ(tmp_path: Path) -> None:
    blocks = [a_trace(tmp_path, scale) for scale in (1.0, 1.1, 1.2)]
    (found, *_) = build_probes("fp32/net", the_graph(), {"shown": blocks})
    time = found.times_us["shown"]
    # The fastest of the blocks: others can only make one slower.
    assert time.value == pytest.approx(3001, abs=1)
    assert time.low < 3002
    assert time.high > 3602


def test_a_graph_that_does_not_fit_gives_nothing(tmp_path: Path) -> None:
    graph = the_graph()
    other = type(graph)(graph.model, graph.partitions[:1], ())
    assert build_probes("fp32/net", other, {"shown": [a_trace(tmp_path, 1.0)]}) == ()
