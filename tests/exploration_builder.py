"""Races between builds of a model that is not there: programs that anything runs, with costs that are made up."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from builders import a_result, a_session
from etprof.core.exploration import Candidate, Exploration
from etprof.core.plan import Experiment, Plan, Schedule
from etprof.core.run import Session
from etprof.core.runtimes import EXECUTORCH
from program_builder import build_program

MIB = 1 << 20
# Milliseconds at one thread, SNR in dB and the size of the file in MiB: fp16 gains nothing, per_tensor is worse than
# static in everything, dynamic is slower and more accurate.
BUILDS = {
    "fp32": (20.0, 90.0, 40),
    "fp16": (20.2, 55.0, 20),
    "static_per_channel": (8.0, 31.0, 11),
    "static_per_tensor": (9.5, 24.0, 11),
    "dynamic_per_channel": (12.0, 36.0, 11),
}
FAILED = Candidate("linear_dynamic_4bit", "linear_dynamic_4bit", EXECUTORCH, problem="The model has no linear layer.")


def an_exploration(**changes: Any) -> Exploration:
    """The builds above, and one that could not be exported."""
    candidates = tuple(
        Candidate(name, name, EXECUTORCH, file_bytes=size * MIB, snr_db=snr_db)
        for name, (_, snr_db, size) in BUILDS.items()
    )
    return replace(Exploration((*candidates, FAILED), held_out=4), **changes)


def a_race_plan(folder: Path, *, threads: tuple[int, ...] = (1,), **schedule: Any) -> Plan:
    """A program for each build, all alike but for their bytes."""
    experiments = []
    for name in BUILDS:
        model = folder / f"{name}.pte"
        model.write_bytes(build_program() + name.encode())
        experiments.append(Experiment(name, runs=5, traced_runs=2, threads=threads, model=model))
    wanted = {"blocks": 4, "max_blocks": 12, "retries": 0, **schedule}
    return Plan(
        experiments[0].model or folder, folder / "runs" / "race", tuple(experiments), (), replace(Schedule(), **wanted)
    )


def a_race(
    *, rounds: int = 6, exploration: Exploration | None = None, times: Mapping[str, float] | None = None, **changes: Any
) -> Session:
    """A session of one round after another in which nobody was dropped yet."""
    times = times or {name: ms for name, (ms, _, _) in BUILDS.items()}
    plan = Plan(
        Path("fp32.pte"), Path("run"), tuple(Experiment(name, model=Path(f"{name}.pte")) for name in times), (),
        Schedule(blocks=4, max_blocks=40),
    )  # fmt: skip
    results = tuple(
        a_result(name, index, ms * (1 + 0.002 * ((index * 7 + place * 3) % 5)), peak_bytes=60 * MIB, duration_s=2.0)
        for index in range(rounds)
        for place, (name, ms) in enumerate(times.items())
    )
    return a_session(plan, results, exploration=exploration or an_exploration(), **changes)
