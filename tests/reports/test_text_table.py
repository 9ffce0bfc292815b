"""Plain tables: nothing is broken or cut, what matters less leaves first, and no name can steer the terminal."""

import pytest

from etprof.reports.text_table import Column, TextTable, render_table, split_table, wrap

NAMES = Column("operator", ["Convolution (NHWC, F32) IGEMM #1", "Add #1"])
TIMES = Column("mean", ["1.25 ms", "0.5 ms"], right=True)
SHARES = Column("share", ["71.4 %", "28.6 %"], 1, right=True)
MODULES = Column("module", ["backbone.features.12.block.0", "head"], 2)
TYPES = Column("type", ["fp32", "fp32"], 3)
TABLE = TextTable("Operators", [NAMES, TYPES, MODULES, TIMES, SHARES])


def headings(width: int | None) -> list[str]:
    return render_table(TABLE, width).splitlines()[1].split()


def test_a_table_is_aligned_and_numbers_stand_on_the_right() -> None:
    assert render_table(TextTable("Operators (2)", [NAMES, TIMES]), 80) == (
        "Operators (2)\n"
        "operator                             mean\n"
        "--------------------------------  -------\n"
        "Convolution (NHWC, F32) IGEMM #1  1.25 ms\n"
        "Add #1                             0.5 ms\n"
    )


def test_totals_are_set_apart() -> None:
    lines = render_table(TextTable("", [NAMES, TIMES], totals=1), None).splitlines()
    assert lines[1] == lines[3]
    assert set(lines[1]) == {"-", " "}


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (None, ["operator", "type", "module", "mean", "share"]),
        (85, ["operator", "type", "module", "mean", "share"]),
        (84, ["operator", "module", "mean", "share"]),
        (79, ["operator", "module", "mean", "share"]),
        # The module does not fit any more; the narrower type takes its place.
        (78, ["operator", "type", "mean", "share"]),
        (54, ["operator", "mean", "share"]),
        (48, ["operator", "type", "mean"]),
        (41, ["operator", "mean"]),
        (10, ["operator", "mean"]),
    ],
)
def test_columns_are_shown_where_they_fit_important_ones_first(width: int | None, shown: list[str]) -> None:
    assert headings(width) == shown


@pytest.mark.parametrize("width", range(10, 100))
def test_names_are_whole_at_every_width(width: int) -> None:
    lines = render_table(TABLE, width).splitlines()
    assert all(any(name in line for line in lines) for name in NAMES.cells)
    if width >= 41:
        assert max(map(len, lines)) <= width


def test_what_is_not_shown_is_named_with_how_to_see_it() -> None:
    assert render_table(TABLE, 45).endswith("\nnot shown at this width: type, module, share\n(--wide shows all)\n")
    told = TextTable("", TABLE.columns, more="a wider terminal shows all")
    assert "(a wider terminal shows all)" in " ".join(render_table(told, 45).split())
    assert "not shown" not in render_table(TABLE, None)


def test_a_column_without_content_is_neither_shown_nor_missed() -> None:
    empty = Column("module", ["", ""], 1)
    text = render_table(TextTable("", [NAMES, empty, TIMES]), 80)
    assert "module" not in text


def test_a_table_without_rows_is_its_headings() -> None:
    assert render_table(TextTable("", [Column("operator", []), Column("mean", [])]), 80) == (
        "operator  mean\n--------  ----\n"
    )


def test_two_columns_may_say_the_same() -> None:
    share = Column("share", ["50 %"], 1), Column("share", ["50 %"], 1)
    assert render_table(TextTable("", [Column("a", ["b"]), *share]), 80).split()[:3] == ["a", "share", "share"]


def test_a_name_can_neither_end_its_line_nor_steer_the_terminal() -> None:
    hostile = TextTable("ti\x1btle", [Column("a\nb", ["x\ny", "\x1b[31m"])])
    assert render_table(hostile, 80) == "ti\ufffdtle\na\ufffdb\n-----\nx\ufffdy\n\ufffd[31m\n"


def test_a_table_of_equal_columns_is_split_and_repeats_its_first() -> None:
    table = TextTable(
        "", [Column("row", ["median"]), *(Column(f"variant {n}", [f"{n} ms"]) for n in range(5))], totals=1
    )
    parts = list(split_table(table, 30))
    assert [[column.heading for column in part.columns] for part in parts] == [
        ["row", "variant 0", "variant 1"],
        ["row", "variant 2", "variant 3"],
        ["row", "variant 4"],
    ]
    assert [part.totals for part in parts] == [1, 1, 1]
    assert [len(part.columns) for part in split_table(table, None)] == [6]
    assert [len(part.columns) for part in split_table(table, 5)] == [2] * 5, "a column that never fits is shown alone"


def test_text_is_wrapped_between_words_and_numbers_keep_their_units() -> None:
    assert wrap("takes 95 % of it", 9) == "takes\n95 % of\nit"
    assert wrap("at most 0.75 ms more", 12, "  ") == "at most\n  0.75 ms\n  more"
    assert wrap("a-hyphenated-name-that-is-long", 10) == "a-hyphenated-name-that-is-long"
    assert wrap("any width", None) == "any width"
    assert wrap("", 10) == ""
