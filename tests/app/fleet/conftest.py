"""A fleet of the tests' own: a real scheduler, and workers with scripted devices in processes of their own."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from fleet_etprof import TestFleet, running_fleet
from parts import need


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[TestFleet]:
    need(find_spec("distributed"), "distributed is not installed")
    with running_fleet(tmp_path / "fleet") as running:
        yield running
