"""Tests of a language model, under the names that users of llama-bench know, and what they gave."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from etprof.core.plan import Variant
from etprof.core.rows import CategoryRow

PREFILL, DECODE = "prefill", "decode"
_LETTERS = {PREFILL: "pp", DECODE: "tg"}
_PHASES = {letters: phase for phase, letters in _LETTERS.items()}
_NAME = re.compile(r"(pp|tg)([1-9]\d{0,8})(?:@d([1-9]\d{0,8}))?")


@dataclass(frozen=True)
class LlmTest:
    """Some tokens of a prompt at once (prefill), or one token after the other (decode), `depth` tokens in the cache."""

    phase: str
    tokens: int
    depth: int = 0

    @property
    def name(self) -> str:
        """pp128, or tg64@d512."""
        return f"{_LETTERS[self.phase]}{self.tokens}" + (f"@d{self.depth}" if self.depth else "")


def parse_test(name: str) -> LlmTest | None:
    """The test that a phase of this name is; None for any other phase."""
    found = _NAME.fullmatch(name)
    return LlmTest(_PHASES[found[1]], int(found[2]), int(found[3] or 0)) if found else None


class LlmRecord(NamedTuple):
    """One test of one variant. Of a prefill, `time_ms` is the time to the first token.

    The speed-up is that of the variant over the one it is compared with, `against`.
    """

    test: str
    phase: str
    tokens: int
    depth: int
    experiment: str
    threads: int
    tokens_per_s: float | None
    tokens_per_s_low: float | None
    tokens_per_s_high: float | None
    time_ms: float | None
    time_low_ms: float | None
    time_high_ms: float | None
    against: str
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    verdict: str
    blocks: int
    sequences: int
    kernels: str


@dataclass(frozen=True)
class LlmRow:
    """A record, and the traced categories of a step of it, the largest first."""

    record: LlmRecord
    categories: tuple[CategoryRow, ...]

    @property
    def variant(self) -> Variant:
        return Variant(self.record.experiment, self.record.threads)


@dataclass(frozen=True)
class LlmMemory:
    """Of one program: its file, the weights in it, and what it remembers between steps; None where not known."""

    model: str
    file_bytes: int | None
    weight_bytes: int | None
    cache_bytes: int | None


@dataclass(frozen=True)
class LlmResults:
    """The tests of a run in their order; where times are not real there is none in them."""

    rows: tuple[LlmRow, ...]
    memory: tuple[LlmMemory, ...]
    confidence: float
    times_are_real: bool


class LlmLogRecord(NamedTuple):
    """One generation that ExecuTorch's own runner told of; None is what it does not say.

    Times are those of its clock, which has whole milliseconds. The prompt's time includes the tokenizer; that of the
    generated tokens includes sampling.
    """

    prompt_tokens: int
    generated_tokens: int
    load_ms: float | None
    first_token_ms: float | None
    prefill_tokens_per_s: float | None
    decode_tokens_per_s: float | None
    sampling_ms: float | None
