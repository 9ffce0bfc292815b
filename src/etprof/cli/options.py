"""Options that several commands share: a run's folder, a device, a time budget."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.core.errors import UsageError
from etprof.devices import list_usages

if TYPE_CHECKING:
    from etprof.app.devices import DeviceRequest

RunDirArgument = Annotated[
    Path | None, typer.Argument(metavar="RUN_DIR", help="Folder with manifest.json, such as out_toy_cnn/runs/linux.")
]
RunDirOption = Annotated[Path | None, typer.Option("--run-dir", "--results", help="The same, as an option.")]
DeviceOption = Annotated[str, typer.Option(help=f"Where to run: {list_usages()}.")]
DeviceFolderOption = Annotated[str, typer.Option(help="Folder on the device to work in.")]
EmulatorOption = Annotated[
    str,
    typer.Option(help="Path of a qemu-aarch64 on the device to run under: kernels are real, times are not meaningful."),
]
RunnerBundleOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Use the runner in this bundle instead of building one for the device."),
]
PrepareOption = Annotated[
    bool, typer.Option("--prepare", help="Keep the device awake and its clock steady; restored afterwards.")
]
KeepOption = Annotated[
    bool, typer.Option("--keep-on-device", help="Keep runner and model there, so that the next run pushes less.")
]
NoWaitOption = Annotated[
    bool, typer.Option("--no-wait", help="Fail where another run is measuring on that machine, instead of waiting.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Move all that the folder holds aside.")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would be run, and run nothing.")]
OutputRootOption = Annotated[Path | None, typer.Option(help="Folder for the run; default: beside the artifacts.")]
BudgetOption = Annotated[
    str,
    typer.Option(metavar="TIME", help="Time of the whole run: 90s, 10m or 1h. No block starts that would end later."),
]
WideOption = Annotated[bool, typer.Option("--wide", help="Show every column at any width of the terminal.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print everything as CSV.")]
ByOption = Annotated[str, typer.Option("--by", help="Show operators in groups: by kind, module or shape.")]
DepthOption = Annotated[int, typer.Option(min=1, help="With --by module: how many names of a module's path count.")]
HistoryOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Add the run to this history.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]


def one_run_dir(argument: Path | None, option: Path | None = None) -> Path:
    if (argument is None) == (option is None):
        raise UsageError("Give the folder of one run.", hint="For example: out_toy_cnn/runs/linux")
    folder = argument or option or Path()
    if folder.is_file():
        hint = f"A single trace is read with: etprof trace operators {folder}" if folder.suffix == ".etdump" else ""
        raise UsageError(
            f"{folder} is a file; a run is a folder.", hint=hint or "It is the one with manifest.json in it."
        )
    if not folder.is_dir():
        from etprof.store.session_file import find_runs_beside

        hint = find_runs_beside(folder) or "A run's folder is the output_root of its plan."
        raise UsageError(f"There is no folder {folder}.", hint=hint)
    return folder


def build_request(
    device: str, remote_device: str = "", *, runner: str = "auto", folder: str = "", emulator: str = "",
    bundle: Path | None = None, prepare: bool = False, keep: bool = False, wait: bool = True, verbose: bool = False,
) -> "DeviceRequest":  # fmt: skip
    from etprof.app.devices import parse_device
    from etprof.cli.console import say

    if remote_device:
        if device not in ("android", "local"):
            raise UsageError("--remote-device is a way to name an Android device; omit --device.")
        device = f"android:{remote_device}"
    request = replace(
        parse_device(device), runner=runner, folder=folder, emulator=emulator, bundle=bundle, prepare=prepare,
        keep=keep, wait=wait,
    )  # fmt: skip
    return replace(request, progress=say, say_command=say if verbose else request.say_command)


def refuse_together(hint: str = "", **options: object) -> None:
    """Refuses more than one of these options; each is named as in Python."""
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} are mutually exclusive.", hint=hint)


def refuse_force_and_resume(force: bool, resume: bool) -> None:
    refuse_together("--force starts over, --resume continues.", force=force, resume=resume)
