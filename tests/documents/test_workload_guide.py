"""The workloads that the guide shows are ones that etprof reads, and what it prints of one is what is printed."""

import json
import re
from pathlib import Path

from etprof.reports import FORMATS
from etprof.store.workload_file import build_workload
from workload_builder import a_phase_report

GUIDE = (Path(__file__).parents[2] / "docs/guides/workloads.md").read_text(encoding="utf-8")


def test_every_workload_of_the_guide_can_be_read() -> None:
    shown = re.findall(r"^```json\n(.*?)^```", GUIDE, re.M | re.S)
    workloads = [build_workload(json.loads(text), "the guide") for text in shown]
    assert [[(phase.name, phase.repeats) for phase in each.phases] for each in workloads] == [
        [("prefill", 1), ("decode", 128)],
        [("first frame", 1), ("frames", 30)],
    ]
    assert workloads[0].starts == (0, 64)


def test_the_printed_table_of_the_guide_is_the_printed_table(tmp_path: Path) -> None:
    (shown,) = re.findall(r"^```\n(Phases\n.*?)^```", GUIDE, re.M | re.S)
    printed = FORMATS["console"].render(a_phase_report(tmp_path, growth={"on": 0.2}))
    assert shown in printed
