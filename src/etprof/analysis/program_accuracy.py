"""How close a program comes to the eager model, and whether two programs stand for the same one."""

from collections.abc import Iterator, Sequence
from math import inf, isfinite

from etprof.analysis.output_differences import signal_to_noise_db
from etprof.core.findings import Finding, FindingKind
from etprof.core.loaded_run import LoadedVariant
from etprof.core.program_use import ProgramUse
from etprof.core.report import Comparison

# Eager models of the same weights differ by what rounding their inputs to fp16 changes. Other weights share no signal.
_SAME_MODEL_DB = 20.0


def describe_program(loaded: LoadedVariant) -> ProgramUse:
    record = loaded.record
    meta, snr_db = record.export_meta, _snr_db(loaded)
    names = [each.program.model.name for each in loaded.session.programs]
    model = record.program.model
    return ProgramUse(
        # Two exports may have files of the same name in two folders.
        model=model.name if names.count(model.name) == 1 else str(model),
        model_sha256=record.model_sha256,
        method=loaded.method or record.program.method,
        precision=meta.precision if meta else "",
        runtime=record.program.runtime,
        snr_db=snr_db if snr_db is not None and isfinite(snr_db) else None,
        exact=snr_db == inf,
        file_bytes=record.file_bytes,
    )


def _snr_db(loaded: LoadedVariant) -> float | None:
    """The worst of the outputs; None where outputs or reference are not known."""
    if loaded.outputs is None or loaded.reference is None:
        return None
    return signal_to_noise_db(loaded.reference, loaded.outputs)


def find_accuracy_findings(variants: Sequence[LoadedVariant], comparisons: Sequence[Comparison]) -> Iterator[Finding]:
    """What keeps two programs from being compared by their distance to the eager model."""
    of = {loaded.variant: loaded for loaded in variants}
    sides = [(of[c.baseline], of[c.candidate]) for c in comparisons if not c.same_program and c.baseline in of]
    unknown = dict.fromkeys(
        loaded.record.program.model.name for pair in sides for loaded in pair if _snr_db(loaded) is None
    )
    if unknown:
        yield Finding(
            FindingKind.OUTPUTS_UNKNOWN,
            f"How close these come to the eager model is not known: {', '.join(unknown)}.",
            "Export with `etprof export`, which stores the eager model's outputs, and use the inputs of the export.",
        )
    for before, after in sides:
        yield from _find_other_model(before, after)


def _find_other_model(before: LoadedVariant, after: LoadedVariant) -> Iterator[Finding]:
    if before.reference is None or after.reference is None:
        return
    agreement = signal_to_noise_db(before.reference, after.reference)
    if agreement is not None and agreement < _SAME_MODEL_DB:
        yield Finding(
            FindingKind.OUTPUTS_DIFFER,
            f"{before.variant.experiment} and {after.variant.experiment} stand for different eager models: for the "
            f"same inputs their outputs agree to {agreement:.1f} dB only.",
            "Their times can be compared; each accuracy is that of its own model.",
        )
