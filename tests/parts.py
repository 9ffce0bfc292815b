"""Parts a test needs from the machine: without one it skips and says why, or fails where nothing may be skipped."""

import os

import pytest


def need(condition: object, reason: str) -> None:
    if condition:
        return
    if os.environ.get("ETPROF_REQUIRE_ALL") == "1":
        pytest.fail(f"ETPROF_REQUIRE_ALL=1, but {reason}")
    pytest.skip(reason)
