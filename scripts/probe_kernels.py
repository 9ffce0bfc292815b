"""Probes which kernels XNNPACK takes for every kind of layer, and stores the table that predictions are made from.

Run: python scripts/probe_kernels.py [MODEL ...] [--check]

Tiny layers are exported and executed on emulated CPUs with SME2, with i8mm and with dot product, while their program
counters are sampled. With names only these models are probed and compared with the stored table; nothing is stored.
"""

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from etprof.analysis.executed_kernels import ExecutedNode
from etprof.analysis.kernels.cases import find_case, is_compute
from etprof.app.kernel_probe import KernelProbe, open_probe
from etprof.core.errors import EtprofError, UnknownNameError
from etprof.core.predictions import CpuLevel, KernelCase, KernelRow, KernelTable
from etprof.export.exporter import export_model
from etprof.export.registry import register_model
from etprof.export.request import ExportRequest
from etprof.store import kernel_table_file
from etprof.store.kernel_table_file import kernel_table_name, load_kernel_table, save_kernel_table

TABLES = Path(kernel_table_file.__file__).parent / "kernel_tables"
# The probed layers have random weights; how exact they are is nobody's business.
_ANY_SNR_DB = -1000.0
_EMULATED_AT_A_TIME = 2

Observed = dict[KernelCase, dict[CpuLevel, list[ExecutedNode]]]


def probe_models(names: Sequence[str], probe: KernelProbe, folder: Path) -> Observed:
    """Every node that was seen, by its case and level. Models are emulated while the next ones are exported."""
    from probe_layers import MODELS, build_class

    observed: Observed = defaultdict(lambda: defaultdict(list))
    with ThreadPoolExecutor(_EMULATED_AT_A_TIME) as emulated:
        runs = []
        for model in (each for each in MODELS if not names or each.name in names):
            register_model(model.name, build_class(model.layers))
            own = folder / model.name
            artifact = export_model(ExportRequest(model.name, outdir=own, min_snr_db=_ANY_SNR_DB, **model.options))
            say(f"{model.name}: {artifact.meta.delegation.operators_left} operators outside of the delegate")
            runs += [(level, emulated.submit(probe.execute, level, artifact, own)) for level in CpuLevel]
        for level, run in runs:
            for node in run.result():
                observed[find_case(node.node)][level].append(node)
    return observed


def build_rows(observed: Observed) -> tuple[tuple[KernelRow, ...], list[str]]:
    """The rows, and what is wrong with the probe: layers of one case that differ, cases that no sample decided.

    An operator that multiplies no matrices has no row then, and nothing is wrong: its kernel is of no interest.
    """
    rows, problems = [], []
    for case, levels in sorted(observed.items()):
        seen = {level: sorted({node.family for node in levels[level] if node.family}) for level in CpuLevel}
        if all(len(found) == 1 for found in seen.values()):
            functions = {level: _functions(levels[level]) for level in CpuLevel}
            rows.append(KernelRow(case, {level: found[0] for level, found in seen.items()}, functions))
        elif multiplies(levels):
            open_ones = {level: found for level, found in seen.items() if len(found) != 1}
            problems += [f"{case} on {level}: {' and '.join(found) or 'open'}" for level, found in open_ones.items()]
    return tuple(rows), problems


def multiplies(levels: Mapping[CpuLevel, Sequence[ExecutedNode]]) -> bool:
    """Whether the nodes of a case convolve or multiply matrices; of others some have enough samples by chance."""
    return any(is_compute(node.node) for nodes in levels.values() for node in nodes)


def _functions(nodes: Iterable[ExecutedNode]) -> tuple[str, ...]:
    return tuple(sorted({name for node in nodes for name in node.functions}))


def compare(rows: Iterable[KernelRow], table: KernelTable | None) -> list[str]:
    """Where a stored table says something else than was probed now."""
    stored = {row.case: dict(row.families) for row in table.rows} if table else {}
    return [
        f"{row.case}: probed {dict(row.families)}, stored {stored.get(row.case, 'nothing')}"
        for row in rows
        if stored.get(row.case) != row.families
    ]


def _refuse_unknown(names: Iterable[str]) -> None:
    from probe_layers import MODELS

    known = [model.name for model in MODELS]
    for name in names:
        if name not in known:
            raise UnknownNameError("probed model", name, known, hint=f"Known: {', '.join(known)}.")


def _read_commit() -> str:
    from executorch.version import git_version

    return str(git_version or "")


def main(arguments: Sequence[str]) -> int:
    names = [each for each in arguments if not each.startswith("-")]
    _refuse_unknown(names)
    probe = open_probe()
    with tempfile.TemporaryDirectory() as scratch:
        observed = probe_models(names, probe, Path(scratch))
    rows, problems = build_rows(observed)
    if names or "--check" in arguments:
        compared = [row for row in rows if multiplies(observed[row.case])]
        problems += compare(compared, load_kernel_table(probe.executorch))
    elif not problems:
        path = TABLES / kernel_table_name(probe.executorch)
        save_kernel_table(path, KernelTable(probe.executorch, _read_commit(), probe.library_sha256, rows))
        say(f"{len(rows)} rows stored in {path.name}")
    for problem in problems:
        say(problem)
    say(f"{len(rows)} rows probed, {len(problems)} problems")
    return 1 if problems else 0


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except EtprofError as error:
        sys.stderr.write(f"{error.message} {error.hint}\n")
        sys.exit(error.exit_code)
