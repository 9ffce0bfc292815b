"""Thread counts as users name them and as devices suggest them."""

from typing import Any

import pytest

from builders import a_device_info
from etprof.app.thread_counts import parse_threads, suggest_threads
from etprof.core.errors import UsageError
from etprof.core.run import SmeUnits


@pytest.mark.parametrize(
    ("given", "counts"),
    [("1", (1,)), ("4,1, 2", (1, 2, 4)), ("2,2", (2,)), (3, (3,)), ([8, 1], (1, 8)), ((1, 2), (1, 2)), ("auto", ())],
)
def test_counts_are_a_number_several_or_auto(given: Any, counts: tuple[int, ...]) -> None:
    assert parse_threads(given) == counts


@pytest.mark.parametrize("given", ["", "0", "1,0", "two", "1;2", "-1", "1.5", "1,", 0, -2, (), (1, 0), "AUTO"])
def test_anything_else_is_refused_with_what_to_write(given: Any) -> None:
    with pytest.raises(UsageError, match="threads is") as caught:
        parse_threads(given)
    assert "1,2,4, or auto" in caught.value.hint


@pytest.mark.parametrize(
    ("facts", "counts"),
    [
        ({"cpu_count": 1}, (1,)),
        ({"cpu_count": 2}, (1, 2)),
        ({"cpu_count": 6}, (1, 2, 4, 6)),
        ({"cpu_count": 8, "performance_cores": 3}, (1, 2, 3, 4, 8)),
        ({"cpu_count": 14, "sme_units": SmeUnits(2, is_shared=True), "performance_cores": 10}, (1, 2, 4, 8, 10, 14)),
        ({"cpu_count": 8, "sme_units": SmeUnits(3, is_shared=True)}, (1, 2, 3, 4, 8)),
        # More than a block may use would only show that they wait for each other.
        ({"cpu_count": 2, "sme_units": SmeUnits(8, is_shared=False), "performance_cores": 4}, (1, 2)),
        ({"cpu_count": 8, "times_are_real": False}, (1,)),
    ],
)
def test_a_device_suggests_powers_of_two_and_what_is_known_of_it(
    facts: dict[str, Any], counts: tuple[int, ...]
) -> None:
    assert suggest_threads(a_device_info(**facts)) == counts
