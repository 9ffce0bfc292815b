"""The same model on several devices: who gains, by how much, and what cannot be told."""

from dataclasses import replace
from pathlib import Path

from etprof.core.report import Report
from etprof.reports.combined import PAGES, CombinedReport
from etprof.reports.device_gains import gain_sentences, list_gains
from report_builder import a_report, emulated


def on(device: str, report: Report) -> Report:
    """The report of a run there, whose first variant hid AVX-512."""
    first, *others = report.variants
    variants = (replace(first, features_hidden=("avx512f", "avx512vnni")), *others)
    return replace(report, context={**report.context, "device": device}, variants=variants)


def faster(report: Report, factor: float) -> Report:
    (pair,) = report.comparisons
    assert pair.speedup is not None
    speedup = replace(
        pair.speedup, value=pair.speedup.value * factor, low=pair.speedup.low * factor, high=pair.speedup.high * factor
    )
    return replace(report, comparisons=(replace(pair, speedup=speedup),))


def test_the_largest_gain_is_first_and_emulated_devices_are_counted_apart(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    reports = [on("board", report), on("phone", faster(report, 2)), on("qemu", emulated(tmp_path))]
    gains = list_gains(reports)
    assert [gain.device for gain in gains] == ["phone", "board", "qemu"]
    (sentence,) = gain_sentences(gains)
    assert "AVX-512 makes it faster on 2 of 2 devices, most on phone: 4.80x (4.78x to 4.82x)." in sentence
    assert "On 1 emulated device times are not meaningful." in sentence


def test_where_all_runs_are_emulated_no_gain_is_counted(tmp_path: Path) -> None:
    (sentence,) = gain_sentences(list_gains([on("qemu", emulated(tmp_path))]))
    assert sentence.endswith(": all runs are emulated, so they do not tell what AVX-512 gains.")


def test_several_runs_of_a_device_are_one_row(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    (gain,) = list_gains([on("board", report), on("board", faster(report, 1.1)), on("board", faster(report, 1.2))])
    assert gain.runs == 3
    assert gain.gain == "2.64x (2.39x to 2.89x)"


def test_the_combined_page_has_them_where_there_are_several_devices(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    alone = CombinedReport("One", (("a", on("board", report)), ("b", on("board", report))))
    both = CombinedReport("Two", (("a", on("board", report)), ("b", on("phone", report))))
    for suffix in (".md", ".html"):
        assert "Who gains" not in PAGES[suffix](alone)
        assert "Who gains" in PAGES[suffix](both)
