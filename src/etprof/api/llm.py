"""Language models from Python: the command `etprof llm` as functions, with the same defaults."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from etprof.api import StrPath
from etprof.api.profiling import finish_run, require_positive, watch_run
from etprof.api.runs import Run
from etprof.api.tables import Table, build_table
from etprof.app.devices import parse_device
from etprof.app.llm import DEPTHS, GENERATED, LLM_BUDGET, LLM_RUNS, PROMPTS, build_llm_request, run_llm
from etprof.app.plans import PROFILE_SCHEDULE
from etprof.app.profiling import build_run_options
from etprof.app.progress import Progress
from etprof.core.llm import LlmLogRecord
from etprof.traces import llm_log


def llm(
    model: StrPath,
    *,
    prompt: int | str | Iterable[int] = PROMPTS,
    generate: int | str | Iterable[int] = GENERATED,
    depth: int | str | Iterable[int] = DEPTHS,
    seed: int = 0,
    threads: int | str | Iterable[int] = 1,
    device: str = "local",
    device_folder: str = "",
    emulator: str = "",
    runner_bundle: StrPath | None = None,
    prepare: bool = False,
    keep_on_device: bool = False,
    runner: str = "auto",
    runs: int = LLM_RUNS,
    blocks: int = PROFILE_SCHEDULE.blocks,
    max_blocks: int = PROFILE_SCHEDULE.max_blocks,
    budget: str | float = LLM_BUDGET,
    kernels: bool = False,
    output_root: StrPath | None = None,
    force: bool = False,
    resume: bool = False,
    wait: bool = True,
    progress: Progress | bool | None = None,
) -> Run:
    """Measures prompts and generated tokens of a language model with the CPU's best extension hidden and shown.

    The options are those of `etprof llm`; numbers of tokens may be one, several, or a text with commas. The run's
    `llm_tests()` are a table. `wait` and `progress` are as for `profile`.
    """
    require_positive(runs=runs, blocks=blocks, max_blocks=max_blocks)
    asked = build_llm_request(
        Path(model), prompt=prompt, generate=generate, depth=depth, threads=threads, runs=runs, blocks=blocks,
        max_blocks=max_blocks, budget=str(budget), seed=seed, kernels=kernels,
        output_root=None if output_root is None else Path(output_root),
    )  # fmt: skip
    watched, say = watch_run(progress)
    request = replace(
        parse_device(device), runner=runner, folder=device_folder, emulator=emulator,
        bundle=None if runner_bundle is None else Path(runner_bundle), prepare=prepare, keep=keep_on_device,
        wait=wait, progress=say,
    )  # fmt: skip
    options = build_run_options(f"etprof.llm({Path(model).name!r})", force=force, resume=resume)
    with watched as observer:
        return finish_run(run_llm(asked, request, observer, options))


def read_llm_log(path: StrPath) -> Table:
    """A row for each generation that a runner of ExecuTorch told of in its output, by `PyTorchObserver {…}`."""
    return build_table(LlmLogRecord._fields, llm_log.read_llm_log(Path(path)))
