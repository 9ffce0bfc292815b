"""What a CPU can do at most: multiply-adds by kind of instruction, and bytes by level of its memory, as measured."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from etprof.core.estimates import Interval
from etprof.core.extensions import ARM64, X86_64

FP32, FP16, BF16, INT8 = "fp32", "fp16", "bf16", "int8"
CLOCK = "clock"
# From the smallest to the largest; the last level is missing where no cache behind the second is known.
L1, L2, LAST_LEVEL, MEMORY = LEVELS = ("L1", "L2", "last level", "memory")
READ, WRITE, COPY = ACCESSES = ("read", "write", "copy")


@dataclass(frozen=True)
class PeakLoop:
    """A loop of the runner.

    `instruction_class` is what its instructions are sampled as, `features` are what a CPU needs for it. Only products
    of matrices can use a loop that `multiplies_matrices`.
    """

    name: str
    label: str
    instruction_class: str
    data_type: str
    features: tuple[str, ...] = ()
    multiplies_matrices: bool = False


# One row for each loop of native/peak_loops_*.cpp. What has no row, such as AMX, has no peak.
PEAK_LOOPS: dict[str, tuple[PeakLoop, ...]] = {
    X86_64: (
        PeakLoop("sse_fp32", "SSE, fp32", "SSE", FP32),
        PeakLoop("avx2_fp32", "AVX2 with FMA, fp32", "AVX2", FP32, ("avx2", "fma3")),
        PeakLoop("avx512_fp32", "AVX-512, fp32", "AVX-512", FP32, ("avx512f",)),
        PeakLoop("sse_int8", "SSE, int8", "SSE", INT8, ("ssse3",)),
        PeakLoop("avx2_int8", "AVX2, int8", "AVX2", INT8, ("avx2",)),
        PeakLoop("avx512_int8", "AVX-512, int8", "AVX-512", INT8, ("avx512bw",)),
        PeakLoop("avx_vnni_int8", "AVX-VNNI, int8", "AVX2", INT8, ("avxvnni",)),
        PeakLoop("avx512_vnni_int8", "AVX-512 VNNI, int8", "AVX-512", INT8, ("avx512vnni",)),
    ),
    ARM64: (
        PeakLoop("neon_fp32", "NEON, fp32", "NEON", FP32),
        PeakLoop("neon_fp16", "NEON, fp16", "FP16", FP16, ("fp16arith",)),
        PeakLoop("neon_bf16", "NEON BFMMLA, bf16", "BF16", BF16, ("bf16",), multiplies_matrices=True),
        PeakLoop("neon_int8", "NEON, int8", "NEON", INT8),
        PeakLoop("sdot_int8", "SDOT, int8", "DotProd", INT8, ("dot",)),
        PeakLoop("smmla_int8", "SMMLA, int8", "I8MM", INT8, ("i8mm",), multiplies_matrices=True),
        PeakLoop("sve_fp32", "SVE, fp32", "SVE", FP32, ("sve",)),
        PeakLoop("sme_fp32", "SME FMOPA, fp32", "SME", FP32, ("sme",), multiplies_matrices=True),
        PeakLoop("sme_fp16", "SME FMOPA, fp16 to fp32", "SME", FP16, ("sme",), multiplies_matrices=True),
        PeakLoop("sme_bf16", "SME BFMOPA, bf16 to fp32", "SME", BF16, ("sme",), multiplies_matrices=True),
        PeakLoop("sme_int8", "SME SMOPA, int8", "SME", INT8, ("sme",), multiplies_matrices=True),
    ),
}


@dataclass(frozen=True)
class CheckedLoop:
    """What a loop was seen to do before it was timed: each multiply-add of one and one adds one to the sum."""

    name: str
    instructions: int
    macs: int
    sum: int


@dataclass(frozen=True)
class PassRates:
    """The passes of one loop at one thread count, in billions a second; `access` is for a level of the memory only."""

    name: str
    threads: int
    rates: tuple[float, ...]
    access: str = ""


@dataclass(frozen=True)
class PeakPasses:
    """What a runner says of its CPU, pass by pass; without passes it only checked its loops."""

    cache_bytes: Mapping[str, int]
    checked: tuple[CheckedLoop, ...]
    passes: tuple[PassRates, ...]


@dataclass(frozen=True)
class Throughput:
    loop: str
    threads: int
    gmac_per_s: Interval


@dataclass(frozen=True)
class Bandwidth:
    level: str
    access: str
    threads: int
    gb_per_s: Interval


@dataclass(frozen=True)
class Peaks:
    """`cache_bytes` are those of one core, and of the whole last level. A copy counts bytes read and bytes written."""

    architecture: str
    measured_at: str
    clock_ghz: Interval | None
    cache_bytes: Mapping[str, int]
    throughputs: tuple[Throughput, ...]
    bandwidths: tuple[Bandwidth, ...]

    @property
    def thread_counts(self) -> tuple[int, ...]:
        return tuple(sorted({each.threads for each in self.throughputs}))

    def choose_count(self, threads: int) -> int:
        """The count that was measured and bounds this one: the next above it, or the largest."""
        return next((count for count in self.thread_counts if count >= threads), max(self.thread_counts, default=0))

    def find_throughput(self, loop: str, threads: int) -> Interval | None:
        count = self.choose_count(threads)
        return next((t.gmac_per_s for t in self.throughputs if (t.loop, t.threads) == (loop, count)), None)

    def find_bandwidth(self, level: str, threads: int) -> Interval | None:
        """The largest of reading, writing and copying: no operator has a better mixture of them."""
        count = self.choose_count(threads)
        found = [b.gb_per_s for b in self.bandwidths if (b.level, b.threads) == (level, count)]
        return max(found, key=lambda interval: interval.value, default=None)

    @property
    def levels(self) -> tuple[str, ...]:
        known = {bandwidth.level for bandwidth in self.bandwidths}
        return tuple(level for level in LEVELS if level in known)


def list_loops(architecture: str, features: Collection[str]) -> tuple[PeakLoop, ...]:
    """Those that a CPU with these features can execute."""
    return tuple(loop for loop in PEAK_LOOPS.get(architecture, ()) if set(loop.features) <= set(features))


def find_loop(architecture: str, name: str) -> PeakLoop | None:
    return next((loop for loop in PEAK_LOOPS.get(architecture, ()) if loop.name == name), None)


def best_of(peaks: Peaks, loops: Iterable[PeakLoop], threads: int) -> tuple[PeakLoop, Interval] | None:
    """The loop with the highest throughput; None where none of them was measured."""
    found = [(loop, rate) for loop in loops if (rate := peaks.find_throughput(loop.name, threads))]
    return max(found, key=lambda each: each[1].value, default=None)
