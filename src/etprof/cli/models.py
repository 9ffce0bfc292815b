"""`etprof models`: what can be exported, from where, and what is missing; `etprof models new` writes a scaffold."""

import os
from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import out
from etprof.cli.export import print_columns

app = typer.Typer(help="List what can be exported, or write the scaffold of a new model.")

ModelsDir = Annotated[Path | None, typer.Option(help="Your models; default: ./model_profiling/models.")]


@app.callback(invoke_without_command=True)
def list_all(context: typer.Context, models_dir: ModelsDir = None) -> None:
    """List the models that can be exported, where they come from, and what is missing for the others."""
    if context.invoked_subcommand is not None:
        return
    from etprof.export.dependencies import RUNTIME, install_command, missing_packages
    from etprof.export.foreign import output_to
    from etprof.export.registry import find_models_dir, list_models

    folder = find_models_dir(models_dir)
    with output_to(Path(os.devnull)):
        entries = list_models(folder)
    table = [["model", "from", "needs", "status"]]
    for entry in entries:
        if entry.is_offered:
            missing = missing_packages(entry.requires)
            status = f"run: {install_command(missing)}" if missing else entry.problem or "ready"
            where = entry.location if entry.origin == "models folder" else entry.origin
            table.append([entry.name, where, " ".join(entry.requires), status])
    print_columns(table)
    untried = ", ".join(entry.name for entry in entries if not entry.is_offered)
    if untried:
        out.print(f"In the executorch wheel too, but in want of weights or packages of their own: {untried}")
    if needed := missing_packages(RUNTIME):
        out.print(f"Nothing can be exported yet. Run: {install_command(needed)}", markup=False)
    out.print(f"Models folder: {folder}" if folder else "No models folder: there is no ./model_profiling/models.")


@app.command("new")
def write_new(
    name: Annotated[str, typer.Argument(help="Small letters, digits and underscores.")], models_dir: ModelsDir = None
) -> None:
    """Write the scaffold of a model: a folder that exports as it stands, for you to fill."""
    from etprof.export.registry import DEFAULT_MODELS_DIR
    from etprof.export.scaffold import write_scaffold

    folder = write_scaffold(name, models_dir or DEFAULT_MODELS_DIR)
    option = f" --models-dir {models_dir}" if models_dir else ""
    out.print(f"{folder}/model.py is written.", markup=False)
    out.print(f"Fill it in, then run: etprof export {name}{option}", markup=False)
