"""Calibrates a device: a fixed set of operators is exported, run with extensions shown and hidden, and timed."""

import getpass
import platform
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from etprof.analysis.probed_operators import build_probes
from etprof.analysis.run_forecasts import profile_device
from etprof.app.devices import DeviceRequest, OpenDevice, open_device
from etprof.app.model_graphs import find_graph
from etprof.app.peaks import cached_folder, ensure_peaks
from etprof.app.profiling import RunOptions, run_opened
from etprof.app.progress import RunCounter
from etprof.app.runs import MeasuredRun
from etprof.core.device_profile import DeviceProfile, Level, ProbedOperator
from etprof.core.errors import DeviceError, ExportError, RunnerError, UnknownNameError, UsageError
from etprof.core.extensions import HIDDEN_TOGETHER, best_extension, features_to_hide
from etprof.core.layout import DEVICE_PROFILE
from etprof.core.plan import Experiment, Plan, Schedule, Warmup
from etprof.core.redaction import redact_names
from etprof.core.run import DeviceInfo
from etprof.export.probes import ProbeProgram, export_probe, list_programs
from etprof.runner.build import cache_dir
from etprof.store.profile_file import load_profile, save_profile

_BLOCKS, _TRACED, _WARMUP = 5, 16, Warmup(2, 10)
BUDGET_S = 240.0
_COMMAND = "etprof devices calibrate"
_SHOWN = "everything shown"


def find_profile(device: DeviceInfo) -> DeviceProfile | None:
    """That of a device which was calibrated from this machine."""
    path = cached_folder(device) / DEVICE_PROFILE
    return load_profile(path) if path.is_file() else None


def calibrate(
    request: DeviceRequest,
    *,
    hide: Sequence[tuple[str, ...]] = (),
    threads: int = 1,
    programs: Sequence[ProbeProgram] = (),
    budget_s: float = BUDGET_S,
    folder: Path | None = None,
) -> DeviceProfile:
    """The profile of a device: with nothing hidden, with its best extension hidden, and with what is to `hide` hidden.

    It is kept beside the device's peaks. Without `programs` all of the set are run. `budget_s` is for the runs; the
    programs are exported before, once for all devices. With `folder` the runs stay there.
    """
    programs = tuple(programs) or list_programs()
    with open_device(request) as opened:
        info = opened.device.describe()
        if not info.times_are_real:
            raise DeviceError(
                f"{info.name} is emulated: its times are not meaningful.", hint="Calibrate a real device, or `local`."
            )
        levels = _list_levels(info, hide)
        plan = _build_plan(levels, threads, budget_s / len(programs))
        calibration = _Calibration(opened, plan, levels, programs, request.progress)
        if folder is not None:
            return calibration.run(folder)
        with tempfile.TemporaryDirectory(prefix="etprof-calibrate-") as scratch:
            return calibration.run(Path(scratch))


def calibrate_to(
    target: Path, request: DeviceRequest, *, hide: Sequence[str], threads: int, precisions: str, budget_s: float
) -> DeviceProfile:
    """Calibrates and writes the profile; what is hidden together, and precisions, are separated by commas."""
    if target.is_dir() or not target.parent.is_dir():
        raise UsageError(f"{target} is not a file in an existing folder.", hint="Name another --out.")
    if threads < 1:
        raise UsageError(f"threads is {threads}.", hint="Give threads a whole number from 1 on.")
    hidden = [_split_names(names) for names in hide]
    known = sorted({name for groups in HIDDEN_TOGETHER.values() for name in groups})
    for name in (name for names in hidden for name in names if name not in known):
        raise UnknownNameError("feature group to hide", name, known, hint=f"Known: {', '.join(known)}.")
    profile = calibrate(
        request,
        hide=hidden,
        threads=threads,
        programs=list_programs(_split_names(precisions)),
        budget_s=budget_s,
    )
    save_profile(target, profile)
    return profile


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@dataclass(frozen=True)
class _Calibration:
    """What is run on an opened device; `plan` is that of each program, whose model is still to be put in."""

    opened: OpenDevice
    plan: Plan
    levels: tuple[Level, ...]
    programs: tuple[ProbeProgram, ...]
    tell: Callable[[str], None]

    def run(self, folder: Path) -> DeviceProfile:
        info = self.opened.device.describe()
        with self.opened.take_turn():
            peaks = ensure_peaks(self.opened.device, self.tell)
        profile = DeviceProfile(
            device=profile_device(info),
            calibrated_at=datetime.now(UTC).isoformat(timespec="seconds"),
            threads=self.plan.experiments[0].threads[0],
            peaks=peaks,
        )
        for number, program in enumerate(self.programs, start=1):
            self.tell(f"program {number} of {len(self.programs)}: {program.name}")
            if measured := self._run_program(program, folder / program.name):
                profile = profile if profile.levels else _add_conditions(profile, self.levels, measured)
                probes = _read_probes(program, measured, self.levels)
                profile = replace(profile, operators=(*profile.operators, *probes))
        if not profile.operators:
            raise RunnerError("No program of the calibration ran.", hint="`etprof doctor` says what is missing.")
        profile = redact_names(profile, info.name, platform.node(), getpass.getuser())
        save_profile(cached_folder(info) / DEVICE_PROFILE, profile)
        return profile

    def _run_program(self, program: ProbeProgram, folder: Path) -> MeasuredRun | None:
        """None where the device does not execute the program, which is told."""
        try:
            artifact = export_probe(program, cache_dir() / "probes")
            plan = replace(self.plan, model=artifact.pte, output_root=folder)
            # The budget begins here: the export does not count.
            measured = run_opened(self.opened, plan, RunCounter(lambda *_: None), RunOptions(_COMMAND))
        except (ExportError, RunnerError) as error:
            self.tell(f"{program.name} is left out: {error.message}")
            return None
        session = measured.session
        failed = next((variant for variant in session.plan.variants if not session.successful(variant)), None)
        if failed is None:
            return measured
        reason = next((r.failure for r in session.results if r.variant == failed), "it was not run")
        self.tell(f"{program.name} is left out: {failed.label}: {reason}")
        return None


def _list_levels(info: DeviceInfo, hide: Sequence[tuple[str, ...]]) -> tuple[Level, ...]:
    try:
        best: tuple[tuple[str, ...], ...] = (best_extension(info.architecture, info.features).hide_isa,)
    except UsageError:
        best = ()
    for names in hide:
        features_to_hide(info.architecture, names)
    hidden = dict.fromkeys((*best, *hide))
    return (Level(_SHOWN), *(Level(f"{', '.join(names)} hidden", names) for names in hidden))


def _build_plan(levels: Sequence[Level], threads: int, budget_s: float) -> Plan:
    like = Experiment("", threads=(threads,), runs=2, traced_runs=_TRACED, warmup=_WARMUP)
    experiments = tuple(replace(like, name=f"level_{at}", hide_isa=level.hide_isa) for at, level in enumerate(levels))
    schedule = Schedule(blocks=_BLOCKS, max_blocks=_BLOCKS, time_budget_s=budget_s)
    return Plan(Path(), Path(), experiments, (), schedule)


def _add_conditions(profile: DeviceProfile, levels: Sequence[Level], measured: MeasuredRun) -> DeviceProfile:
    """What the first program tells of all of them."""
    firsts = [measured.session.successful(variant)[0] for variant in measured.session.plan.variants]
    return replace(
        profile,
        executorch=firsts[0].executorch_version,
        load_average=firsts[0].cpu_before.load_average,
        levels=tuple(
            replace(level, features_hidden=first.features_hidden) for level, first in zip(levels, firsts, strict=True)
        ),
    )


def _read_probes(program: ProbeProgram, measured: MeasuredRun, levels: Sequence[Level]) -> tuple[ProbedOperator, ...]:
    session = measured.session
    graph = find_graph(session.plan.model)
    if graph is None:
        raise ExportError(f"{program.name} has no graph.", hint="Delete it, and calibrate again.")
    traces = {
        level.name: [measured.traces[result.etdump] for result in session.successful(variant)]
        for level, variant in zip(levels, session.plan.variants, strict=True)
    }
    return build_probes(program.name, graph, traces)
