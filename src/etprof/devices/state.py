"""What disturbs a measurement on a device, read by a few lines of shell right before and after a block."""

from collections.abc import Iterable

from etprof.core.run import CpuState
from etprof.core.thermal_zones import find_temperature

# One line for each fact. Android answers through dumpsys, other Linux through sysfs; a system without either is silent.
# Frequencies are not asked for: the cores are idle now, and the runner reads them while it measures. $etprof_root is
# set by tests only, to a folder with a recorded /sys.
SCRIPT = r"""
for core in $etprof_root/sys/devices/system/cpu/cpu[0-9]*; do
  { read value < $core/cpufreq/scaling_governor && echo "governor ${core##*/cpu} $value"; } 2>/dev/null
done
for zone in $etprof_root/sys/class/thermal/thermal_zone*; do
  { read value < $zone/temp && read kind < $zone/type && echo "temperature $value $kind"; } 2>/dev/null
done
for fan in $etprof_root/sys/class/thermal/cooling_device*; do
  { read kind < $fan/type && read value < $fan/cur_state; } 2>/dev/null || continue
  case $kind in *cpu*|Processor) echo "cooling $value" ;; esac
done
{ read value rest < /proc/loadavg && echo "load $value"; } 2>/dev/null
if command -v dumpsys >/dev/null 2>&1; then
  dumpsys battery 2>/dev/null | while read -r line; do echo "battery $line"; done
  dumpsys thermalservice 2>/dev/null | while read -r line; do
    case $line in "Thermal Status:"*) echo "thermal ${line##*: }"; break ;; esac
  done
  echo "saver $(settings get global low_power 2>/dev/null)"
else
  for supply in /sys/class/power_supply/*; do
    { read value < $supply/capacity && echo "battery level: $value"; } 2>/dev/null
    { read value < $supply/status && echo "supply $value"; } 2>/dev/null
    { read value < $supply/temp && echo "battery temperature: $value"; } 2>/dev/null
  done
  { read value < /sys/firmware/acpi/platform_profile && echo "profile $value"; } 2>/dev/null
fi
"""
_PLUGS = ("AC powered", "USB powered", "Wireless powered", "Dock powered")


def parse_state(said: str) -> CpuState:
    facts: dict[str, list[str]] = {}
    for line in said.splitlines():
        kind, _, rest = line.strip().partition(" ")
        facts.setdefault(kind, []).append(rest.strip())
    battery = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in facts.get("battery", ()))
    }
    tenths = _first_number([battery.get("temperature", "")])
    level = _first_number([battery.get("level", "")])
    return CpuState(
        load_average=_first_number(facts.get("load", ())),
        temperature_c=find_temperature(_zones(facts.get("temperature", ()))),
        governors=tuple(_by_core(facts.get("governor", ()))),
        throttling=_throttling(facts),
        battery_percent=int(level) if level is not None else None,
        battery_c=tenths / 10 if tenths is not None else None,
        on_battery=_on_battery(battery, facts.get("supply", [])),
        saves_power=_saves_power(facts),
    )


def _zones(lines: Iterable[str]) -> Iterable[tuple[str, float]]:
    for line in lines:
        value, _, zone_type = line.partition(" ")
        yield from ((zone_type, number) for number in _numbers([value]))


def _throttling(facts: dict[str, list[str]]) -> int | None:
    """Android's thermal status, or the highest active cooling state of the CPU."""
    said = _first_number(facts.get("thermal", ()))
    if said is not None:
        return int(said)
    cooling = _numbers(facts.get("cooling", ()))
    return int(max(cooling)) if cooling else None


def _on_battery(battery: dict[str, str], supplies: list[str]) -> bool | None:
    plugs = [battery[name] == "true" for name in _PLUGS if name in battery]
    if plugs:
        return not any(plugs)
    return "Discharging" in supplies if supplies else None


def _saves_power(facts: dict[str, list[str]]) -> bool | None:
    if "profile" in facts:
        return facts["profile"][0] in ("low-power", "quiet")
    return {"0": False, "1": True}.get(facts.get("saver", [""])[0])


def _by_core(lines: Iterable[str]) -> list[str]:
    pairs = [line.split(maxsplit=1) for line in lines]
    return [value for _, value in sorted((int(core), value) for core, value in pairs)]


def _first_number(texts: Iterable[str]) -> float | None:
    numbers = _numbers(texts)
    return numbers[0] if numbers else None


def _numbers(texts: Iterable[str]) -> list[float]:
    found = []
    for text in texts:
        try:
            found.append(float(text))
        except ValueError:
            continue
    return found
