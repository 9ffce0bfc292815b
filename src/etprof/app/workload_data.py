"""The bytes of every input of a workload: files, constants, seeded random numbers, and positions."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from etprof.core.errors import UsageError
from etprof.core.program import SCALAR_TYPES
from etprof.core.regular_files import read_regular
from etprof.core.workload import ARANGE, FILE, RANDOM, Phase, PhaseInput, Workload
from etprof.runner.planned_workload import ALIGNMENT, PlannedInput

# Random inputs of a phase: where its steps need more, they take so much in turn.
_MOST_DRAWN = 16 << 20
_MOST_DATA = 256 << 20
_WIDTHS = dict(SCALAR_TYPES.values())
_BFLOAT16 = "bfloat16"

Placed = tuple[tuple[PlannedInput, ...], ...]


def build_data(workload: Workload) -> tuple[Placed, bytes]:
    """Where the inputs of each phase lie, and the bytes they lie in."""
    data = bytearray()
    placed = []
    for number, phase in enumerate(workload.phases):
        inputs = []
        for index, given in enumerate(phase.inputs):
            if len(data) + _count_slices(given, phase) * _bytes_of(given) > _MOST_DATA:
                raise UsageError(
                    f"The inputs of the workload have more than {_MOST_DATA >> 20} MiB, from phase {phase.name} on.",
                    hint="Give shorter files, or fewer steps with inputs of their own.",
                )
            content = _fill(given, phase, workload.starts[number], (number, index))
            slices = len(content) // _bytes_of(given) if _bytes_of(given) else 1
            inputs.append(PlannedInput(given.shape or (), len(data), slices))
            data += content + bytes(-len(content) % ALIGNMENT)
        placed.append(tuple(inputs))
    return tuple(placed), bytes(data)


def find_unfit_value(given: PhaseInput) -> str:
    """What of an input its type cannot hold, as a phrase; empty where all is well."""
    wanted = {RANDOM: (given.low, given.high), ARANGE: ()}.get(given.fill, (given.value,))
    dtype = _numpy_type(given.dtype)
    if dtype is None:
        return f"a tensor of type {given.dtype} can be given as a file only"
    if dtype.kind in "iub":
        low, high = (0, 1) if dtype.kind == "b" else _integer_range(dtype)
        unfit = [number for number in wanted if number != int(number) or not low <= number <= high]
        return f"{unfit[0]} is not a number of type {given.dtype}" if unfit else ""
    with np.errstate(over="ignore"):
        unfit = [number for number in wanted if not np.isfinite(np.float64(number).astype(dtype))]
    return f"{unfit[0]} is beyond the range of {given.dtype}" if unfit else ""


def _fill(given: PhaseInput, phase: Phase, start: int, place: tuple[int, int]) -> bytes:
    shape = given.shape or ()
    if given.fill == FILE and given.file:
        return _read_file(given, phase)
    slices = _count_slices(given, phase)
    if given.fill == RANDOM:
        return _as_bytes(_draw(given, (slices, *shape), place), given.dtype)
    if given.fill == ARANGE:
        position = start + phase.stride * np.arange(slices, dtype=np.int64)
        return _as_bytes(position[:, None] + np.arange(prod(shape), dtype=np.int64), given.dtype)
    return _as_bytes(np.full(shape, given.value), given.dtype)


def _count_slices(given: PhaseInput, phase: Phase) -> int:
    """How many steps have an input of their own."""
    needed = _bytes_of(given)
    if given.fill == FILE and given.file:
        return min(phase.repeats, given.file.stat().st_size // needed) if needed else 1
    if given.fill == RANDOM:
        return max(1, min(phase.repeats, _MOST_DRAWN // max(needed, 1)))
    return phase.repeats if given.fill == ARANGE else 1


def _read_file(given: PhaseInput, phase: Phase) -> bytes:
    try:
        content = read_regular(given.file) if given.file else b""
    except OSError as error:
        raise UsageError(f"{given.file} cannot be read: {error.strerror}.", hint="Check the path.") from error
    return content[: phase.repeats * _bytes_of(given)]


def _draw(given: PhaseInput, shape: tuple[int, ...], place: tuple[int, int]) -> NDArray[np.generic]:
    """The same numbers for the same seed and place, whatever else the workload holds."""
    drawing = np.random.default_rng([given.seed, *place])
    dtype = _numpy_type(given.dtype)
    if dtype is not None and dtype.kind == "u" and dtype.itemsize == 8:
        return drawing.integers(int(given.low), int(given.high), shape, np.uint64, endpoint=True)
    if dtype is not None and dtype.kind in "iub":
        return drawing.integers(int(given.low), int(given.high), shape, np.int64, endpoint=True)
    return drawing.uniform(given.low, given.high, shape)


def _as_bytes(values: NDArray[np.generic], dtype: str) -> bytes:
    """Little-endian, in row-major order."""
    if dtype == _BFLOAT16:
        # Rounded to nearest; what is halfway goes to the even one.
        bits = values.astype("<f4").view("<u4").astype(np.uint64)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()
    return values.astype(np.dtype(dtype).newbyteorder("<")).tobytes()


def _numpy_type(dtype: str) -> np.dtype[np.generic] | None:
    """None where numpy has none of that name; the range of bfloat16 is that of float32."""
    if dtype == _BFLOAT16:
        return np.dtype("float32")
    return np.dtype(dtype) if dtype in _WIDTHS and not dtype.startswith("float8") else None


def _integer_range(dtype: np.dtype[Any]) -> tuple[int, int]:
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def _bytes_of(given: PhaseInput) -> int:
    return prod(given.shape or ()) * _WIDTHS.get(given.dtype, 0)
