"""`etprof doctor`: whether this machine can profile, line by line; with --self-test by trying it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import say, show, show_json
from etprof.cli.options import (
    DeviceFolderOption,
    EmulatorOption,
    JsonOption,
    NoWaitOption,
    RunnerBundleOption,
    build_request,
    refuse_together,
)
from etprof.core.errors import UsageError
from etprof.devices import list_usages

if TYPE_CHECKING:
    from etprof.app.devices import DeviceRequest


def command(
    as_json: JsonOption = False,
    model: Annotated[Path | None, typer.Option(help="An exported model (.pte) that has to be there, too.")] = None,
    self_test: Annotated[
        bool, typer.Option("--self-test", help="Try every part of the work with a small model; about a minute.")
    ] = False,
    device: Annotated[str, typer.Option(help=f"With --self-test: where to try it: {list_usages()}.")] = "local",
    device_folder: DeviceFolderOption = "",
    emulator: EmulatorOption = "",
    runner_bundle: RunnerBundleOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --self-test: its report, to send; default: etprof_self_test.md."),
    ] = None,
    no_wait: NoWaitOption = False,
) -> None:
    if self_test:
        refuse_together(self_test=self_test, model=model)
        request = build_request(device, folder=device_folder, emulator=emulator, bundle=runner_bundle, wait=not no_wait)
        _try_everything(request, out, as_json=as_json)
        return
    if device != "local" or device_folder or emulator or runner_bundle or out or no_wait:
        raise UsageError(
            "A device and --out are for a self-test.", hint="Add --self-test, or ask: etprof devices show DEVICE"
        )
    _look(model, as_json=as_json)


def _look(model: Path | None, *, as_json: bool) -> None:
    from etprof.app.doctor import can_run, check_model, run_checks

    checks = [*run_checks(), *(check_model(model) if model else ())]
    able = can_run(checks)
    if as_json:
        lines = [
            {"name": c.name, "status": c.status.value, "found": c.found, "advice": c.advice, "required": c.required}
            for c in checks
        ]
        show_json({"schema_version": 1, "can_run": able, "checks": lines})
    else:
        width = max(len(c.name) for c in checks)
        for check in checks:
            line = f"{check.status.value:8}{check.name:{width + 2}}{check.found}"
            show(f"{line}. {check.advice}" if check.advice else line)
        show("This machine can export, run and report." if able else "The main job cannot run here: see `missing`.")
    if not able:
        raise typer.Exit(1)


def _try_everything(request: "DeviceRequest", out: Path | None, *, as_json: bool) -> None:
    from etprof.app.self_test import REPORT, run_self_test, write_self_test
    from etprof.reports.self_test import summarize

    found = run_self_test(request, say)
    report = write_self_test(found, out or Path(REPORT))
    if as_json:
        lines = [{"name": c.name, "outcome": c.outcome.value, "found": c.found, "hint": c.hint} for c in found.checks]
        whole = {"device": found.device, "seconds": found.seconds, "report": str(report), "checks": lines}
        show_json({"schema_version": 1, "passed": found.passed, **whole})
    else:
        width = max(len(c.name) for c in found.checks)
        for check in found.checks:
            line = f"{check.outcome.value:10}{check.name:{width + 2}}{check.found.rstrip('.')}"
            show(f"{line}. {check.hint}" if check.hint else line)
        show(summarize(found))
        show(f"The report, without names and folders, to be sent with a question: {report}")
    if not found.passed:
        raise typer.Exit(1)
