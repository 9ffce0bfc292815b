"""Run folders that somebody might send: links, names, counts and sizes that no run of ours leaves behind."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from etprof.core.layout import MANIFEST, METRICS

# What is put in the place of every value of a session, one after the other.
WRONG_VALUES: tuple[Any, ...] = (
    None, -1, 0, 10**30, 1e308, float("nan"), "", "../../evil", "/etc/evil", "a\0b", "x" * 5000, [], {}, [[]], True,
    {"a": {"b": []}}, [0, -1], ["../x"],
)  # fmt: skip

Change = Callable[[Path, Path], None]


def _link(name: str, *, to: str = "victim.txt") -> Change:
    def change(run: Path, outside: Path) -> None:
        path = run / name
        if path.is_dir() and not path.is_symlink():
            path.rename(path.with_name(f"{path.name}.moved"))
        path.unlink(missing_ok=True)
        path.symlink_to(to if to.startswith("/") else outside / to)

    return change


def _pipe(name: str) -> Change:
    def change(run: Path, _outside: Path) -> None:
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)

    return change


def _text(name: str, text: str) -> Change:
    def change(run: Path, _outside: Path) -> None:
        (run / name).write_text(text, encoding="utf-8")

    return change


def _large(name: str) -> Change:
    def change(run: Path, _outside: Path) -> None:
        with (run / name).open("r+b") as file:
            file.truncate(1 << 40)

    return change


def edit(file: str, *where: str | int, value: Any) -> Change:
    """Puts a value at a place of manifest.json or metrics.json."""

    def change(run: Path, _outside: Path) -> None:
        content = json.loads((run / file).read_text(encoding="utf-8"))
        at = content
        for key in where[:-1]:
            at = at[key]
        at[where[-1]] = value
        (run / file).write_text(json.dumps(content), encoding="utf-8")

    return change


def _rename_experiment(name: str) -> Change:
    """In all places that name it, so that only the name itself is wrong."""

    def change(run: Path, _outside: Path) -> None:
        for file in (MANIFEST, METRICS):
            text = (run / file).read_text(encoding="utf-8")
            (run / file).write_text(text.replace('"on"', json.dumps(name)), encoding="utf-8")

    return change


_RESULT = ("results", 0)
# Nothing may be done with these.
REFUSED: dict[str, Change] = {
    "experiment leads out": _rename_experiment("../../../evil"),
    "experiment is absolute": _rename_experiment("/tmp/evil"),
    "experiment has a NUL": _rename_experiment("a\0b"),
    "experiment is empty": _rename_experiment(""),
    "experiment is hidden": _rename_experiment(".ssh"),
    "experiment of 10 MB": _rename_experiment("x/" * 5_000_000),
    "trace leads out": edit(METRICS, *_RESULT, "etdump", value="../../../outside/victim.txt"),
    "log is absolute": edit(METRICS, *_RESULT, "log", value="/etc/passwd"),
    "samples lead out": edit(METRICS, *_RESULT, "samples", value="on/../../x"),
    "samples of another system": edit(METRICS, *_RESULT, "samples", value="C:\\x"),
    "output leads out": edit(
        METRICS, *_RESULT, "outputs", value=[{"dtype": "float32", "shape": [1], "sha256": "", "file": "../../../x"}]
    ),
    "report leads out": edit(MANIFEST, "reports", value=["../report.md"]),
    "report is absolute": edit(MANIFEST, "reports", value=["/etc/passwd"]),
    "a trillion threads": edit(MANIFEST, "plan", "experiments", 0, "threads", value=[10**12]),
    "a million thread counts": edit(MANIFEST, "plan", "experiments", 0, "threads", value=list(range(1, 1_000_000))),
    "a trillion blocks": edit(MANIFEST, "plan", "schedule", "blocks", value=10**12),
    "block number of a trillion": edit(METRICS, *_RESULT, "index", value=10**12),
    "time beyond all numbers": edit(METRICS, *_RESULT, "latency_ns", value=[10**400]),
    "time below zero": edit(METRICS, *_RESULT, "latency_ns", value=[-5]),
    "pair of nobody": edit(MANIFEST, "plan", "pairs", 0, "baseline", value="nobody"),
    "result of nobody": edit(METRICS, *_RESULT, "experiment", value="nobody"),
    "deep manifest": _text(MANIFEST, "[" * 1_000_000),
    "deep objects": _text(MANIFEST, '{"a":' * 100_000 + "1" + "}" * 100_000),
    "deep metrics": _text(METRICS, '{"schema_version": 3, "results": ' + "[" * 900 + "]" * 900 + "}"),
    "manifest without end": _link(MANIFEST, to="/dev/zero"),
    "metrics without end": _link(METRICS, to="/dev/zero"),
    "manifest of a terabyte": _large(MANIFEST),
    "manifest that waits": _pipe(MANIFEST),
    "metrics that wait": _pipe(METRICS),
    "manifest in a loop": _link(MANIFEST, to="/proc/self/fd/absent"),
}
# The reports refuse these; a command that does not need the file may do without it.
REFUSED_BY_REPORTS: dict[str, Change] = {
    "trace that waits": _pipe("on/on_t1.etdump"),
    "trace without end": _link("on/on_t1.etdump", to="/dev/zero"),
    "trace of a terabyte": _large("on/on_t1.etdump"),
    "experiment is a link out": _link("on", to="folder"),
    "charts are a link out": _link("charts", to="folder"),
}
# These are overwritten where they lie: a link is replaced, and what it led to is untouched.
REPLACED: dict[str, Change] = {
    "report is a link": _link("report.md"),
    "temporary file is a link": _link(".report.md.part"),
    "page is a link": _link("report.html"),
    "summary is a link": _link("model_pipeline_summary.md"),
    "table is a link": _link("on/on_t1_ops_stats.csv"),
    "statistics are a link": _link("on/on_t1_robust_stats.json"),
    "report is a pipe": _pipe("report.md"),
    "table is a pipe": _pipe("on/on_t1_ops_stats.csv"),
    "report is a device": _link("report.csv", to="/dev/full"),
    "note of 10 MB": edit(MANIFEST, "notes", value=["x" * 10_000_000]),
    "command of 10 MB": edit(MANIFEST, "command", value="|<script>" * 1_000_000),
}


def list_places(value: Any, where: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in decoded JSON; of a list the first entry stands for all."""
    if where:
        yield where
    inside: Any = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, each in inside:
        yield from list_places(each, (*where, key))


def make_outside(folder: Path) -> None:
    (folder / "folder").mkdir(parents=True)
    (folder / "victim.txt").write_text("mine")
    (folder / "folder" / "victim.txt").write_text("mine")


def snapshot(*folders: Path) -> dict[str, str]:
    """Every file below with its content, every link with its target."""
    return {str(path): _describe(path) for folder in folders for path in sorted(folder.rglob("*"))}


def _describe(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
