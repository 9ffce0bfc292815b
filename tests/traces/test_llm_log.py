"""What ExecuTorch's own runners of language models print is read, whatever stands around it."""

from pathlib import Path

import pytest

from etprof.core.errors import TraceError
from etprof.core.llm import LlmLogRecord
from etprof.traces.llm_log import read_llm_log

# As llama_main printed it on a phone.
LINE = (
    'PyTorchObserver {"prompt_tokens":14,"generated_tokens":54,"model_load_start_ms":1760077800721,'
    '"model_load_end_ms":1760077802998,"inference_start_ms":1760077802998,"inference_end_ms":1760077804187,'
    '"prompt_eval_end_ms":1760077803162,"first_token_ms":1760077803162,"aggregate_sampling_time_ms":19,'
    '"SCALING_FACTOR_UNITS_PER_SECOND":1000}'
)
# A newer runner says rates, too, and one that was loaded before says nothing of that.
NEWER = (
    'PyTorchObserver {"prefill_token_per_sec":131.429,"decode_token_per_sec":13.8188,"prompt_tokens":23,'
    '"generated_tokens":1000,"model_load_start_ms":0,"model_load_end_ms":0,"inference_start_ms":1778256719007,'
    '"inference_end_ms":1778256791547,"prompt_eval_end_ms":1778256719182,"first_token_ms":1778256719182,'
    '"aggregate_sampling_time_ms":1580,"SCALING_FACTOR_UNITS_PER_SECOND":1000}'
)


def read(tmp_path: Path, text: str) -> tuple[LlmLogRecord, ...]:
    path = tmp_path / "llama.log"
    path.write_text(text, encoding="utf-8")
    return read_llm_log(path)


def test_times_and_rates_are_those_that_the_runner_prints_itself(tmp_path: Path) -> None:
    (found,) = read(tmp_path, f"Here is a poem\n\n{LINE}\n        Prompt Tokens: 14\n")
    # Its next lines: 2.277 s to load, 85.36 tokens a second for the prompt, 52.68 generated.
    assert found[:4] == (14, 54, 2277.0, 164.0)
    assert found[4:] == pytest.approx((85.366, 52.683, 19), abs=1e-3)


def test_every_line_is_a_record_and_what_was_not_timed_is_not_known(tmp_path: Path) -> None:
    first, second = read(tmp_path, f"{LINE}\nnoise\nI 00:00 {NEWER}\n")
    assert first.prompt_tokens == 14
    assert second.load_ms is None
    assert second.prefill_tokens_per_s == pytest.approx(131.429, abs=1e-3)
    assert second.decode_tokens_per_s == pytest.approx(13.8188, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Model executed successfully", "has no line PyTorchObserver"),
        ('PyTorchObserver {"prompt_tokens":-1,"generated_tokens":2}', "prompt_tokens"),
        ('PyTorchObserver {"prompt_tokens":1}', "generated_tokens"),
        ('PyTorchObserver {"prompt_tokens":1,"generated_tokens":2,"SCALING_FACTOR_UNITS_PER_SECOND":0}', "SCALING"),
        ("PyTorchObserver {]}", "the line"),
    ],
)
def test_what_is_no_such_log_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        read(tmp_path, text)


def test_a_log_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        read_llm_log(tmp_path / "none.log")
