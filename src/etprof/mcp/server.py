"""The operations as tools of a Model Context Protocol server over standard input and output.

It only reads, unless it is allowed to run models. Tools wait for one another: a measurement needs a quiet machine.
While it serves, the SDK keeps standard output for itself and sends what others print there to standard error.
"""

import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import Annotated, ParamSpec, TypeVar

import anyio
from anyio import from_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field
from pydantic.config import JsonDict

import etprof
from etprof.app.builds import DTYPES, SCHEMES
from etprof.app.exploring import EXPLORE_BUDGET, build_explore_request
from etprof.app.llm import DEPTHS, GENERATED, LLM_BUDGET, LLM_RUNS, PROMPTS, build_llm_request
from etprof.app.plans import build_profile_schedule
from etprof.app.profiling import build_run_options
from etprof.app.progress import Progress
from etprof.app.thread_counts import parse_threads
from etprof.core.errors import EtprofError, UsageError
from etprof.core.units import parse_duration
from etprof.devices import list_usages
from etprof.export.request import ExportRequest
from etprof.mcp import answers, check_answers, fleet_answers, llm_answers
from etprof.mcp.answers import Analysis, CpuPeaks, Exported, KnownModels, Machine, Tried
from etprof.mcp.check_answers import Checked
from etprof.mcp.fleet_answers import Gathered, Offered
from etprof.mcp.llm_answers import Tested
from etprof.mcp.standard_input import endable_input
from etprof.mcp.workspace import Workspace
from etprof.reports import FORMATS

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
# An export takes the place of an older one of the same name; an older run is refused or moved aside.
_EXPORTS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
# A run may be on a phone or a host that this machine reaches.
_RUNS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True)

_INSTRUCTIONS = (
    "Profiles ExecuTorch models on CPUs: where the time goes, what an instruction-set extension such as SME2 changes, "
    "and what to optimise next. A usual order: doctor, list_models, export, run, analyze, explain; explore says which "
    "precision to ship, llm measures a language model. Paths are relative to the workspace. Repeat the verdict with "
    "its interval and name the findings: they are reasons for doubt."
)
_READ_ONLY = " This server only reads: export and run refuse until it is started with --allow-run."

# What an assistant may ask for in one call; who wants more has the command line.
_MOST_BLOCKS, _MOST_THREADS, _MOST_THREAD_COUNTS, _LONGEST_RUN_S = 1000, 1024, 16, 4 * 3600.0
_MOST_REPEATS = 100

_FORMAT_NAMES: JsonDict = {"enum": list(FORMATS)}
RunDir = Annotated[str, Field(description="Folder of a finished run, with manifest.json in it.")]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def serve(folder: Path, *, allow_run: bool) -> None:
    """Serves one client until it closes the connection, or until an interrupt."""
    server = build_server(answers.open_workspace(folder), allow_run=allow_run)
    # What is made for a while lies where nobody else looks: tools may read it besides the workspace.
    with tempfile.TemporaryDirectory(prefix="etprof-mcp-") as private:
        tempfile.tempdir = private
        try:
            anyio.run(_serve_client, server)
        finally:
            tempfile.tempdir = None


async def _serve_client(server: MCPServer) -> None:
    async def serve_to_the_end() -> None:
        await server.run_stdio_async()
        tasks.cancel_scope.cancel()

    with endable_input() as end_input:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve_to_the_end)
            try:
                await anyio.sleep_forever()
            finally:
                # An interrupt reaches this task alone; the other waits in a thread for its input.
                end_input()


def build_server(workspace: Workspace, *, allow_run: bool) -> MCPServer:
    server = MCPServer(
        "etprof",
        version=etprof.__version__,
        instructions=_INSTRUCTIONS if allow_run else _INSTRUCTIONS + _READ_ONLY,
        log_level="WARNING",
    )
    lock = Lock()
    for function in _reading_tools(workspace):
        server.add_tool(_guarded(function, lock), annotations=_READS)
    for function, annotations in zip(_running_tools(workspace), (_EXPORTS, *[_RUNS] * 6), strict=True):
        server.add_tool(_guarded(function, lock, refused=not allow_run), annotations=annotations)
    for function in _fleet_tools(workspace):
        server.add_tool(_guarded(function, lock, refused=not allow_run), annotations=_RUNS)
    return server


def _reading_tools(workspace: Workspace) -> list[Callable[..., object]]:
    def doctor() -> Machine:
        """Say what this machine has for profiling, and what it lacks."""
        return answers.doctor()

    def list_models() -> KnownModels:
        """List the models that can be exported by name."""
        return answers.list_known_models(workspace)

    def analyze(run_dir: RunDir) -> Analysis:
        """Summarise a finished run: verdicts with intervals, latency, categories, next steps, findings."""
        return answers.analyze_run(workspace, run_dir)

    def report(
        run_dir: RunDir,
        format: Annotated[
            str, Field(description="Markdown by default; html and trace are long.", json_schema_extra=_FORMAT_NAMES)
        ] = "md",
    ) -> str:
        """Give the whole report of a finished run as text; nothing is written."""
        return answers.render_report(workspace, run_dir, format)

    def explain(
        run_dir: RunDir,
        subject: Annotated[
            str, Field(description="verdict, next steps, a rule, a category, a kind of finding, or an operator's name.")
        ],
    ) -> str:
        """Explain one thing of a finished run in words."""
        return answers.explain(workspace, run_dir, subject)

    def explain_model(
        path: Annotated[str, Field(description="A .pte, whoever exported it, or the folder of a finished run.")],
        method: Annotated[str, Field(description="Only this method of a program that has several.")] = "",
    ) -> str:
        """Say which kernels the layers take with SME2, i8mm and dot product, why not better ones, and what to do."""
        return answers.explain_model(workspace, path, method)

    def forecast(
        run_dir: RunDir,
        profile: Annotated[str, Field(description="What `etprof devices calibrate` wrote for the other device.")],
        source: Annotated[str, Field(description="That of the run's device; default: the one kept here.")] = "",
        variant: Annotated[str, Field(description="Its experiment; default: the one that hides least.")] = "",
    ) -> str:
        """Say what a run would take on another CPU, with interval and bounds. An estimate: nothing is measured."""
        return answers.forecast(workspace, run_dir, profile, source, variant)

    def history(
        file: Annotated[str, Field(description="A history that `etprof history add` wrote.")],
        model: Annotated[str, Field(description="Only this model; default: all.")] = "",
        sql: Annotated[str, Field(description="A query to answer instead; it only reads.")] = "",
    ) -> str:
        """Say how the latency of models developed over many runs, and from which run on its level changed."""
        return answers.describe_history(workspace, file, model, sql)

    return [doctor, list_models, analyze, report, explain, explain_model, forecast, history]


def _running_tools(workspace: Workspace) -> list[Callable[..., object]]:
    def export(
        context: Context,
        model: Annotated[str, Field(description="Name of the model, as list_models gives it.")],
        *,
        dtype: Annotated[str, Field(description="fp32 or fp16.")] = "fp32",
        backend: Annotated[str, Field(description="xnnpack, or portable for no delegation at all.")] = "xnnpack",
        outdir: Annotated[str, Field(description="Where to write; default: out_MODEL/artifacts.")] = "",
        state_in_place: Annotated[
            bool, Field(description="Change buffers where they lie, as the rule state-copies advises.")
        ] = False,
    ) -> Exported:
        """Export a model to a .pte and compare it with eager PyTorch. Executes the model's code."""
        request = ExportRequest(
            model=model,
            dtype=dtype,
            backend=backend,
            outdir=Path(outdir) if outdir else None,
            state_in_place=state_in_place,
        )
        return answers.export(workspace, request, _progress_to(context))

    def run(
        context: Context,
        model: Annotated[str, Field(description="The .pte to run, or a model's name: it is exported first.")],
        *,
        device: Annotated[str, Field(description=f"Where to run: {list_usages()}.")] = "local",
        threads: Annotated[
            str, Field(description="A number, several such as 1,2,4, or auto: how many threads pay.")
        ] = "1",
        blocks: Annotated[int, Field(ge=1, le=_MOST_BLOCKS, description="Fresh processes per variant, at least.")] = 6,
        max_blocks: Annotated[
            int, Field(ge=1, le=_MOST_BLOCKS, description="And at most, while the interval is too wide.")
        ] = 24,
        budget: Annotated[
            str, Field(description="Time of the whole run: 90s, 10m or 1h. No block starts that would end later.")
        ] = "2m",
        output_root: Annotated[str, Field(description="Where to write; default: beside the model's folder.")] = "",
        force: Annotated[bool, Field(description="Move all that the folder holds aside.")] = False,
        resume: Annotated[bool, Field(description="Continue an interrupted run in that folder.")] = False,
        workload: Annotated[
            str, Field(description="A JSON file of phases to run one after the other, such as prefill and decode.")
        ] = "",
    ) -> Analysis:
        """Profile a model with the CPU's best extension hidden and shown, and write its report. Takes minutes."""
        options = build_run_options("etprof mcp: run", force=force, resume=resume)
        schedule = build_profile_schedule(blocks, max_blocks, _within(budget, _LONGEST_RUN_S))
        return answers.run(
            workspace, model, _progress_to(context), device=device, schedule=schedule, output_root=output_root,
            options=options, threads=_few(parse_threads(threads)), workload=workload,
        )  # fmt: skip

    def explore(
        context: Context,
        model: Annotated[str, Field(description="Name of the model, as list_models gives it.")],
        *,
        dtypes: Annotated[str, Field(description="fp32, fp16 or both with a comma; none.")] = DTYPES,
        schemes: Annotated[str, Field(description="Quantisation schemes with commas; none.")] = SCHEMES,
        threads: Annotated[str, Field(description="A number, several such as 1,2,4, or auto.")] = "auto",
        runtimes: Annotated[str, Field(description="executorch, onnxruntime or both.")] = "executorch",
        budget: Annotated[str, Field(description="Time of everything, exports and report included.")] = EXPLORE_BUDGET,
        min_snr: Annotated[float | None, Field(description="Lowest SNR in dB of a build to recommend.")] = None,
        min_metric: Annotated[float | None, Field(description="Lowest value of the model's evaluate().")] = None,
        sensitivity: Annotated[bool, Field(description="Rank layers by what quantising them costs.")] = False,
        device: Annotated[str, Field(description=f"Where to run: {list_usages()}.")] = "local",
        output_root: Annotated[str, Field(description="Where to write; default: beside the model's folder.")] = "",
        force: Annotated[bool, Field(description="Move all that the folder holds aside.")] = False,
        resume: Annotated[bool, Field(description="Continue an interrupted run in that folder.")] = False,
    ) -> Analysis:
        """Say which build of a model to ship, by racing precisions, threads and runtimes. Takes minutes."""
        asked = build_explore_request(
            model, dtypes=dtypes, schemes=schemes, threads=threads, runtimes=runtimes, min_snr=min_snr,
            min_metric=min_metric, sensitivity=sensitivity, budget=_within(budget, _LONGEST_RUN_S), models_dir=None,
            checkpoint=None, output_root=Path(output_root) if output_root else None,
        )  # fmt: skip
        _few(asked.threads)
        options = build_run_options("etprof mcp: explore", force=force, resume=resume)
        return answers.explore(workspace, asked, device, _progress_to(context), options)

    def llm(
        context: Context,
        model: Annotated[str, Field(description="The .pte of a language model.")],
        *,
        prompt: Annotated[str, Field(description="Tokens of a prompt: a number, or several with commas.")] = PROMPTS,
        generate: Annotated[str, Field(description="Tokens to generate one by one, in the same way.")] = GENERATED,
        depth: Annotated[str, Field(description="Tokens in the cache before each test, in the same way.")] = DEPTHS,
        threads: Annotated[str, Field(description="A number, several such as 1,2,4, or auto.")] = "1",
        blocks: Annotated[int, Field(ge=1, le=_MOST_BLOCKS, description="Fresh processes per variant, at least.")] = 6,
        max_blocks: Annotated[int, Field(ge=1, le=_MOST_BLOCKS, description="And at most.")] = 24,
        budget: Annotated[str, Field(description="Time of the whole run: 90s, 10m or 1h.")] = LLM_BUDGET,
        device: Annotated[str, Field(description=f"Where to run: {list_usages()}.")] = "local",
        output_root: Annotated[str, Field(description="Where to write; default: beside the model's folder.")] = "",
        force: Annotated[bool, Field(description="Move all that the folder holds aside.")] = False,
        resume: Annotated[bool, Field(description="Continue an interrupted run in that folder.")] = False,
    ) -> Tested:
        """Measure a language model: tokens a second of prompts (pp128) and generated tokens (tg64). Takes minutes."""
        asked = build_llm_request(
            Path(model), prompt=prompt, generate=generate, depth=depth, threads=threads, runs=LLM_RUNS, blocks=blocks,
            max_blocks=max_blocks, budget=_within(budget, _LONGEST_RUN_S), seed=0, kernels=False,
            output_root=Path(output_root) if output_root else None,
        )  # fmt: skip
        _few(asked.threads)
        options = build_run_options("etprof mcp: llm", force=force, resume=resume)
        return llm_answers.llm(workspace, asked, device, _progress_to(context), options)

    def check(
        context: Context,
        old: Annotated[str, Field(description="The known-good .pte.")],
        new: Annotated[str, Field(description="The .pte that is checked.")],
        *,
        tolerance: Annotated[float, Field(ge=0, description="How much slower it may be, in percent.")] = 5.0,
        memory_tolerance: Annotated[
            float | None, Field(ge=0, description="How much its peak memory may grow, in percent; default: not judged.")
        ] = None,
        device: Annotated[str, Field(description=f"Where to run: {list_usages()}.")] = "local",
        threads: Annotated[str, Field(description="A number, or several such as 1,2,4.")] = "1",
        blocks: Annotated[int, Field(ge=1, le=_MOST_BLOCKS, description="Fresh processes of each, at least.")] = 6,
        max_blocks: Annotated[int, Field(ge=1, le=_MOST_BLOCKS, description="And at most.")] = 24,
        budget: Annotated[str, Field(description="Time of the whole run: 90s, 10m or 1h.")] = "2m",
        output_root: Annotated[str, Field(description="Where to write; default: beside the new model's folder.")] = "",
    ) -> Checked:
        """Measure two models interleaved, and say whether the new one is as fast and as accurate as the old one."""
        schedule = build_profile_schedule(blocks, max_blocks, _within(budget, _LONGEST_RUN_S))
        return check_answers.check(
            workspace, (old, new), _progress_to(context), device=device, schedule=schedule, output_root=output_root,
            threads=_few(parse_threads(threads)), tolerance=tolerance / 100,
            memory_tolerance=None if memory_tolerance is None else memory_tolerance / 100,
        )  # fmt: skip

    def peaks(
        context: Context,
        *,
        device: Annotated[str, Field(description=f"Whose CPU: {list_usages()}.")] = "local",
        again: Annotated[bool, Field(description="Measure again, even if the peaks are known.")] = False,
    ) -> CpuPeaks:
        """Say what a CPU can do at most, by instructions and memory: measured once, in at most 10 s."""
        return answers.measure_peaks(device, _progress_to(context), again=again)

    def self_test(
        context: Context,
        *,
        device: Annotated[str, Field(description=f"Where: {list_usages()}.")] = "local",
    ) -> Tried:
        """Try every part of the work on a device with a small model, and say what works; about a minute."""
        return answers.self_test(device, _progress_to(context))

    return [export, run, explore, llm, check, peaks, self_test]


def _fleet_tools(workspace: Workspace) -> list[Callable[..., object]]:
    labels = "Labels with and, or, not and parentheses, such as: sme2 and android. Default: all devices."

    def fleet_devices(on: Annotated[str, Field(description=labels)] = "") -> Offered:
        """List the devices that workers offer to the scheduler of Dask's settings, with their labels."""
        return fleet_answers.offered(on)

    def fleet_run(
        context: Context,
        model: Annotated[
            str,
            Field(description="The .pte to profile on each device, or the name of a model: a worker exports it first."),
        ],
        *,
        on: Annotated[str, Field(description=labels)] = "",
        repeat: Annotated[int, Field(ge=1, le=_MOST_REPEATS, description="Runs on each device.")] = 1,
        out: Annotated[str, Field(description="Folder to write to; default: fleet_TIME.")] = "",
    ) -> Gathered:
        """Profile a model on many devices at once, and say who gains from an extension such as SME2. Takes minutes."""
        return fleet_answers.gather(workspace, model, _progress_to(context), on=on, repeat=repeat, out=out)

    return [fleet_devices, fleet_run]


def _within(budget: str, most_s: float) -> str:
    if parse_duration(budget) > most_s:
        raise UsageError(f"budget is {budget!r}.", hint=f"At most {most_s / 3600:g}h from here.")
    return budget


def _few(threads: tuple[int, ...]) -> tuple[int, ...]:
    if len(threads) > _MOST_THREAD_COUNTS or max(threads, default=1) > _MOST_THREADS:
        hint = f"At most {_MOST_THREAD_COUNTS} counts, and {_MOST_THREADS} threads, from here."
        raise UsageError(f"threads has {len(threads)} counts up to {max(threads)}.", hint=hint)
    return threads


def _guarded(
    function: Callable[_Parameters, _Result], lock: Lock, *, refused: bool = False
) -> Callable[_Parameters, _Result]:
    """The function with its errors as the protocol's, one call at a time."""

    @wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        if refused:
            raise ToolError("This server only reads. Hint: start it with `etprof mcp --allow-run`.")
        try:
            with lock:
                return function(*args, **kwargs)
        except EtprofError as error:
            raise ToolError(f"{error.message} Hint: {error.hint}" if error.hint else error.message) from error

    return call


def _progress_to(context: Context) -> Progress:
    """Tells the client from the tool's thread; where the client has given up, the work ends here."""

    def tell(done: float, total: float | None, message: str) -> None:
        from_thread.check_cancelled()
        from_thread.run(context.report_progress, done, total, message)

    return tell
