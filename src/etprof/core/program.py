"""What an ExecuTorch program (.pte) says of itself: its methods, what they take and give, and what they remember."""

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


@dataclass(frozen=True)
class ProgramMethod:
    """One entry point. An input or output that is not a tensor is given by the name of its type.

    `state` are tensors that are neither inputs nor computed anew: they keep their values between inferences.
    """

    name: str
    inputs: tuple[ProgramTensor | str, ...]
    outputs: tuple[ProgramTensor | str, ...]
    state: tuple[ProgramTensor, ...]


@dataclass(frozen=True)
class ProgramFile:
    """`sha256` is the digest of its file."""

    methods: tuple[ProgramMethod, ...]
    sha256: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(method.name for method in self.methods)

    def find(self, wanted: str) -> ProgramMethod | None:
        """The method of this name; with none wanted `forward`, or the only one; None where that does not decide it."""
        by_name = {method.name: method for method in self.methods}
        if wanted or DEFAULT_METHOD in by_name:
            return by_name.get(wanted or DEFAULT_METHOD)
        return self.methods[0] if len(self.methods) == 1 else None
