"""The runner paths of the users' documents: two scripts, one program."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.errors import UsageError
from etprof.core.extensions import features_to_hide
from etprof.runner.build import NativeRunner
from etprof.runner.executor_scripts import find_off_variant, write_executor_scripts
from etprof.runner.stock import identify_runner
from runner_block import run_block

# They run the native runner, which is built in a cache of the tests' own.


def test_both_scripts_run_the_same_program_and_one_hides(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    on, off = write_executor_scripts(runner, tmp_path / "cmake out")
    shown = run_block((str(on),), models / "fp32.pte", tmp_path / "shown")
    hidden = run_block((str(off),), models / "fp32.pte", tmp_path / "hidden")
    assert shown.result["features_hidden"] == []
    assert hidden.result["features_hidden"] != []
    assert off.parent.name.startswith(on.parent.name)
    assert off.parent.name.endswith("-off")


@pytest.mark.parametrize("features", [("sme", "sme2", "i8mm", "dot"), ("sme", "dot"), ("i8mm", "dot"), ("aes",), ()])
def test_the_script_named_after_sme2_hides_sme_and_sme2_and_nothing_else(features: tuple[str, ...]) -> None:
    """Where the CPU has neither, the runner exits with code 3: tests/runner/test_bundle.py."""
    hidden = find_off_variant("arm64", features)
    assert (hidden.slug, hidden.hide_isa) == ("sme2", ("sme", "sme2"))
    names = features_to_hide("arm64", hidden.hide_isa)
    assert {"sme", "sme2"} <= names
    assert all(name.startswith("sme") for name in names)


def test_the_script_on_another_cpu_is_named_after_what_it_hides() -> None:
    hidden = find_off_variant("x86_64", ("avx2", "avx512f"))
    assert (hidden.slug, hidden.hide_isa) == ("avx512", ("avx512", "amx"))


def test_scripts_are_recognised_as_ours_and_written_again(runner: NativeRunner, tmp_path: Path) -> None:
    for script in (*write_executor_scripts(runner, tmp_path), *write_executor_scripts(runner, tmp_path)):
        assert identify_runner(script).is_ours


def test_a_program_somebody_built_there_is_not_changed(runner: NativeRunner, tmp_path: Path) -> None:
    first, _ = write_executor_scripts(runner, tmp_path)
    first.write_bytes(b"\x7fELF somebody's own")
    with pytest.raises(UsageError, match="it was not changed"):
        write_executor_scripts(runner, tmp_path)
    assert first.read_bytes() == b"\x7fELF somebody's own"


def test_scripts_start_a_runner_of_this_machine_only(runner: NativeRunner, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not one for plan9-mips"):
        write_executor_scripts(replace(runner, target="plan9-mips"), tmp_path)
