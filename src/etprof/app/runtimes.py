"""Other runtimes beside ExecuTorch: which are there, and the programs that they run."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from etprof.app.named_model import require_model
from etprof.core.errors import UnknownNameError, UsageError
from etprof.core.layout import converted_path, export_meta_path
from etprof.core.model import Artifact
from etprof.core.plan import TRACE, Experiment, Plan
from etprof.core.runtimes import EXECUTORCH, RUNTIMES
from etprof.export.converted import Origin, convert
from etprof.export.dependencies import require_supported
from etprof.export.lowering import Progress
from etprof.export.meta import load_meta
from etprof.export.request import ExportRequest


def add_program(artifact: Artifact, request: ExportRequest, runtime: str, progress: Progress | None = None) -> Path:
    """What a runtime runs of an export that was just made: its .pte, or what is made from the same model beside it.

    Raises a UsageError where the precision is not the same in it, and an ExportError where it computes something else.
    """
    if runtime == EXECUTORCH:
        return artifact.pte
    return convert(artifact, runtime, Origin(request.models_dir, request.checkpoint), progress)


def find_program(pte: Path, runtime: str, progress: Progress | None = None) -> Path:
    """What a runtime runs of an export that is there, made from the same model if necessary."""
    if runtime == EXECUTORCH:
        return pte
    require_runtime(runtime)
    meta = load_meta(pte)
    if meta is None:
        raise UsageError(
            f"{pte.name} cannot be converted to {RUNTIMES[runtime].title}: there is no {export_meta_path(pte).name}.",
            hint="Export the model with `etprof export`, which writes it.",
        )
    return convert(Artifact(pte, meta), runtime, progress=progress)


def ready_programs(plan: Plan, say: Progress) -> None:
    """Makes what other runtimes run, before a device is opened; says what takes a while."""
    for program in plan.programs:
        if program.runtime != EXECUTORCH:
            require_model(program.model)
            pte = find_pte(program.model, program.runtime)
            find_program(pte, program.runtime, partial(_tell, say, pte, program.runtime))


def _tell(say: Progress, pte: Path, runtime: str, stage: str) -> None:
    say(f"{stage} {pte} to {RUNTIMES[runtime].title}")


def find_pte(model: Path, runtime: str) -> Path:
    """The export that a program of another runtime belongs to: an experiment may name either."""
    pte = converted_path(model, RUNTIMES[EXECUTORCH].program_suffix)
    if model.suffix not in (pte.suffix, RUNTIMES[runtime].program_suffix) or not pte.is_file():
        raise UsageError(
            f"{model} cannot be run with {RUNTIMES[runtime].title}: there is no export that it belongs to.",
            hint="Name the .pte of `etprof export`: what other runtimes run is made from the same model.",
        )
    return pte


def choose_runtimes(given: str | Iterable[str]) -> tuple[str, ...]:
    """The runtimes that a user names, with commas between them or as a list; refused where one is not here."""
    names = [name.strip() for name in given.split(",") if name.strip()] if isinstance(given, str) else list(given)
    for name in names:
        require_runtime(name)
    return tuple(dict.fromkeys(names))


def require_runtime(runtime: str) -> None:
    """Refuses a runtime that is unknown or not installed here."""
    if runtime not in RUNTIMES:
        raise UnknownNameError("runtime", runtime, RUNTIMES, hint=f"Known: {', '.join(RUNTIMES)}.")
    require_supported(RUNTIMES[runtime].packages, f"Running a model with {RUNTIMES[runtime].title}")


def refuse_unfit(experiment: Experiment, runtime: str) -> None:
    """What only our runners of ExecuTorch can do is refused before the first block."""
    title = RUNTIMES[runtime].title
    cannot = {
        f"hide {', '.join(experiment.hide_isa)}": ("hide_isa", experiment.hide_isa),
        "use another runner": ("runner_path", experiment.runner_path),
        "be sampled for its kernels": ("mode", experiment.mode == TRACE),
    }
    for what, (field, given) in cannot.items():
        if given:
            raise UsageError(f"{experiment.name}: {title} cannot {what}.", hint=f"Omit {field} from this experiment.")
