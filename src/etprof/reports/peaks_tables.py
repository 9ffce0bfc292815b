"""The peaks of a CPU as tables of text: operations by kind of instruction, and bytes by level of the memory."""

from etprof.core.estimates import Interval
from etprof.core.peaks import INT8, LEVELS, MEMORY, CheckedLoop, Peaks, find_loop
from etprof.core.units import format_bytes, format_count, format_percent, format_rate
from etprof.reports.text_table import Column, TextTable


def build_throughput_table(peaks: Peaks) -> TextTable:
    names = list(dict.fromkeys(each.loop for each in peaks.throughputs))
    loops = [find_loop(peaks.architecture, name) for name in names]
    columns = [
        Column("instructions", [loop.label if loop else name for loop, name in zip(loops, names, strict=True)]),
        Column("unit", ["Gop/s" if loop and loop.data_type == INT8 else "GFLOP/s" for loop in loops]),
    ]
    for threads in peaks.thread_counts:
        rates = [peaks.find_throughput(name, threads) for name in names]
        columns.append(Column(format_count(threads, "thread"), [_text(rate, 2) for rate in rates], threads, right=True))
    clock = f"; clock: {peaks.clock_ghz.value:.2f} GHz" if peaks.clock_ghz else ""
    return TextTable(f"Multiply-adds, two operations each (95 % interval){clock}", columns)


def build_bandwidth_table(peaks: Peaks) -> TextTable:
    rows = list(dict.fromkeys((each.level, each.access) for each in peaks.bandwidths))
    found = {(each.level, each.access, each.threads): each.gb_per_s for each in peaks.bandwidths}
    columns = [
        Column("level", [level for level, _ in rows]),
        Column("size", [_size(peaks, level) for level, _ in rows], 1, right=True),
        Column("access", [access for _, access in rows]),
    ]
    for threads in peaks.thread_counts:
        cells = [_text(found.get((level, access, threads)), 1) for level, access in rows]
        columns.append(Column(format_count(threads, "thread"), cells, threads, right=True))
    return TextTable("Bandwidth in GB/s (95 % interval)", columns)


def build_check_table(checked: tuple[CheckedLoop, ...], architecture: str) -> TextTable:
    loops = [find_loop(architecture, each.name) for each in checked]
    columns = [
        Column("instructions", [loop.label if loop else c.name for loop, c in zip(loops, checked, strict=True)]),
        Column("executed", [f"{each.instructions:,}" for each in checked], right=True),
        Column("multiply-adds", [f"{each.macs:,}" for each in checked], right=True),
        Column("sum", ["right" if each.sum == each.macs else "wrong" for each in checked]),
    ]
    return TextTable("Loops that were checked; an emulated device gives no times", columns)


def summarize_peaks(peaks: Peaks) -> str:
    """The best instructions for each type, and the memory, on one thread; for a list of checks."""
    best: dict[str, tuple[str, float]] = {}
    for each in peaks.throughputs:
        loop = find_loop(peaks.architecture, each.loop)
        if loop and each.threads == 1 and each.gmac_per_s.value > best.get(loop.data_type, ("", 0.0))[1]:
            best[loop.data_type] = (loop.label, each.gmac_per_s.value)
    parts = [
        f"{format_rate(2 * rate)} {'Gop/s' if data_type == INT8 else 'GFLOP/s'} ({label})"
        for data_type, (label, rate) in best.items()
    ]
    memory = peaks.find_bandwidth(MEMORY, 1)
    return ", ".join([*parts, *([f"memory {format_rate(memory.value)} GB/s"] if memory else [])]) + "; one thread"


def _size(peaks: Peaks, level: str) -> str:
    size = peaks.cache_bytes.get(level) if level in LEVELS else None
    return format_bytes(size) if size else ""


def _text(rate: Interval | None, factor: int) -> str:
    if rate is None:
        return ""
    farther = max(rate.value - rate.low, rate.high - rate.value)
    return f"{format_rate(factor * rate.value)} \u00b1{format_percent(farther / rate.value)}"
