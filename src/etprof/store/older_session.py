"""Run folders of the kit before ours, or with no manifest at all: what their trace files alone can tell."""

import re
from pathlib import Path
from typing import Any

from etprof.core.plan import TRACE, Experiment, Plan, Program, Schedule
from etprof.core.run import BlockResult, DeviceInfo, ProgramRecord, Session

_TRACE_NAME = re.compile(r"^(?P<stem>.*?)(?:_t(?P<threads>\d+))?$")


def is_older_manifest(manifest: Any) -> bool:
    return isinstance(manifest, dict) and "schema_version" not in manifest and {"model", "results"} <= manifest.keys()


def load_older_session(folder: Path, manifest: dict[str, Any]) -> Session:
    """One variant for each folder and thread count that holds a trace; nobody says who is to be compared with whom."""
    results: list[BlockResult] = []
    for path in sorted(folder.glob("*/*.etdump")):
        match = _TRACE_NAME.match(path.stem)
        threads = int(match["threads"]) if match and match["threads"] else 1
        log = path.with_suffix(".log")
        results.append(
            BlockResult(
                experiment=path.parent.name,
                threads=threads,
                index=sum(r.experiment == path.parent.name and r.threads == threads for r in results),
                runner="unknown",
                etdump=str(path.relative_to(folder)),
                log=str(log.relative_to(folder)) if log.is_file() else "",
            )
        )
    threads_of: dict[str, set[int]] = {}
    for result in results:
        threads_of.setdefault(result.experiment, set()).add(result.threads)
    experiments = tuple(Experiment(n, mode=TRACE, threads=tuple(sorted(t))) for n, t in threads_of.items())
    model = Path(str(manifest.get("model", "unknown")))
    return Session(
        plan=Plan(
            model=model,
            output_root=folder,
            experiments=experiments,
            pairs=(),
            schedule=Schedule(),
        ),
        device=DeviceInfo("unknown", "unknown", "unknown", "unknown", 0, ()),
        programs=(ProgramRecord(Program(model), tuple(threads_of), model_sha256=""),),
        versions={},
        command="",
        started_at="",
        stop_reason="unknown; the older format does not record it",
        notes=("This folder has the older format: only its traces are known, and no latency without a tracer.",),
        results=tuple(results),
        is_older=True,
    )
