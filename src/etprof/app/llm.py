"""A language model measured: prompts and generated tokens as phases of one workload, extension hidden and shown."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from etprof.app.devices import DeviceRequest, open_device
from etprof.app.llm_workload import build_llm_workload, find_language_model, list_tests
from etprof.app.measuring import Observer
from etprof.app.named_model import require_model
from etprof.app.plans import build_profile_plan, build_profile_schedule, profile_folder
from etprof.app.profiling import RunOptions, run_opened
from etprof.app.runs import MeasuredRun
from etprof.app.thread_counts import parse_threads
from etprof.core.errors import UsageError
from etprof.core.llm import LlmTest
from etprof.core.plan import MOST_SEED, Plan, Schedule, Warmup
from etprof.core.workload import MOST_STEPS, Workload
from etprof.devices.base import Device
from etprof.traces.program import read_program

PROMPTS, GENERATED, DEPTHS = "128", "64", "0"
LLM_BUDGET = "5m"
# Of whole sequences: a sequence has many steps, and the second one proves that the state was reset.
LLM_RUNS, _WARMUP = 3, Warmup(2, 2)
_FOLDER_SUFFIX = "_llm"
_HINT = "Write a number, or several such as 32,128."


@dataclass(frozen=True)
class LlmRequest:
    """Without thread counts there are those that fit the device."""

    model: Path
    tests: tuple[LlmTest, ...]
    schedule: Schedule
    threads: tuple[int, ...] = (1,)
    runs: int = LLM_RUNS
    seed: int = 0
    kernels: bool = False
    output_root: Path | None = None


def build_llm_request(
    model: Path, *, prompt: str | int | Iterable[int], generate: str | int | Iterable[int],
    depth: str | int | Iterable[int], threads: str | int | Iterable[int], runs: int, blocks: int, max_blocks: int,
    budget: str, seed: int, kernels: bool, output_root: Path | None,
) -> LlmRequest:  # fmt: skip
    """What users write: numbers of tokens separated by commas, or several of them; 0 is none."""
    if not 0 <= seed < MOST_SEED:
        raise UsageError(f"seed is {seed}.", hint=f"Give a whole number from 0 to {MOST_SEED - 1}.")
    asked = {"prompt": prompt, "generate": generate, "depth": depth}
    counts = [_parse_counts(name, given) for name, given in asked.items()]
    return LlmRequest(
        model=model,
        tests=list_tests(*counts),
        schedule=build_profile_schedule(blocks, max_blocks, budget),
        threads=parse_threads(threads),
        runs=runs,
        seed=seed,
        kernels=kernels,
        output_root=output_root,
    )


def _parse_counts(name: str, given: str | int | Iterable[int]) -> tuple[int, ...]:
    if isinstance(given, str):
        if not re.fullmatch(r"\s*\d{1,9}(\s*,\s*\d{1,9})*\s*", given):
            raise UsageError(f"{name} is {given!r}.", hint=_HINT)
        counts = [int(text) for text in given.split(",")]
    else:
        counts = [given] if isinstance(given, int) else list(given)
    if not counts or not all(0 <= count <= MOST_STEPS for count in counts):
        raise UsageError(f"{name} is {given!r}.", hint=f"{_HINT} A number of tokens is at most {MOST_STEPS}.")
    return tuple(dict.fromkeys(counts))


def run_llm(asked: LlmRequest, request: DeviceRequest, observer: Observer, options: RunOptions) -> MeasuredRun:
    """Runs the tests with the best extension of the device's CPU hidden and shown."""
    workload = plan_workload(asked)
    with open_device(request) as opened:
        plan = build_llm_plan(asked, workload, opened.device)
        request.progress(f"results go to {plan.output_root}")
        return run_opened(opened, plan, observer, replace(options, peaks=True))


def plan_workload(asked: LlmRequest) -> Workload:
    """What is wrong with the tests is said before a device is opened."""
    require_model(asked.model)
    model = find_language_model(read_program(asked.model), asked.model.name)
    return build_llm_workload(model, asked.tests, asked.seed)


def build_llm_plan(asked: LlmRequest, workload: Workload, device: Device) -> Plan:
    plan = build_profile_plan(
        asked.model,
        device,
        output_root=asked.output_root or profile_folder(asked.model, device.platform, _FOLDER_SUFFIX),
        schedule=asked.schedule,
        runs=asked.runs,
        threads=asked.threads,
        kernels=asked.kernels,
    )
    warmup = _WARMUP if device.describe().times_are_real else Warmup(0, 0)
    return replace(plan, workload=workload, experiments=tuple(replace(e, warmup=warmup) for e in plan.experiments))
