"""What an ExecuTorch program (.pte) says of itself: its methods, what they take and give, and what they remember."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

# By ExecuTorch's numbers of scalar types: PyTorch's name, and bytes an element takes.
SCALAR_TYPES = {
    0: ("uint8", 1), 1: ("int8", 1), 2: ("int16", 2), 3: ("int32", 4), 4: ("int64", 8), 5: ("float16", 2),
    6: ("float32", 4), 7: ("float64", 8), 11: ("bool", 1), 15: ("bfloat16", 2), 23: ("float8_e5m2", 1),
    24: ("float8_e4m3fn", 1), 25: ("float8_e5m2fnuz", 1), 26: ("float8_e4m3fnuz", 1), 27: ("uint16", 2),
    28: ("uint32", 4), 29: ("uint64", 8),
}  # fmt: skip
DEFAULT_METHOD = "forward"


@dataclass(frozen=True)
class ProgramTensor:
    """A tensor of a method; where its shape is dynamic, `shape` is the largest it may have."""

    dtype: str
    item_bytes: int
    shape: tuple[int, ...]
    is_dynamic: bool = False
    name: str = ""

    @property
    def label(self) -> str:
        """For readers: float32 [1, 3], or float32 [at most 1, 224]; with its name where it has one."""
        sizes = ", ".join(str(size) for size in self.shape)
        name = f"{self.name}, " if self.name else ""
        return f"{name}{self.dtype} [{'at most ' if self.is_dynamic else ''}{sizes}]"

    def bytes_of(self, shape: tuple[int, ...]) -> int:
        return prod(shape) * self.item_bytes


def fits(shape: tuple[int, ...], tensor: ProgramTensor) -> bool:
    """Whether an input may have this shape."""
    if not tensor.is_dynamic:
        return shape == tensor.shape
    return len(shape) == len(tensor.shape) and all(s <= most for s, most in zip(shape, tensor.shape, strict=True))


@dataclass(frozen=True)
class ProgramMethod:
    """One entry point. An input or output that is not a tensor is given by the name of its type.

    `state` are tensors that are neither inputs nor computed anew: they keep their values between inferences. `value` is
    what a method returns that computes nothing, such as get_max_seq_len. `operators` are those outside of delegates.
    `state_arenas` are the planned buffers, by index, that hold state and nothing else.
    """

    name: str
    inputs: tuple[ProgramTensor | str, ...]
    outputs: tuple[ProgramTensor | str, ...]
    state: tuple[ProgramTensor, ...]
    value: int | float | None = None
    operators: tuple[str, ...] = ()
    state_arenas: tuple[int, ...] = ()

    @property
    def state_bytes(self) -> int:
        return sum(tensor.bytes_of(tensor.shape) for tensor in self.state)


@dataclass(frozen=True)
class ProgramFile:
    """`sha256` is the digest of its file; `data_bytes` is what it holds beside the program itself: its weights."""

    methods: tuple[ProgramMethod, ...]
    sha256: str
    data_bytes: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(method.name for method in self.methods)

    @property
    def facts(self) -> dict[str, int | float]:
        """What the program says of itself by methods that compute nothing."""
        return {method.name: method.value for method in self.methods if method.value is not None}

    @property
    def computing(self) -> tuple[ProgramMethod, ...]:
        """The methods that do something: all but facts."""
        return tuple(method for method in self.methods if method.value is None)

    @property
    def shared_arenas(self) -> tuple[int, ...]:
        """The planned buffers, by index, that several methods have for their state: it is the same state."""
        found = [arena for method in self.methods for arena in method.state_arenas]
        return tuple(sorted({arena for arena in found if found.count(arena) > 1}))

    def list_state(self, methods: Sequence[ProgramMethod]) -> tuple[ProgramTensor, ...]:
        """What these methods remember, each tensor once where they have it in common."""
        own = [method.state for method in methods]
        return max(own, key=len, default=()) if self.shared_arenas else tuple(each for state in own for each in state)

    @property
    def state_bytes(self) -> int:
        return sum(tensor.bytes_of(tensor.shape) for tensor in self.list_state(self.computing))

    def find(self, wanted: str) -> ProgramMethod | None:
        """The method of this name; with none wanted `forward`, or the only one; None where that does not decide it."""
        by_name = {method.name: method for method in self.methods}
        if wanted or DEFAULT_METHOD in by_name:
            return by_name.get(wanted or DEFAULT_METHOD)
        return self.computing[0] if len(self.computing) == 1 else None
