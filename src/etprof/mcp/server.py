"""The operations as tools of a Model Context Protocol server over standard input and output.

It only reads, unless it is allowed to run models. Tools wait for one another: a measurement needs a quiet machine.
While it serves, the SDK keeps standard output for itself and sends what others print there to standard error.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import Annotated, ParamSpec, TypeVar

from anyio import from_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field
from pydantic.config import JsonDict

import etprof
from etprof.app.plans import build_profile_schedule
from etprof.app.profiling import build_run_options
from etprof.app.progress import Progress
from etprof.app.thread_counts import parse_threads
from etprof.core.errors import EtprofError
from etprof.devices import list_usages
from etprof.mcp import answers
from etprof.mcp.answers import Analysis, Exported, KnownModels, Machine
from etprof.mcp.workspace import Workspace
from etprof.reports import FORMATS

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
# An export takes the place of an older one of the same name; an older run is refused or moved aside.
_EXPORTS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
# A run may be on a phone or a host that this machine reaches.
_RUNS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True)

_INSTRUCTIONS = (
    "Profiles ExecuTorch models on CPUs: where the time goes, what an instruction-set extension such as SME2 changes, "
    "and what to optimise next. A usual order: doctor, list_models, export, run, analyze, explain. Paths are relative "
    "to the workspace. Repeat the verdict with its interval and name the findings: they are reasons for doubt."
)
_READ_ONLY = " This server only reads: export and run refuse until it is started with --allow-run."

_FORMAT_NAMES: JsonDict = {"enum": list(FORMATS)}
RunDir = Annotated[str, Field(description="Folder of a finished run, with manifest.json in it.")]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def serve(folder: Path, *, allow_run: bool) -> None:
    """Serves one client until it closes the connection."""
    build_server(answers.open_workspace(folder), allow_run=allow_run).run("stdio")


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
    for function, annotations in zip(_running_tools(workspace), (_EXPORTS, _RUNS), strict=True):
        server.add_tool(_guarded(function, lock, refused=not allow_run), annotations=annotations)
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
            str, Field(description="verdict, next steps, a category, a kind of finding, or an operator's name.")
        ],
    ) -> str:
        """Explain one thing of a finished run in words."""
        return answers.explain(workspace, run_dir, subject)

    return [doctor, list_models, analyze, report, explain]


def _running_tools(workspace: Workspace) -> list[Callable[..., object]]:
    def export(
        context: Context,
        model: Annotated[str, Field(description="Name of the model, as list_models gives it.")],
        *,
        dtype: Annotated[str, Field(description="fp32 or fp16.")] = "fp32",
        backend: Annotated[str, Field(description="xnnpack, or portable for no delegation at all.")] = "xnnpack",
        outdir: Annotated[str, Field(description="Where to write; default: out_MODEL/artifacts.")] = "",
    ) -> Exported:
        """Export a model to a .pte and compare it with eager PyTorch. Executes the model's code."""
        return answers.export(workspace, model, _progress_to(context), dtype=dtype, backend=backend, outdir=outdir)

    def run(
        context: Context,
        model: Annotated[str, Field(description="The .pte to run, or a model's name: it is exported first.")],
        *,
        device: Annotated[str, Field(description=f"Where to run: {list_usages()}.")] = "local",
        threads: Annotated[
            str, Field(description="A number, several such as 1,2,4, or auto: how many threads pay.")
        ] = "1",
        blocks: Annotated[int, Field(ge=1, description="Fresh processes per variant, at least.")] = 6,
        max_blocks: Annotated[int, Field(ge=1, description="And at most, while the interval is too wide.")] = 24,
        budget: Annotated[
            str, Field(description="Time of the whole run: 90s, 10m or 1h. No block starts that would end later.")
        ] = "2m",
        output_root: Annotated[str, Field(description="Where to write; default: beside the model's folder.")] = "",
        force: Annotated[bool, Field(description="Move an older run in that folder aside.")] = False,
        resume: Annotated[bool, Field(description="Continue an interrupted run in that folder.")] = False,
    ) -> Analysis:
        """Profile a model with the CPU's best extension hidden and shown, and write its report. Takes minutes."""
        options = build_run_options("etprof mcp: run", force=force, resume=resume)
        schedule = build_profile_schedule(blocks, max_blocks, budget)
        return answers.run(
            workspace, model, _progress_to(context), device=device, schedule=schedule, output_root=output_root,
            options=options, threads=parse_threads(threads),
        )  # fmt: skip

    return [export, run]


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
