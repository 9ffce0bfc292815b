"""A device's description of itself: one script that asks, and the parser of its answers."""

import re
from collections.abc import Callable, Mapping

from etprof.core.errors import DeviceError
from etprof.core.run import DeviceInfo
from etprof.devices import sme_units, usable_cores
from etprof.devices.core_types import Core, build_clusters, count_performance_cores, read_core_types
from etprof.devices.shell import RemoteShell, run_script

# cpuinfo's text and the auxiliary vector to the names of the features that are there.
ReadFeatures = Callable[[str, str, Mapping[int, int]], tuple[str, ...]]

# Every answer is below a line with its name; what a device does not have stays empty.
_SCRIPT = r"""
ask() { echo "@$1"; shift; "$@" 2>/dev/null; echo; }
ask machine uname -m
ask kernel uname -sr
ask host uname -n
ask properties getprop
ask release cat /etc/os-release
ask board cat /sys/firmware/devicetree/base/model
ask product cat /sys/devices/virtual/dmi/id/product_name
ask auxv od -A n -v -t x8 /proc/self/auxv
ask sme_length cat /proc/sys/abi/sme_default_vector_length
ask cpuinfo cat /proc/cpuinfo
echo @usable
@USABLE@
echo @sme_units
@SME_UNITS@
echo @cores
for core in /sys/devices/system/cpu/cpu[0-9]*; do
  # What an offline core cannot do is unknown, so it must not pass for one of another kind.
  { read online < $core/online && [ $online = 0 ] && continue; } 2>/dev/null
  capacity= highest= governor=
  { read capacity < $core/cpu_capacity; } 2>/dev/null
  { read highest < $core/cpufreq/cpuinfo_max_freq; } 2>/dev/null
  { read governor < $core/cpufreq/scaling_governor; } 2>/dev/null
  echo "${core##*/cpu} ${capacity:--} ${highest:--} ${governor:--}"
done
echo @end
""".replace("@USABLE@", f"{{ {usable_cores.SCRIPT} }} 2>/dev/null").replace("@SME_UNITS@", sme_units.SCRIPT)
_PROPERTY = re.compile(r"^\[(.+?)\]: \[(.*)\]$", re.M)
_ARCHITECTURES = {"aarch64": "arm64", "armv8l": "arm64", "amd64": "x86_64"}


def describe(shell: RemoteShell, read_features: ReadFeatures) -> DeviceInfo:
    return parse_description(run_script(shell, _SCRIPT).text, shell.name, read_features)


def parse_description(said: str, name: str, read_features: ReadFeatures) -> DeviceInfo:
    answers = _split(said)
    if "end" not in answers or not answers["machine"]:
        raise DeviceError(f"{name} could not be identified.", hint="It needs a POSIX shell with `uname` and `cat`.")
    machine = answers["machine"]
    architecture = _ARCHITECTURES.get(machine, machine)
    properties = dict(_PROPERTY.findall(answers["properties"]))
    types = read_core_types(answers["cpuinfo"])
    cores = _read_cores(answers["cores"], types) or [Core(number, kind) for number, kind in types.items()]
    clusters = build_clusters(cores)
    features = read_features(architecture, answers["cpuinfo"], _read_auxiliary_vector(answers["auxv"]))
    return DeviceInfo(
        name=name,
        system=_system(answers, properties),
        architecture=architecture,
        cpu_model=" + ".join(f"{len(c.cores)}x {c.core_type or 'unknown core'}" for c in reversed(clusters)),
        cpu_count=usable_cores.parse_usable_cores(answers.get("usable", "")) or len(cores) or 1,
        features=features,
        sme_vector_bits=int(answers["sme_length"]) * 8 if answers["sme_length"] and "sme" in features else None,
        governor=", ".join(sorted({line.split()[3] for line in answers["cores"].splitlines()} - {"-"})),
        model=_model(answers, properties),
        soc=" ".join(properties.get(f"ro.soc.{key}", "") for key in ("manufacturer", "model")).strip(),
        build=properties.get("ro.build.fingerprint", ""),
        clusters=clusters,
        sme_units=sme_units.parse_sme_units(answers.get("sme_units", "")),
        performance_cores=count_performance_cores(clusters),
    )


def _split(said: str) -> dict[str, str]:
    answers: dict[str, str] = {}
    name = ""
    for line in said.splitlines():
        if line.startswith("@"):
            name = line[1:].strip()
            answers[name] = ""
        elif name:
            answers[name] += line.rstrip("\r") + "\n"
    return {key: value.strip("\n\0 ") for key, value in answers.items()}


def _system(answers: Mapping[str, str], properties: Mapping[str, str]) -> str:
    kernel = answers["kernel"]
    if "ro.build.version.release" in properties:
        return f"Android {properties['ro.build.version.release']}, {kernel}"
    named = re.search(r'^PRETTY_NAME="?([^"\n]+)', answers["release"], re.M)
    return f"{named[1]}, {kernel}" if named else kernel


def _model(answers: Mapping[str, str], properties: Mapping[str, str]) -> str:
    if "ro.product.model" in properties:
        return f"{properties.get('ro.product.manufacturer', '')} {properties['ro.product.model']}".strip()
    return answers["board"] or answers["product"] or answers["host"]


def _read_auxiliary_vector(dump: str) -> dict[int, int]:
    words = [int(word, 16) for word in dump.split()]
    return dict(zip(words[::2], words[1::2], strict=False))


def _read_cores(lines: str, types: Mapping[int, str]) -> list[Core]:
    cores = []
    for line in lines.splitlines():
        number, capacity, highest, _ = line.split()
        cores.append(Core(int(number), types.get(int(number), ""), _number(capacity), _number(highest)))
    return cores


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
