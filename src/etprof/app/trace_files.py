"""Which traces belong together: files of one variant are pooled, and files of several are told apart by their names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from etprof.core.errors import UsageError
from etprof.core.layout import ALL_RUNS_SUFFIX, RUN0_SUFFIX
from etprof.core.runtimes import TRACE_SUFFIXES
from etprof.store.paths import require_file

# What follows the variant in the name of a file: timelines of all its traces, or the number of a block.
_ENDINGS = re.compile(rf"({re.escape(ALL_RUNS_SUFFIX)}|{re.escape(RUN0_SUFFIX)}|(_b\d+)?\.[^.]+)$")
_VARIANT = re.compile(r"_t(\d+)$")


@dataclass(frozen=True)
class TraceFile:
    """A trace or timeline; `pool` is its variant's name in its folder, or the folder that was named as one pool."""

    path: Path
    pool: Path

    @property
    def kind(self) -> str:
        """What it holds of a variant: one trace, all of them, or the first inference."""
        return next((end for end in (ALL_RUNS_SUFFIX, RUN0_SUFFIX) if self.path.name.endswith(end)), self.path.suffix)

    @property
    def experiment(self) -> Path:
        """The pool at any thread count."""
        return self.pool.with_name(_VARIANT.sub("", self.pool.name))

    @property
    def threads(self) -> str:
        """Its thread count; empty where its name tells none."""
        found = _VARIANT.search(self.pool.name)
        return found[1] if found else ""


# Those of the candidate, and those of the baseline.
TracePair = tuple[list[TraceFile], list[TraceFile]]


def find_traces(paths: Sequence[Path]) -> list[TraceFile]:
    """`paths` are .etdump files, timelines of ours, or folders whose traces belong to one experiment."""
    if not paths:
        raise UsageError("No trace was named.", hint="Name a .etdump file of a run.")
    return [file for path in paths for file in (_list_folder(path) if path.is_dir() else [_find_file(path)])]


def require_one_pool(files: Sequence[TraceFile]) -> tuple[Path, ...]:
    """The paths, once it is certain that they are traces of one variant and hold nothing twice."""
    pools = list(dict.fromkeys(file.pool for file in files))
    if len(pools) > 1:
        names = [pool.name for pool in pools]
        labels = names if len(set(names)) == len(names) else [str(pool) for pool in pools]
        raise UsageError(
            f"These traces are not of one variant: {', '.join(labels[:-1])} and {labels[-1]}.",
            hint="Name the files of one variant at one thread count; --compare takes those of another.",
        )
    if len({file.kind for file in files}) > 1:
        raise UsageError(
            f"{files[0].path} and {files[-1].path} hold the same inferences.",
            hint="Name the .etdump files, or the one timeline.",
        )
    return tuple(file.path for file in files)


def pair_compared(traces: Sequence[Path], compared: Sequence[Path]) -> list[TracePair]:
    """Candidate and baseline; of several thread counts, a pair for each."""
    candidate, baseline = _split_compared(traces, compared)
    ours, theirs = _group_pools(candidate), _group_pools(baseline)
    if len(ours) == len(theirs) == 1:
        return [(candidate, baseline)]
    by_threads = [{files[0].threads: files for files in side} for side in (ours, theirs)]
    for side, groups in zip((ours, theirs), by_threads, strict=True):
        files_of_side = [file for files in side for file in files]
        if len(groups) < len(side) or len({file.experiment for file in files_of_side}) > 1:
            require_one_pool(files_of_side)
    alone = [files[0].pool.name for files in (*ours, *theirs) if not all(files[0].threads in g for g in by_threads)]
    if alone:
        raise UsageError(
            f"{' and '.join(alone)} cannot be paired: the other side has no traces of that thread count.",
            hint="Name the same thread counts before and behind --compare.",
        )
    return [(files, by_threads[1][threads]) for threads, files in by_threads[0].items()]


def _split_compared(traces: Sequence[Path], compared: Sequence[Path]) -> TracePair:
    """An option takes one file, so a shell's pattern behind --compare leaves the others of that variant, or of that
    experiment, among the traces: they belong to the baseline, unless nothing else is there."""
    given, baseline = find_traces(traces), find_traces(compared)
    for belongs in (attrgetter("pool"), attrgetter("experiment")):
        theirs = {belongs(file) for file in baseline}
        stray = [file for file in given if belongs(file) in theirs]
        if len(stray) < len(given):
            given, baseline = [file for file in given if file not in stray], [*baseline, *stray]
    return given, baseline


def _group_pools(files: Sequence[TraceFile]) -> list[list[TraceFile]]:
    pools: dict[Path, list[TraceFile]] = {}
    for file in files:
        pools.setdefault(file.pool, []).append(file)
    return list(pools.values())


def _find_file(path: Path) -> TraceFile:
    require_file(path, "trace", hint="Name a .etdump of a run, or the folder of an experiment.")
    return TraceFile(path, path.resolve().with_name(_ENDINGS.sub("", path.name)))


def _list_folder(folder: Path) -> list[TraceFile]:
    """All traces of an experiment's folder: its blocks, but never two thread counts together."""
    inside = sorted(path for path in folder.glob("*") if path.suffix in TRACE_SUFFIXES)
    if not inside:
        inner = sorted({path.parent for path in folder.glob("*/*.etdump")})
        such_as = f", such as {inner[0]}" if inner else ""
        raise UsageError(
            f"There is no .etdump in the folder {folder}.", hint=f"Name the folder of one experiment{such_as}."
        )
    files = [_find_file(path) for path in inside]
    threads = {found[1] for file in files if (found := _VARIANT.search(file.pool.name))}
    if len(threads) > 1:
        raise UsageError(
            f"{folder} holds traces of {' and '.join(sorted(threads))} threads, which do not belong together.",
            hint=f"Name the files of one of them: {folder}/*_t{min(threads)}*.etdump",
        )
    # Whoever names a folder of files with names of their own says that they are one pool.
    return [file if _VARIANT.search(file.pool.name) else TraceFile(file.path, folder.resolve()) for file in files]
