"""`etprof export`: turns a PyTorch model into a .pte that was run and compared before it is handed over."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etprof.cli.console import say, show, show_facts, show_table
from etprof.cli.options import refuse_together
from etprof.core.errors import EtprofError, UsageError
from etprof.core.units import format_count

if TYPE_CHECKING:
    from etprof.core.model import Artifact
    from etprof.core.runtimes import ConvertedProgram
    from etprof.export.request import ExportRequest, Quantization


def command(
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="Name of the model; `etprof models list` lists them.")
    ] = None,
    model_option: Annotated[str | None, typer.Option("--model", help="The same, as an option.")] = None,
    backend: Annotated[str, typer.Option(help="xnnpack, or portable for no delegation at all.")] = "xnnpack",
    dtype: Annotated[str, typer.Option(help="fp32 or fp16.")] = "fp32",
    quantize: Annotated[bool, typer.Option("--quantize", help="INT8; by default static and per channel.")] = False,
    quant_scheme: Annotated[
        str | None, typer.Option(help="static, dynamic, linear-dynamic or linear-weight-only.")
    ] = None,
    quant_granularity: Annotated[str | None, typer.Option(help="per_channel or per_tensor.")] = None,
    weight_bits: Annotated[int | None, typer.Option(help="8, or 4 for the linear schemes.")] = None,
    group_size: Annotated[int | None, typer.Option(help="Weights that share a scale, for 4-bit weights.")] = None,
    calibration: Annotated[
        str | None, typer.Option(help="How many inputs to calibrate with, or a folder of .npy or .npz files.")
    ] = None,
    outdir: Annotated[Path | None, typer.Option(help="Where to write; default: out_MODEL/artifacts.")] = None,
    models_dir: Annotated[Path | None, typer.Option(help="Your models; default: ./model_profiling/models.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="A local .pt or .safetensors file with weights.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random weights, inputs and calibration inputs.")] = 0,
    min_snr: Annotated[float | None, typer.Option(help="Fail below this SNR in dB against eager fp32.")] = None,
    save_graph: Annotated[
        bool, typer.Option("--save-graph/--no-save-graph", help="Write the nodes of the model's graph to graph.json.")
    ] = True,
    state_in_place: Annotated[
        bool, typer.Option("--state-in-place", help="Change buffers where they lie instead of copying them back.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Keep every intermediate program.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Export again even where nothing has changed.")] = False,
    runtimes: Annotated[
        str, typer.Option(help="Runtimes to make a program of the same model for as well: onnxruntime.")
    ] = "",
    verbose: Annotated[bool, typer.Option("--verbose", help="Show what torch and ExecuTorch print meanwhile.")] = False,
    export_all: Annotated[
        bool, typer.Option("--all", help="Export a matrix of models, dtypes and schemes; see the next three.")
    ] = False,
    models: Annotated[str, typer.Option(help="With --all: names, separated by commas; default: your models.")] = "",
    dtypes: Annotated[str, typer.Option(help="With --all: for example fp32 or fp32,fp16.")] = "fp32,fp16",
    schemes: Annotated[
        str, typer.Option(help="With --all: for example static_per_channel,dynamic_per_channel; or none.")
    ] = "static_per_channel",
) -> None:
    from etprof.export.exporter import ExportRequest

    quantization = _quantization(quantize, quant_scheme, quant_granularity, weight_bits, group_size, calibration)
    request = ExportRequest(
        model=_one_name(model, model_option, export_all),
        outdir=outdir,
        backend=backend,
        dtype=dtype,
        quantization=quantization,
        seed=seed,
        checkpoint=checkpoint,
        models_dir=models_dir,
        min_snr_db=min_snr,
        save_graph=save_graph,
        state_in_place=state_in_place,
        debug=debug,
        force=force,
    )
    if export_all:
        refuse_together("Each export leaves its log beside its .pte.", all=export_all, verbose=verbose)
        refuse_together("Runs make programs for other runtimes themselves.", all=export_all, runtimes=runtimes)
        _export_matrix(request, _names(models), _names(dtypes), _names(schemes))
    else:
        _export_one(request, runtimes, verbose=verbose)


def _export_one(request: "ExportRequest", runtimes: str, *, verbose: bool) -> None:
    from etprof.app.runtimes import add_program, choose_runtimes
    from etprof.cli.progress import export_stages
    from etprof.core.layout import export_log_path
    from etprof.export.converted import load_converted
    from etprof.export.exporter import export_model

    chosen = choose_runtimes(runtimes)
    with export_stages(request.stem) as progress:
        artifact = export_model(request, progress)
        programs = [add_program(artifact, request, runtime, progress) for runtime in chosen]
    log = export_log_path(artifact.pte)
    if verbose and log.is_file():
        say(log.read_text(encoding="utf-8").rstrip())
    converted = [found for found in map(load_converted, programs) if found]
    show_artifact(artifact, with_programs=request.debug, converted=converted)


def _export_matrix(like: "ExportRequest", models: list[str], dtypes: list[str], schemes: list[str]) -> None:
    """Every cell is tried and told as it ends; a failure is a row of the table, and makes the exit code 1."""
    from etprof.cli.export_tables import matrix_lines, matrix_table
    from etprof.export.foreign import output_to
    from etprof.export.matrix import build_matrix, candidate_models
    from etprof.export.registry import describe_status

    if like.quantization or like.checkpoint:
        raise UsageError(
            "--all takes neither --quantize nor --checkpoint.",
            hint="Say what to export with --models, --dtypes and --schemes.",
        )
    with output_to(Path(os.devnull)):
        candidates = [] if models else candidate_models(like.models_dir)
    left_out = [entry for entry in candidates if entry.problem]
    names = models or [entry.name for entry in candidates if not entry.problem]
    if not names:
        raise EtprofError("None of the models can be exported here.", hint="See why: etprof models list")
    requests = build_matrix(like, names, dtypes, [scheme for scheme in schemes if scheme != "none"])
    results = _export_cells(requests)
    show_table(matrix_table(requests, results))
    for line in matrix_lines(requests, results):
        show(line)
    for entry in left_out:
        show(f"{entry.name} left out: {describe_status(entry)}")
    failed = sum(isinstance(result, EtprofError) for result in results)
    also = f", {format_count(len(left_out), 'model')} left out" if left_out else ""
    show(f"{len(results) - failed} exported, {failed} failed{also}")
    if failed:
        raise typer.Exit(1)
    show("export ok")


def _export_cells(requests: "list[ExportRequest]") -> "list[Artifact | EtprofError]":
    from etprof.cli.export_tables import describe_cell
    from etprof.cli.progress import export_stages
    from etprof.export.exporter import export_model

    results: list[Artifact | EtprofError] = []
    for index, request in enumerate(requests):
        title = f"[{index + 1}/{len(requests)}] {request.stem}"
        try:
            with export_stages(title) as progress:
                results.append(export_model(request, progress))
        except EtprofError as error:
            results.append(error)
        say(f"{title}: {describe_cell(results[-1])}")
    return results


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _one_name(argument: str | None, option: str | None, export_all: bool) -> str:
    if export_all:
        if argument or option:
            raise UsageError("--all and the name of a model do not go together.", hint="Use: --all --models NAME,NAME")
        return ""
    if (argument is None) == (option is None):
        raise UsageError(
            "Name one model to export.", hint="For example: etprof export toy_cnn; see `etprof models list`."
        )
    return argument or option or ""


def _quantization(
    quantize: bool,
    scheme: str | None,
    granularity: str | None,
    bits: int | None,
    group: int | None,
    samples: str | None,
) -> "Quantization | None":
    from etprof.export.request import Quantization

    given: dict[str, Any] = {
        "scheme": scheme,
        "granularity": granularity,
        "weight_bits": bits,
        "group_size": group,
        "calibration": int(samples) if samples and samples.isdecimal() else (Path(samples) if samples else None),
    }
    given = {name: value for name, value in given.items() if value is not None}
    if given and not quantize:
        raise UsageError("Quantisation options were given without --quantize.", hint="Add --quantize.")
    return Quantization(**given) if quantize else None


def show_artifact(
    artifact: "Artifact", *, with_programs: bool = False, converted: "Sequence[ConvertedProgram]" = ()
) -> None:
    from etprof.cli.export_tables import artifact_facts, converted_line, debug_line, reason_lines
    from etprof.core.layout import graph_path
    from etprof.export.graph_file import load_graph

    show_facts(artifact_facts(artifact))
    left = load_graph(graph_path(artifact.pte)).undelegated if artifact.meta.graph else ()
    for line in reason_lines(artifact, left):
        show(line)
    for program in converted:
        show(converted_line(artifact, program))
    if with_programs:
        show(debug_line(artifact))
    if artifact.reused:
        show("Nothing has changed since this file was exported, so it was kept; --force exports it again.")
    show("export ok")
