"""Turns the text after `--device` into a device that is ready to run blocks; lists, describes and cleans devices."""

from contextlib import AbstractContextManager
from dataclasses import dataclass

from etprof.analysis.timing.device_changes import describe_units
from etprof.app.device_parts import RunnerParts
from etprof.core.errors import EtprofError, UsageError
from etprof.core.run import DeviceInfo
from etprof.core.runtimes import RUNTIMES
from etprof.devices import DEVICES, list_usages, load_kind
from etprof.devices.kind import DeviceRequest, OpenDevice
from etprof.devices.local import local_platform

__all__ = [
    "DeviceRequest", "OpenDevice", "Reachable", "clean_device", "device_of_platform", "find_attached", "list_devices",
    "open_device", "parse_device", "reach_device", "refuse_other_options",
    "refuse_other_runtimes",
]  # fmt: skip

_PARTS = RunnerParts()


@dataclass(frozen=True)
class Reachable:
    """A device by the name `--device` takes, with what it says of itself or why it cannot be used."""

    name: str
    facts: tuple[str, ...] = ()
    trouble: str = ""


def parse_device(text: str) -> DeviceRequest:
    kind, _, place = text.partition(":")
    if kind not in DEVICES:
        hint = f"Devices: {list_usages()}; recorded:DIR with `etprof run` only."
        raise UsageError(f"There is no device {text!r}.", hint=hint)
    return DeviceRequest(kind, place)


def device_of_platform(platform: str) -> str:
    """The device behind the word the users' documents use: mac, linux, android or emulated; this machine by default."""
    here = local_platform()
    devices = {"": "local", here: "local", "android": "android", "emulated": "emulated"}
    if platform in devices:
        return devices[platform]
    if platform in ("mac", "linux"):
        hint = f"Omit --platform, or give {here}, android or emulated."
        raise UsageError(f"This machine is {here}, not {platform}.", hint=hint)
    raise UsageError(f"There is no platform {platform!r}.", hint="Platforms: mac, linux, android, emulated.")


def open_device(request: DeviceRequest) -> AbstractContextManager[OpenDevice]:
    refuse_other_options(request)
    refuse_other_runtimes(request)
    return load_kind(request.kind).open(request, _PARTS)


def refuse_other_options(request: DeviceRequest) -> None:
    """Refuses what this kind of device has no use for."""
    for option in _list_options(request):
        if option not in load_kind(request.kind).options:
            able = [name for name in DEVICES if option in load_kind(name).options]
            raise UsageError(f"{option} is for {_join(able)} devices.", hint=f"Omit {option}, or change --device.")


def refuse_other_runtimes(request: DeviceRequest) -> None:
    """Refuses experiments with a runtime that this kind of device does not run models with."""
    for experiment in request.experiments:
        if experiment.runtime and experiment.runtime not in load_kind(request.kind).runtimes:
            able = [name for name in DEVICES if experiment.runtime in load_kind(name).runtimes]
            raise UsageError(
                f"{experiment.name}: {RUNTIMES[experiment.runtime].title} runs models on {_join(able)} devices only.",
                hint="Omit --device, or give this experiment no `runtime`.",
            )


def reach_device(request: DeviceRequest) -> DeviceInfo:
    """Describes a device, or raises why it cannot be reached; nothing is built for it or sent to it."""
    return load_kind(request.kind).describe(request, _PARTS)


def find_attached() -> list[DeviceRequest]:
    """This machine and what is plugged into it; not what is emulated, nor what has to be named to be reached."""
    places = {kind: load_kind(kind).find() for kind in ("local", "android")}
    return [DeviceRequest(kind, place) for kind in places for place in places[kind] if place or kind == "local"]


def list_devices(names: tuple[str, ...] = ()) -> list[Reachable]:
    """The devices named, or all that can be found, with a line on each kind that has to be named to be reached."""
    if names:
        return [_look_at(name) for name in names]
    return [device for kind in DEVICES for device in _find(kind)]


def clean_device(request: DeviceRequest) -> str:
    """Removes what `--keep-on-device` left on a device that no run is using; says which folder."""
    clean = load_kind(request.kind).clean
    if clean is None:
        able = [name for name in DEVICES if load_kind(name).clean]
        raise UsageError(f"Only {_join(able)} devices can be cleaned.", hint="Nothing stays on other devices.")
    return clean(request)


def _list_options(request: DeviceRequest) -> list[str]:
    """The options of the command line that this request makes use of."""
    given = {
        "--runner": request.runner != "auto",
        "--device-folder": request.folder,
        "--prepare": request.prepare,
        "--keep-on-device": request.keep,
        "--emulator": request.emulator,
        "--runner-bundle": request.bundle,
    }
    return [option for option, value in given.items() if value]


def _join(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _find(kind: str) -> list[Reachable]:
    places, usage = load_kind(kind).find(), DEVICES[kind]
    if not places:
        return [Reachable(usage, (load_kind(kind).summary, f"`etprof devices show {usage}` describes it"))]
    return [_look_at(f"{kind}:{place}" if place else kind) for place in places]


def _look_at(name: str) -> Reachable:
    request = parse_device(name)
    try:
        return Reachable(name, _facts(load_kind(request.kind).describe(request, _PARTS)))
    except UsageError:
        raise
    except EtprofError as error:
        return Reachable(name, trouble=f"{error.message} {error.hint}".rstrip())


def _facts(info: DeviceInfo) -> tuple[str, ...]:
    facts = [
        ", ".join(part for part in (info.model, info.soc, info.system) if part),
        f"{info.cpu_model} ({info.cpu_count} cores, {info.architecture})",
        f"features: {', '.join(info.features) or 'not reported by this system'}",
    ]
    facts += [f"SME vector length: {info.sme_vector_bits} bits"] if info.sme_vector_bits else []
    facts += [f"SME units: {describe_units(info.sme_units)}"] if info.sme_units else []
    facts += [f"{c.name} cores: {', '.join(map(str, c.cores))}" for c in info.clusters if c.name]
    return (*facts, f"governor: {info.governor}") if info.governor else tuple(facts)
