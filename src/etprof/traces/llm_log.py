"""Reads what ExecuTorch's own runners of language models print at their end: lines of `PyTorchObserver {…}`."""

import re
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from etprof.core.errors import TraceError
from etprof.core.llm import LlmLogRecord
from etprof.core.regular_files import read_regular

_LINE = re.compile(r"PyTorchObserver\s+(\{[^\n]*\})")
_MOST_BYTES = 1 << 26
_MOST = 1 << 53
_HINT = "Give the output of a runner of ExecuTorch, such as llama_main, with its line PyTorchObserver {…}."


class _Observed(BaseModel):
    prompt_tokens: int = Field(ge=0, le=_MOST)
    generated_tokens: int = Field(ge=0, le=_MOST)
    model_load_start_ms: int = Field(0, ge=0, le=_MOST)
    model_load_end_ms: int = Field(0, ge=0, le=_MOST)
    inference_start_ms: int = Field(0, ge=0, le=_MOST)
    inference_end_ms: int = Field(0, ge=0, le=_MOST)
    prompt_eval_end_ms: int = Field(0, ge=0, le=_MOST)
    first_token_ms: int = Field(0, ge=0, le=_MOST)
    aggregate_sampling_time_ms: int | None = Field(None, ge=0, le=_MOST)
    units_per_second: int = Field(1000, ge=1, le=_MOST, alias="SCALING_FACTOR_UNITS_PER_SECOND")

    def between(self, start: int, end: int) -> float | None:
        """Milliseconds; a stage that a runner did not time has the same start and end, or none."""
        return (end - start) * 1000 / self.units_per_second if start and end > start else None

    def describe(self) -> LlmLogRecord:
        prompt = self.between(self.inference_start_ms, self.prompt_eval_end_ms)
        generated = self.between(self.prompt_eval_end_ms, self.inference_end_ms)
        sampling = self.aggregate_sampling_time_ms
        return LlmLogRecord(
            prompt_tokens=self.prompt_tokens,
            generated_tokens=self.generated_tokens,
            load_ms=self.between(self.model_load_start_ms, self.model_load_end_ms),
            first_token_ms=self.between(self.inference_start_ms, self.first_token_ms),
            prefill_tokens_per_s=self.prompt_tokens * 1000 / prompt if prompt else None,
            decode_tokens_per_s=self.generated_tokens * 1000 / generated if generated else None,
            sampling_ms=sampling * 1000 / self.units_per_second if sampling is not None else None,
        )


def read_llm_log(path: Path) -> tuple[LlmLogRecord, ...]:
    """Every generation that the log tells of, in its order."""
    try:
        text = read_regular(path, _MOST_BYTES).decode("utf-8", errors="replace")
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}.", hint=_HINT) from error
    lines = _LINE.findall(text)
    if not lines:
        raise TraceError(f"{path} has no line PyTorchObserver {{…}}.", hint=_HINT)
    return tuple(_parse(path, number, line) for number, line in enumerate(lines, 1))


def _parse(path: Path, number: int, line: str) -> LlmLogRecord:
    try:
        return _Observed.model_validate_json(line).describe()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        raise TraceError(f"{path}, PyTorchObserver {number}: {where}: {first['msg']}.", hint=_HINT) from error
