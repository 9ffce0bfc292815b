"""Tables hold plain values, show themselves, and become data frames where pandas or polars is installed."""

import sys

import pytest

from etprof.api.tables import Table
from etprof.core.errors import DependencyError
from report_builder import HOSTILE

TABLE = Table(("name", "delegated", "count", "mean_ms"), (("Add", True, 3, 0.25), ("Copy", False, 1, None)))


def test_rows_are_read_by_column_name() -> None:
    assert len(TABLE) == 2
    assert [row["name"] for row in TABLE] == ["Add", "Copy"]
    assert TABLE[-1] == {"name": "Copy", "delegated": False, "count": 1, "mean_ms": None}
    assert repr(TABLE) == "<Table of 2 rows: name, delegated, count, mean_ms>"


def test_a_table_becomes_a_data_frame_of_pandas() -> None:
    frame = TABLE.to_pandas()
    assert list(frame.columns) == list(TABLE.columns)
    assert frame["delegated"].tolist() == [True, False]
    assert frame["mean_ms"].sum() == 0.25
    assert Table(("name",), ()).to_pandas().empty


def test_a_table_becomes_a_data_frame_of_polars() -> None:
    frame = TABLE.to_polars()
    assert frame.to_dicts() == list(TABLE)
    assert Table(("name",), ()).to_polars().columns == ["name"]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DependencyError, match=f"needs {package}") as caught:
        getattr(TABLE, f"to_{package}")()
    assert caught.value.hint == f"Run: pip install {package}"


def test_a_table_is_shown_as_html_without_trusting_its_names() -> None:
    html = Table((HOSTILE, "mean_ms"), ((HOSTILE, 1.23456),))._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 2
    assert '<td style="text-align:right">1.235</td>' in html


def test_a_long_table_shows_its_first_rows_and_says_how_many_follow() -> None:
    html = Table(("count",), tuple((i,) for i in range(100)))._repr_html_()
    assert ">59</td>" in html
    assert ">60</td>" not in html
    assert "40 more rows" in html
