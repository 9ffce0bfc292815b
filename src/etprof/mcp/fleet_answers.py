"""What an assistant is answered about a fleet: its devices, and what a model does on each of them."""

from dataclasses import dataclass
from pathlib import Path

from etprof.app.fleet.runs import FleetRequest, default_folder, list_devices, run_fleet
from etprof.app.fleet.words import FleetWords
from etprof.app.named_model import find_export
from etprof.app.progress import Progress
from etprof.export.registry import DEFAULT_MODELS_DIR
from etprof.mcp.workspace import Workspace


@dataclass(frozen=True)
class OfferedDevice:
    device: str
    busy: bool
    labels: list[str]
    about: str


@dataclass(frozen=True)
class Offered:
    devices: list[OfferedDevice]


@dataclass(frozen=True)
class Gathered:
    """`run_dirs` can be analysed one by one; `gains` say what an extension changes on which device."""

    run_dirs: list[str]
    missing: list[str]
    gains: list[str]
    page: str


def offered(on: str) -> Offered:
    # An address is the user's to choose: what a scheduler answers is trusted.
    return Offered(
        [OfferedDevice(d.name, bool(d.busy), sorted(d.labels), d.trouble or d.facts) for d in list_devices(on=on)]
    )


def gather(workspace: Workspace, model: str, progress: Progress, *, on: str, repeat: int, out: str) -> Gathered:
    path = Path(model)
    if find_export(model) is not None:
        # What a worker is sent of the user's models.
        workspace.target_folder(DEFAULT_MODELS_DIR)
    else:
        path = workspace.model_file(model)
        for beside in path.parent.glob(f"{path.stem}.*"):
            workspace.inside(beside)
    folder = workspace.target_folder(out or default_folder())
    request = FleetRequest(folder, on=on, repeat=repeat, command="etprof mcp: fleet_run")
    arrived = 0

    def tell(text: str) -> None:
        nonlocal arrived
        arrived += text.endswith(": arrived")
        progress(arrived, None, text)

    with workspace.confined():
        outcome = run_fleet([path], request, FleetWords(tell))
    missing = [f"{r.job.label} on {r.device}: {r.reason}" for r in outcome.results if not r.has_arrived]
    gains = outcome.report.gain_sentences if outcome.report else []
    details = [f"{g.device}: {g.gain}, {g.verdict}" for g in (outcome.report.gains if outcome.report else ())]
    return Gathered([str(each) for each in outcome.folders], missing, [*gains, *details], str(outcome.page or ""))
