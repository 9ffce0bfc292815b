"""Whether a run's folder holds what its manifest says: every file there, readable, and the bytes that were measured."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from etprof.core.digest import file_sha256
from etprof.core.errors import EtprofError, StoreError
from etprof.core.layout import BLOCK_SUFFIXES, block_files
from etprof.core.run import OUR_RUNNERS, BlockResult, Session
from etprof.store.earlier_runs import StoredSession, list_earlier, list_joined
from etprof.store.json_file import read_json
from etprof.store.session_file import load_session


def find_problems(
    folder: Path, open_trace: Callable[[Path], object] | None = None, *, with_failures: bool = True
) -> list[str]:
    """One sentence for each problem; none for a good run. `open_trace` also opens every trace.

    Of a folder that holds several runs, those of earlier ones say which. Without failures only what is wrong with the
    files counts.
    """
    try:
        stored = [*list_joined(folder), StoredSession(folder, load_session(folder))]
        earlier = list_earlier(folder)
    except StoreError as error:
        return [error.message]
    problems = [
        problem
        for each in stored
        for problem in _problems_of(each.folder, each.session, open_trace, with_failures=with_failures)
    ]
    problems += _strays(folder, [each.session for each in stored])
    for run in earlier:
        place = run.folder.relative_to(folder)
        problems += [
            f"{place}: {problem}" for problem in find_problems(run.folder, open_trace, with_failures=with_failures)
        ]
    return problems


def _problems_of(
    folder: Path, session: Session, open_trace: Callable[[Path], object] | None, *, with_failures: bool
) -> Iterator[str]:
    yield from _session_problems(folder, session)
    for result in (each for each in session.results if with_failures or each.is_ok):
        yield from _block_problems(folder, result, open_trace)
    yield from _output_problems(folder, session)


def _session_problems(folder: Path, session: Session) -> Iterator[str]:
    if not session.results:
        yield "No block was run."
    if not session.stop_reason:
        yield f"The run was interrupted after {len(session.results)} blocks; `etprof run --resume` finishes it."
    for each in () if session.is_older else session.programs:
        model = each.program.model
        if model.is_file() and file_sha256(model) != each.model_sha256:
            yield f"{model} is not the file that was measured: its digest differs."
    for name in session.reports:
        path = folder / name
        if not path.is_file():
            yield f"{name} is missing; `etprof report {folder}` writes it."
        elif path.suffix == ".json" and path.is_file():
            yield from _json_problem(path)


def _block_problems(folder: Path, result: BlockResult, open_trace: Callable[[Path], object] | None) -> Iterator[str]:
    where = f"{result.variant.stem}, block {result.index + 1}"
    if not result.is_ok:
        yield f"{where} failed: {result.error.splitlines()[0]}"
        return
    is_ours = result.runner in OUR_RUNNERS
    if is_ours or result.log:
        yield from _missing(folder, result.log, where)
    if is_ours or result.etdump:
        problems = list(_trace_problems(folder, result.etdump, open_trace))
        yield from (f"{where}: {problem}" for problem in problems)
    if result.steps:
        yield from _missing(folder, result.steps, where)
    if is_ours:
        yield from _json_problem(folder / block_files(result.variant, result.index).result)


def _output_problems(folder: Path, session: Session) -> Iterator[str]:
    """Each file once, however many blocks gave the same bytes."""
    given = [(o.file, o.sha256, r.name) for r in session.results if r.is_ok for o in r.outputs if o.file]
    given += [(o.file, o.sha256, f"reference of {p.experiments[0]}") for p in session.programs for o in p.reference]
    for (file, digest), where in {(file, digest): name for file, digest, name in reversed(given) if file}.items():
        yield from _missing(folder, file, where)
        if (folder / file).is_file() and file_sha256(folder / file) != digest:
            yield f"{where}: {file} is not what was written there: its digest differs."


def _missing(folder: Path, name: str, where: str) -> Iterator[str]:
    if not (folder / name).is_file():
        yield f"{where}: {name} is missing."


def _trace_problems(folder: Path, name: str, open_trace: Callable[[Path], object] | None) -> Iterator[str]:
    path = folder / name
    if not name or not path.is_file():
        yield f"{name or 'its trace'} is missing."
    elif path.stat().st_size == 0:
        yield f"{name} is empty."
    elif open_trace is not None:
        try:
            open_trace(path)
        except EtprofError as error:
            yield error.message


def _json_problem(path: Path) -> Iterator[str]:
    try:
        read_json(path)
    except StoreError as error:
        yield error.message


def _strays(folder: Path, sessions: Sequence[Session]) -> Iterator[str]:
    """Files that look like a block's but belong to none: left by something else, they could be taken for results."""
    if any(session.is_older for session in sessions):
        return
    known = set()
    for result in (result for session in sessions for result in session.results):
        files = block_files(result.variant, result.index)
        known |= {files.result, files.etdump, files.log, files.samples, files.steps, Path(result.etdump)}
    for path in sorted(folder.glob("*/*")):
        name = path.relative_to(folder)
        if path.is_file() and name.name.endswith(BLOCK_SUFFIXES) and name not in known:
            yield f"{name} belongs to no block of this run."
