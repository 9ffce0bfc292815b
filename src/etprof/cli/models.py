"""`etprof models`: what can be exported, from where, and what is missing."""

import os
from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import show, show_facts, show_sentence, show_table
from etprof.cli.options import WideOption

app = typer.Typer(no_args_is_help=True)

ModelsDir = Annotated[Path | None, typer.Option(help="Your models; default: ./model_profiling/models.")]


@app.command("list")
def list_all(models_dir: ModelsDir = None, wide: WideOption = False) -> None:
    """List the models that can be exported, where they come from, and what is missing for the others."""
    from etprof.export.dependencies import RUNTIME, install_command, missing_packages
    from etprof.export.foreign import output_to
    from etprof.export.registry import describe_status, find_models_dir, list_models
    from etprof.reports.text_table import Column, TextTable

    folder = find_models_dir(models_dir)
    with output_to(Path(os.devnull)):
        entries = list_models(folder)
    offered = [entry for entry in entries if entry.is_offered]
    columns = [
        Column("model", [entry.name for entry in offered]),
        Column("from", [entry.place for entry in offered], 1),
        Column("needs", [" ".join(entry.requires) for entry in offered], 2),
        Column("status", [describe_status(entry) for entry in offered]),
    ]
    show_table(TextTable("", columns), wide=wide)
    untried = ", ".join(entry.name for entry in entries if not entry.is_offered)
    if untried:
        show_sentence(f"Also in the executorch wheel, but they need weights or packages of their own: {untried}")
    if needed := missing_packages(RUNTIME):
        show(f"Nothing can be exported yet. Run: {install_command(needed)}")
    show(f"Models folder: {folder}" if folder else "No models folder: there is no ./model_profiling/models.")


@app.command("show")
def show_one(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the model, as `etprof models list` gives it; or a .pte.")
    ],
    models_dir: ModelsDir = None,
) -> None:
    """Show where a model comes from, what it needs, and whether it can be exported here; or what a .pte holds."""
    if name.endswith(".pte"):
        _show_program(Path(name))
        return
    from etprof.export.foreign import output_to
    from etprof.export.registry import describe_status, find_model, find_models_dir

    with output_to(Path(os.devnull)):
        entry = find_model(name, find_models_dir(models_dir))
    facts = {
        "model": entry.name,
        "what": entry.description,
        "from": entry.origin,
        "place": entry.location,
        "needs": " ".join(entry.requires) or "nothing besides torch and executorch",
        "status": describe_status(entry),
    }
    show_facts({name: value for name, value in facts.items() if value})


def _show_program(path: Path) -> None:
    from etprof.core.program import ProgramTensor
    from etprof.traces.program import read_program

    program = read_program(path)
    for method in program.computing:
        inputs, outputs = (
            [each.label if isinstance(each, ProgramTensor) else each for each in side]
            for side in (method.inputs, method.outputs)
        )
        show_facts(
            {
                "method": method.name,
                "inputs": "; ".join(inputs) or "none",
                "outputs": "; ".join(outputs) or "none",
                "state": "; ".join(tensor.label for tensor in method.state) or "none",
            }
        )
    if program.shared_arenas:
        show("The methods have their state in common.")
    if program.facts:
        show_facts({name: str(value) for name, value in program.facts.items()})


@app.command("new")
def write_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and underscores.")],
    models_dir: ModelsDir = None,
) -> None:
    """Write the scaffold of a model: a folder that exports as it stands, for you to fill."""
    from etprof.export.registry import DEFAULT_MODELS_DIR
    from etprof.export.scaffold import write_scaffold

    folder = write_scaffold(name, models_dir or DEFAULT_MODELS_DIR)
    option = f" --models-dir {models_dir}" if models_dir else ""
    show(f"{folder}/model.py is written.")
    show(f"Fill it in, then run: etprof export {name}{option}")
