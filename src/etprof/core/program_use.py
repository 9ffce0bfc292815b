"""What a variant ran, as a report tells it: the program, and how close it comes to the eager model."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ProgramUse:
    """What a variant ran, and how close its outputs are to those of the eager fp32 model, the worst of them.

    `snr_db` is None where they are not known, or are `exact`ly the same. `file_bytes` is the size of the model's file.
    """

    model: str
    model_sha256: str
    method: str
    precision: str
    runtime: str
    snr_db: float | None = None
    exact: bool = False
    file_bytes: int | None = None

    @property
    def identity(self) -> tuple[str, ...]:
        return self.model_sha256, self.model, self.method, self.runtime
