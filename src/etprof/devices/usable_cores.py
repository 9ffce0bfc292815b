"""How many cores a process started on a device may use: those online that it is allowed, within its cgroups' quota."""

import os
import subprocess
import sys
from collections.abc import Iterable

_TIMEOUT_S = 10.0

# $etprof_root is set by tests only, to a folder with a recorded /proc and /sys. A quota may be set for any cgroup above
# the shell's own: in cpu.max (version 2) or in cpu.cfs_quota_us (version 1).
SCRIPT = r"""
while read -r key value; do
  case $key in Cpus_allowed_list:) echo "allowed $value" ;; esac
done < $etprof_root/proc/self/status
{ read -r value < $etprof_root/sys/devices/system/cpu/online && echo "online $value"; } 2>/dev/null
while IFS=: read -r number kinds group; do
  case ,$kinds, in
    ,,) mounts="/sys/fs/cgroup /sys/fs/cgroup/unified" ;;
    *,cpu,*) mounts="/sys/fs/cgroup/cpu /sys/fs/cgroup/$kinds" ;;
    *) continue ;;
  esac
  while :; do
    for mount in $mounts; do
      folder=$etprof_root$mount${group%/}
      { read -r quota period < $folder/cpu.max && echo "quota $quota $period"; } 2>/dev/null
      { read -r quota < $folder/cpu.cfs_quota_us && read -r period < $folder/cpu.cfs_period_us &&
        echo "quota $quota $period"; } 2>/dev/null
    done
    case $group in ''|/) break ;; esac
    group=${group%/*}
  done
done < $etprof_root/proc/self/cgroup
"""


def parse_usable_cores(said: str) -> int | None:
    """None where the device does not tell. Half a core is not one that a further thread could have."""
    facts: dict[str, list[str]] = {}
    for line in said.splitlines():
        kind, _, rest = line.strip().partition(" ")
        facts.setdefault(kind, []).append(rest)
    # A process may be allowed cores that are offline, or that the system could have and does not.
    allowed, online = (_read_cores(facts.get(kind, [""])[0]) for kind in ("allowed", "online"))
    cores = len(allowed & online if allowed and online else allowed or online)
    if not cores:
        return None
    return max(1, min([cores, *(int(quota) for quota in _read_quotas(facts.get("quota", ())))]))


def count_usable_cores() -> int:
    """Of this machine."""
    if not sys.platform.startswith("linux"):
        return os.cpu_count() or 1
    done = subprocess.run(["/bin/sh", "-c", SCRIPT], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    return parse_usable_cores(done.stdout) or len(os.sched_getaffinity(0))


def _read_cores(ranges: str) -> set[int]:
    """0-3,6 is 0, 1, 2, 3 and 6."""
    ends = (part.partition("-") for part in ranges.split(",") if part.strip())
    return {core for first, _, last in ends for core in range(int(first), int(last or first) + 1)}


def _read_quotas(lines: Iterable[str]) -> list[float]:
    """In cores; no limit is `max`, or -1."""
    pairs = [line.split() for line in lines]
    return [int(quota) / int(period) for quota, period in pairs if quota.isdigit() and int(period)]
