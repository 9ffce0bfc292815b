"""Whether the peaks of this CPU can be believed: against clock, ports and width, and between processes.

Several processes measure one after the other; their peaks are printed side by side. Where the clock could be measured
and the CPU is one of those below, the fp32 peaks of one thread are compared with clock x multiply-adds per cycle.
Run it on a machine that does nothing else: `.venv/bin/python bench/peaks.py [--processes 3]`. It ends with exit code 1
when a peak of one thread is more than 5 % from that product, or differs by more than 3 % between processes, or when a
process takes more than 10 s.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from etprof.analysis.timing.peaks import build_peaks
from etprof.app.peaks import PASSES
from etprof.core.peaks import FP32, Peaks, find_loop
from etprof.devices.usable_cores import count_usable_cores
from etprof.runner.build import ensure_runner
from etprof.runner.cpu_features import host_architecture
from etprof.traces.peaks_result import read_peaks_result

ALLOWED_ERROR, ALLOWED_SPREAD, ALLOWED_S = 0.05, 0.03, 10.0
# fp32 multiply-adds in a cycle: pipelines x numbers in a vector. By vendor and family of the CPU, models where given.
# AMD: Software Optimization Guides for families 17h to 1Ah; Zen 4 executes 512 bits in two halves.
# Intel: servers from Skylake-SP on have two pipelines of 512 bits.
PER_CYCLE = {
    ("AuthenticAMD", 23): {"avx2_fp32": 2 * 8},
    ("AuthenticAMD", 25): {"avx2_fp32": 2 * 8, "avx512_fp32": 16},
    ("AuthenticAMD", 26): {"avx2_fp32": 2 * 8, "avx512_fp32": 2 * 16},
    ("GenuineIntel", 6): {"avx2_fp32": 2 * 8, "avx512_fp32": 2 * 16},
}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=3)
    command = ensure_runner().command
    measured = [measure(command) for _ in range(parser.parse_args().processes)]
    times = [taken for _, taken in measured]
    found = [peaks for peaks, _ in measured]
    say(f"seconds per process: {', '.join(f'{taken:.1f}' for taken in times)} (allowed: {ALLOWED_S:g})")
    problems = [f"a process took {max(times):.1f} s"] if max(times) > ALLOWED_S else []
    problems += compare_processes(found)
    problems += [problem for peaks in found for problem in compare_with_clock(peaks)]
    for problem in problems:
        say(f"NOT GOOD: {problem}")
    say("bad" if problems else "good")
    return 1 if problems else 0


def measure(command: tuple[str, ...]) -> tuple[Peaks, float]:
    with tempfile.TemporaryDirectory() as folder:
        result, start = Path(folder) / "peaks.json", time.monotonic()
        flags = ["--peaks", str(PASSES), "--cpu_threads", str(count_usable_cores()), "--result_path", str(result)]
        subprocess.run([*command, *flags], check=True, timeout=60)
        taken = time.monotonic() - start
        return build_peaks(read_peaks_result(result), host_architecture(), ""), taken


def compare_processes(found: list[Peaks]) -> list[str]:
    """Each peak of each process side by side; problems are those of multiply-adds on one thread."""
    problems = []
    sides = [{(t.loop, t.threads): t.gmac_per_s for t in peaks.throughputs} for peaks in found]
    memory = [{(b.level, b.access, b.threads): b.gb_per_s for b in peaks.bandwidths} for peaks in found]
    rows = [(f"{name}, {n} threads, GMAC/s", [side[name, n] for side in sides], n) for name, n in sides[0]]
    rows += [(f"{level} {access}, {n} threads, GB/s", [side[level, access, n] for side in memory], 0)
             for level, access, n in memory[0]]  # fmt: skip
    for name, rates, threads in rows:
        values = [rate.value for rate in rates]
        spread = max(values) / min(values) - 1
        say(f"{name:45} {'  '.join(f'{value:8.2f}' for value in values)}   {spread:6.1%}")
        if threads == 1 and spread > ALLOWED_SPREAD:
            problems.append(f"{name} differs by {spread:.1%} between processes (allowed: {ALLOWED_SPREAD:.0%})")
    return problems


def compare_with_clock(peaks: Peaks) -> list[str]:
    expected = PER_CYCLE.get(read_cpu(), {})
    if not expected or peaks.clock_ghz is None:
        say("clock x multiply-adds per cycle: this CPU is not in the table, or its clock was not measured")
        return []
    problems = []
    for loop, per_cycle in expected.items():
        rate = peaks.find_throughput(loop, 1)
        known = find_loop(peaks.architecture, loop)
        if rate is None or known is None or known.data_type != FP32:
            continue
        product = peaks.clock_ghz.value * per_cycle
        error = rate.value / product - 1
        say(f"{known.label}: {2 * rate.value:.1f} GFLOP/s; {peaks.clock_ghz.value:.3f} GHz x {per_cycle} x 2 = "
              f"{2 * product:.1f} ({error:+.1%})")  # fmt: skip
        if abs(error) > ALLOWED_ERROR:
            problems.append(f"{known.label} is {error:+.1%} from the clock's (allowed: {ALLOWED_ERROR:.0%})")
    return problems


def read_cpu() -> tuple[str, int]:
    facts: dict[str, str] = {}
    cpuinfo = Path("/proc/cpuinfo")
    for line in cpuinfo.read_text().splitlines() if cpuinfo.exists() else ():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    return facts.get("vendor_id", ""), int(facts.get("cpu family", "0"))


if __name__ == "__main__":
    sys.exit(main())
