"""What a device reported during a run: facts for the report, and findings where they changed."""

from collections.abc import Callable, Iterable
from operator import attrgetter

from etprof.core.findings import Finding, FindingKind
from etprof.core.run import CpuState, DeviceInfo, Session, SmeUnits

_HOTTER_C = 15.0


def describe_device(device: DeviceInfo) -> dict[str, str]:
    """The facts beyond name, system and CPU that a device reported."""
    facts = {"model": device.model, "SoC": device.soc, "build": device.build}
    clusters = [
        f"{cluster.name or 'all'}: {format_cores(cluster.cores)} ({cluster.core_type or 'unknown'}"
        + (f", up to {cluster.max_khz / 1e6:.2f} GHz)" if cluster.max_khz else ")")
        for cluster in device.clusters
    ]
    if len(clusters) > 1:
        facts["cores"] = "; ".join(clusters)
    if device.sme_units:
        facts["SME units"] = describe_units(device.sme_units)
    return {f"device {key}": value for key, value in facts.items() if value}


def describe_units(units: SmeUnits) -> str:
    """2, shared: cores 0-3 and 4-9; what is only assumed says from what."""
    if not units.is_shared:
        return f"{units.count}, one for each core"
    if units.assumed_from:
        return f"{units.count}, shared (assumed from {units.assumed_from})"
    return f"{units.count}, shared: cores {' and '.join(format_cores(cores) for cores in units.cores)}"


def describe_cores(session: Session) -> dict[str, str]:
    """Which cores each variant was kept to, as its runner saw it."""
    facts = {}
    for experiment in session.plan.experiments:
        used = {r.cpu_affinity for r in session.results if r.experiment == experiment.name and r.is_ok} - {()}
        asked = f"{experiment.cpu_cluster} cores " if experiment.cpu_cluster else ""
        if experiment.cpu_affinity and used:
            facts[f"cores of {experiment.name}"] = asked + " or ".join(format_cores(cores) for cores in sorted(used))
    return facts


def find_device_changes(session: Session) -> Iterable[Finding]:
    """None where times are not real: nothing that the host of an emulator did could have changed them."""
    if not session.device.times_are_real:
        return
    states = [state for r in session.results if r.is_ok for state in (r.cpu_before, r.cpu_after)]
    throttled = [s.throttling for s in states if s.throttling]
    if throttled:
        yield Finding(
            FindingKind.THROTTLED,
            f"The device throttled itself: level {max(throttled)} in {len(throttled)} of {len(states)} readings.",
            "Let it cool: raise schedule.cooldown_s, take it out of its case, or run fewer blocks at once.",
        )
    for kind, name, advice in (
        (FindingKind.POWER_CHANGED, "on_battery", "Keep the device plugged in, or unplugged, for the whole run."),
        (FindingKind.POWER_SAVING_CHANGED, "saves_power", "Switch battery saver off, or use --prepare."),
        (FindingKind.GOVERNOR_CHANGED, "governors", "Something else sets the governor; stop it, or use --prepare."),
    ):
        values = _values(states, attrgetter(name))
        if len(values) > 1:
            yield Finding(kind, f"{_WORDS[name]} changed during the run: {', then '.join(values)}.", advice)
    temperatures = [s.temperature_c for s in states if s.temperature_c is not None]
    if temperatures and max(temperatures) - temperatures[0] > _HOTTER_C:
        yield Finding(
            FindingKind.TEMPERATURE_ROSE,
            f"The device warmed from {temperatures[0]:.0f} C to {max(temperatures):.0f} C during the run.",
            "Let it cool between blocks: schedule.cooldown_s. Interleaving keeps the comparison fair.",
        )


_WORDS = {"on_battery": "Battery power", "saves_power": "Power saving", "governors": "The frequency governor"}


def _values(states: Iterable[CpuState], get: Callable[[CpuState], object]) -> list[str]:
    """The different values in the order they came; what was not reported is no value."""
    reported = (get(state) for state in states)
    return list(dict.fromkeys(_text(value) for value in reported if value not in (None, ())))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(dict.fromkeys(value)) if isinstance(value, tuple) else str(value)


def format_cores(cores: tuple[int, ...]) -> str:
    """0, 4-7 for 0, 4, 5, 6, 7."""
    runs: list[list[int]] = []
    for core in sorted(cores):
        if runs and core == runs[-1][-1] + 1:
            runs[-1].append(core)
        else:
            runs.append([core])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
