"""The flame-like picture of samples: boxes as wide as their samples, names that cannot break out of it."""

from xml.etree import ElementTree

import pytest

from etprof.core.kernel_evidence import KernelEvidence
from etprof.core.rows import KernelUse
from etprof.reports.flame import build_boxes, render_flame
from evidence_builder import an_evidence, sampled_operator

SOME = an_evidence(
    sampled_operator("d0.0", "Copy #1", KernelUse("memcpy", "scalar", 10)),
    sampled_operator(
        "d0.1", "<script>alert(1)</script>", KernelUse('kai "sme2" & co', "SME", 20), KernelUse("b", "NEON", 10)
    ),
    sampled_operator("d0.2", "Add #1"),
)


def test_boxes_are_as_wide_as_their_samples_and_lie_under_their_operator() -> None:
    boxes = list(build_boxes(SOME))
    assert [(box.row, box.x, box.width) for box in boxes] == [
        (0, 0.0, 1.0), (1, 0.0, 0.75), (2, 0.0, 0.5), (2, 0.5, 0.25), (1, 0.75, 0.25), (2, 0.75, 0.25),
    ]  # fmt: skip


def test_names_stay_text() -> None:
    picture = render_flame(SOME)
    root = ElementTree.fromstring(picture)
    assert {element.tag for element in root.iter()} == {"svg", "g", "title", "rect", "text"}
    assert any("<script>" in (title.text or "") for title in root.iter("title"))


@pytest.mark.parametrize("evidence", [an_evidence(), an_evidence(sampled_operator("d0.0", "Add #1"))])
def test_nothing_sampled_is_no_picture(evidence: KernelEvidence) -> None:
    assert render_flame(evidence) == ""
