"""The runner paths of the users' documents: two doors, one program."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.errors import UsageError
from etprof.runner.build import NativeRunner
from etprof.runner.doors import write_doors
from etprof.runner.stock import identify_runner
from runner_block import run_block


def test_both_doors_run_the_same_program_and_one_hides(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    on, off = write_doors(runner, tmp_path / "cmake out")
    shown = run_block((str(on),), models / "fp32.pte", tmp_path / "shown")
    hidden = run_block((str(off),), models / "fp32.pte", tmp_path / "hidden")
    assert shown.result["features_hidden"] == []
    assert hidden.result["features_hidden"] != []
    assert off.parent.name.startswith(on.parent.name)
    assert off.parent.name.endswith("-off")


def test_doors_are_recognised_as_ours_and_written_anew(runner: NativeRunner, tmp_path: Path) -> None:
    for door in (*write_doors(runner, tmp_path), *write_doors(runner, tmp_path)):
        assert identify_runner(door).is_ours


def test_a_program_somebody_built_there_is_left_alone(runner: NativeRunner, tmp_path: Path) -> None:
    first, _ = write_doors(runner, tmp_path)
    first.write_bytes(b"\x7fELF somebody's own")
    with pytest.raises(UsageError, match="it stays as it is"):
        write_doors(runner, tmp_path)
    assert first.read_bytes() == b"\x7fELF somebody's own"


def test_doors_lead_to_this_machine_only(runner: NativeRunner, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not to one for plan9-mips"):
        write_doors(replace(runner, target="plan9-mips"), tmp_path)
