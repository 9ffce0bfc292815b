"""A forecast in words: an estimate is never called measured, and how far to trust it stands beside it."""

from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from etprof.core.device_profile import ProfiledDevice
from etprof.core.estimates import Interval
from etprof.core.forecast import VALIDATION, Forecast, ForecastRow, ForecastShare
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.reports import FORMATS
from etprof.reports.forecast_tables import list_sentences, render_text
from report_builder import HOSTILE, a_report

HERE = ProfiledDevice("Linux 6", "x86_64", "A CPU", 2, ("avx2",))
PHONE = ProfiledDevice("Android 17", "arm64", "A phone's CPU", 8, ("sme2",), soc="A chip")
UNCHECKED = "No forecast has been checked on SME2 silicon yet."


def a_row(identity: str, measured_ms: float, expected_ms: float, name: str = "Convolution") -> ForecastRow:
    return ForecastRow(
        identity=OperatorId(identity),
        name=name,
        kind="3x3 convolution",
        category="Convolution",
        module_path="stem.conv",
        measured_ms=measured_ms,
        expected_ms=expected_ms,
        low_ms=0.8 * expected_ms,
        high_ms=1.2 * expected_ms,
        basis="operators of the same kernel and like size",
        is_eligible=True,
    )


def a_forecast() -> Forecast:
    return Forecast(
        variant=Variant("on", 1),
        source=HERE,
        target=PHONE,
        extension="SME2",
        measured_ms=10.0,
        expected_ms=Interval(4.0, 3.6, 4.5, 0.9),
        speedup=Interval(2.5, 2.2, 2.8, 0.9),
        extension_speedup=Interval(1.8, 1.5, 2.1, 0.9),
        ceiling_speedup=3.0,
        untouched_share=1 / 3,
        floor_ms=1.5,
        rows=tuple(a_row(f"d0.{at}", 2.0, 2.0 - at / 4) for at in range(5)),
        shares=(ForecastShare("Elementwise", 2.0, 2.4, 0.6), ForecastShare("Convolution", 8.0, 1.6, 0.4)),
        validation=VALIDATION,
    )


def test_everything_that_decides_is_said() -> None:
    said = " ".join(list_sentences(a_forecast()))
    assert "Forecast for A chip, A phone's CPU (8 cores, arm64)" in said
    assert "expected to take 4.00 ms (90 % interval 3.60 ms to 4.50 ms), 2.50x (2.20x to 2.80x) as fast" in said
    assert "SME2 alone is expected to bring 1.80x (1.50x to 2.10x) there." in said
    assert "SME2 cannot touch 33.3 % of the time here" in said
    assert "3.00x as fast" in said
    assert "cannot take less than 1.50 ms" in said
    assert "What would dominate then: Elementwise, 60 % of the expected time (20 % here)." in said


def test_the_figures_of_the_validation_stand_beside_every_forecast() -> None:
    assert VALIDATION.forecasts > 0
    for forecast in (a_forecast(), replace(a_forecast(), expected_ms=None, speedup=None, missing=("Peaks only.",))):
        last = list_sentences(forecast)[-1]
        assert f"{VALIDATION.median_error:.1%}".replace("%", " %") in last
        assert "The method was made on another CPU, and not changed for these." in last
        assert last.endswith(UNCHECKED)


def test_the_figures_are_those_of_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/forecast-measured.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.endswith((" yes |", " no |"))]
    assert VALIDATION.forecasts == len(rows)
    assert VALIDATION.models == len({(row[0], row[1]) for row in rows})
    assert VALIDATION.inside == pytest.approx(sum(row[8] == "yes" for row in rows) / len(rows), abs=0.001)
    errors = sorted(abs(float(row[7].removesuffix(" %"))) / 100 for row in rows)
    assert VALIDATION.median_error == pytest.approx(median(errors), abs=0.001)
    assert VALIDATION.largest_error == pytest.approx(errors[-1], abs=0.001)
    assert VALIDATION.within_10 == pytest.approx(sum(error <= 0.1 for error in errors) / len(errors), abs=0.001)


def test_the_three_operators_whose_times_change_most_decide() -> None:
    assert [row.identity for row in a_forecast().deciding] == ["d0.4", "d0.3", "d0.2"]


def test_nothing_expected_is_called_measured() -> None:
    for sentence in list_sentences(a_forecast()):
        assert "measured" not in sentence or "is measured but the times of this run" in sentence


@pytest.mark.parametrize("width", [40, 80, None])
def test_text_fits_the_terminal(width: int | None) -> None:
    text = render_text(a_forecast(), width)
    if width == 80:
        assert max(map(len, text.splitlines())) <= width
    assert "The operators that decide the forecast" in text
    assert text.rstrip().endswith("yet.")


@pytest.mark.parametrize("name", ["console", "md", "html", "json"])
def test_a_report_has_the_section_only_where_it_was_asked_for(name: str, tmp_path: Path) -> None:
    report = a_report(tmp_path)
    mark = '"untouched_share"' if name == "json" else UNCHECKED
    assert mark not in FORMATS[name].render(report)
    assert mark in " ".join(FORMATS[name].render(replace(report, forecast=a_forecast())).split())


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    row = replace(a_row("d0.0", 2.0, 1.0, name=HOSTILE), module_path=HOSTILE, basis=HOSTILE)
    target = replace(PHONE, cpu_model=HOSTILE)
    forecast = replace(a_forecast(), rows=(row,), target=target, missing=(HOSTILE,))
    report = replace(a_report(tmp_path), forecast=forecast)
    assert "<script>alert(1)</script>" not in FORMATS["html"].render(report)
    assert "\x1b[31m" not in FORMATS["console"].render(report)
    assert "| `x` [a](b)" not in FORMATS["md"].render(report)
