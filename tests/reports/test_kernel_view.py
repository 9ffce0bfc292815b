"""The kernel view as Markdown and CSV: what executed, told from what was only registered."""

import csv
import io

from etprof.core.samples import EXECUTED, REGISTERED, KernelLine
from etprof.reports.kernel_view import COLUMNS, ViewLine, render_csv, render_markdown


def a_line(kernel: str, instruction_class: str = "NEON", samples: int | None = None) -> KernelLine:
    return KernelLine(EXECUTED, "", "d0.0", "gemm", "GEMM", kernel, instruction_class, samples, None, "", "", "")


LINE: ViewLine = (
    "Fully | Connected",
    "GEMM",
    True,
    (a_line("kai_a", "SME", 9), a_line("b"), a_line("c"), a_line("d"), a_line("e")),
    (),
)


def test_the_markdown_names_three_kernels_and_counts_the_others() -> None:
    text = render_markdown(EXECUTED, [LINE])
    kernels = "kai\\_a (SME, 9)<br>b (NEON)<br>c (NEON)<br>and 2 more"
    assert f"| Fully \\| Connected | GEMM | {kernels} | not sampled | yes |" in text
    assert "sampled while the operator ran" in text


def test_registered_kernels_are_not_called_executed() -> None:
    text = render_markdown(REGISTERED, [LINE])
    assert "This does not show that they executed." in text
    assert "sampled while" not in text
    (row,) = csv.DictReader(io.StringIO(render_csv(REGISTERED, [LINE])))
    assert row["level"] == "registered, not executed"


def test_the_csv_has_every_kernel_and_each_class_once() -> None:
    (row,) = csv.DictReader(io.StringIO(render_csv(EXECUTED, [LINE])))
    assert tuple(row) == COLUMNS
    assert (row["on_classes"], row["on_kernels"]) == ("SME NEON", "kai_a b c d e")
    assert (row["off_classes"], row["off_kernels"], row["changed"]) == ("", "", "yes")
