"""What runners get of a workload is read back as it was written, and anything else is refused."""

import pytest

from etprof.core.run import INPUTS_WRONG
from etprof.runner.planned_workload import (
    NoWorkloadError,
    PlannedInput,
    PlannedPhase,
    PlannedWorkload,
    parse_workload,
    render_workload,
)

PLANNED = PlannedWorkload(
    (
        PlannedPhase("pre fill", "a method", (PlannedInput((1, 4), 0), PlannedInput((), 64, 3)), 1, True, (0,)),
        PlannedPhase("decode", "forward", (), 300, traced=(0, 150, 299)),
    ),
    bytearray(b"\ndata\n" + bytes(122)),
    has_state=True,
    shared=(1, 2),
)


def test_a_workload_is_read_back() -> None:
    assert parse_workload(render_workload(PLANNED), "a") == PLANNED
    plain = PlannedWorkload((PlannedPhase("a", "forward", ()),), bytearray())
    assert parse_workload(render_workload(plain), "a") == plain


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"etprof workload 1",
        b"etprof workload 2\nstate 0\nphase 0 1 a\ndata\n",
        b"etprof workload 1\nstate 0\ndata\n",
        b"etprof workload 1\nmethod forward\ndata\n",
        b"etprof workload 1\nphase 0 0 a\ndata\n",
        b"etprof workload 1\nphase 0 2 a\ntrace 2\ndata\n",
        b"etprof workload 1\nphase 0 1 a\ninput 1x2 0 0\ndata\n",
        b"etprof workload 1\nphase 0 1 a\ninput 1x2 99 1\ndata\n",
        b"etprof workload 1\nphase 0 1 a\ninput ax2 0 1\ndata\n",
        b"etprof workload 1\nphase 0 1 a\nother\ndata\n",
    ],
)
def test_anything_else_is_refused_with_the_code_for_wrong_inputs(content: bytes) -> None:
    with pytest.raises(NoWorkloadError, match=r"^a\.workload is not a workload that etprof wrote\.$") as refused:
        parse_workload(content, "a.workload")
    assert refused.value.exit_code == INPUTS_WRONG
