"""A run folder that somebody sent can make no command write elsewhere, wait, exhaust the machine, or break off."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from etprof.cli.main import main
from etprof.core.layout import MANIFEST, METRICS
from hostile_folders import (
    REFUSED,
    REFUSED_BY_REPORTS,
    REPLACED,
    WRONG_VALUES,
    Change,
    edit,
    list_places,
    make_outside,
    snapshot,
)

LONGEST_S = 30
MOST_BYTES = 3 << 30

REPORTS = (("report", "RUN"), ("kernels", "view", "RUN"), ("report", "RUN", "GOOD", "--out", "NEW/page.html"))
READERS = (
    ("validate", "RUN"),
    ("validate", "--deep", "RUN"),
    ("compare", "RUN", "GOOD"),
    ("compare", "GOOD", "RUN"),
    ("check", "RUN", "--against", "GOOD"),
    ("check", "GOOD", "--against", "RUN"),
    ("run", "--device", "recorded:RUN", "--output-root", "NEW/replay"),
    ("run", "PLAN", "--analysis-only"),
    ("run", "PLAN", "--resume", "--runner", "python"),
)


class World:
    """A hostile run, a good one, what must not change, and where new files may go."""

    def __init__(self, folder: Path, measured: Path) -> None:
        self.folder, self.measured = folder, measured
        self.run = folder / "received" / "runs" / "linux"
        self.good, self.new = folder / "good" / "runs" / "linux", folder / "new"
        shutil.copytree(measured, folder / "good")
        make_outside(folder / "outside")
        plan = {"model": str(folder / "good" / "model.pte"), "output_root": str(self.run)}
        (folder / "plan.json").write_text(json.dumps({**plan, "experiments": [{"name": "on"}]}))

    def receive(self, change: Change) -> None:
        shutil.rmtree(self.folder / "received", ignore_errors=True)
        shutil.rmtree(self.new, ignore_errors=True)
        shutil.copytree(self.measured, self.folder / "received")
        change(self.run, self.folder / "outside")

    def fill_in(self, line: tuple[str, ...]) -> list[str]:
        names = {"RUN": self.run, "GOOD": self.good, "NEW": self.new, "PLAN": self.folder / "plan.json"}
        for name, path in names.items():
            line = tuple(word.replace(name, str(path)) for word in line)
        return list(line)

    def snapshot(self) -> dict[str, str]:
        """Of everything but the received folder and the new files."""
        return snapshot(self.folder / "good", self.folder / "outside")


@pytest.fixture
def world(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(tmp_path)
    # Whatever is resumed, nothing is built or found in a cache.
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path / "cache"))
    return World(tmp_path, measured)


def run_line(line: list[str]) -> tuple[int, str]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2))
    with _limited(line), redirect_stdout(out), redirect_stderr(err):
        code = main(line)
    err.seek(0)
    return code, err.read()


@contextmanager
def _limited(line: list[str]) -> Iterator[None]:
    def stop(_signal: int, _frame: object) -> None:
        pytest.fail(f"no end after {LONGEST_S} s: {line}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_run_leaves_behind_is_refused_by_every_command(world: World, name: str) -> None:
    world.receive(REFUSED[name])
    before, received = world.snapshot(), sorted(path.name for path in world.run.rglob("*"))
    for line in (*READERS, *REPORTS):
        code, said = run_line(world.fill_in(line))
        assert code in (1, 2), (line, said)
        assert "Traceback" not in said
        assert len(said) < 2000, "the error does not repeat what was sent"
    assert world.snapshot() == before
    assert sorted(path.name for path in world.run.rglob("*")) == received, "nothing was written there either"


@pytest.mark.parametrize("name", REFUSED_BY_REPORTS)
def test_what_a_report_would_read_or_write_elsewhere_is_refused(world: World, name: str) -> None:
    world.receive(REFUSED_BY_REPORTS[name])
    before = world.snapshot()
    code, said = run_line(world.fill_in(("report", "RUN")))
    assert code == 1, said
    assert not (world.run / "report.html").exists(), "it is refused before anything is written"
    for line in READERS:
        assert run_line(world.fill_in(line))[0] in (0, 1, 2, 3), line
    assert world.snapshot() == before


@pytest.mark.parametrize("name", REPLACED)
def test_a_link_or_pipe_in_the_place_of_a_report_is_replaced(world: World, name: str) -> None:
    world.receive(REPLACED[name])
    before = world.snapshot()
    for line in (("report", "RUN"), ("report", "RUN", "--format", "tables,statistics,summary")):
        assert run_line(world.fill_in(line))[0] == 0
    assert world.snapshot() == before
    written = [path for path in world.run.rglob("*") if path.name != ".report.md.part"]
    assert all(path.is_dir() or (path.is_file() and not path.is_symlink()) for path in written)


def test_a_wrong_value_in_any_place_of_a_session_gives_an_answer_or_one_message(world: World) -> None:
    lines = (READERS[0], READERS[2], READERS[4], REPORTS[0], REPORTS[1])
    values_each = len(WRONG_VALUES) if os.environ.get("ETPROF_FUZZ") else 3
    world.receive(lambda _run, _outside: None)
    before, count = world.snapshot(), 0
    contents = {file: (world.run / file).read_bytes() for file in (MANIFEST, METRICS)}
    for file, content in contents.items():
        for number, where in enumerate(list_places(json.loads(content))):
            for index in range(values_each):
                value = WRONG_VALUES[(number + index) % len(WRONG_VALUES)]
                edit(file, *where, value=value)(world.run, world.folder)
                line = world.fill_in(lines[count % len(lines)])
                code, said = run_line(line)
                assert code in (0, 1, 2, 3), (file, where, value, said)
                (world.run / file).write_bytes(content)
                count += 1
    assert world.snapshot() == before
    assert count > 400


# In a process of its own, whose memory has an end.
_CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({most}, {most}))
from etprof.cli.main import main
codes = [main(line) for line in {lines!r}]
print("codes", codes)
"""


@pytest.mark.parametrize(
    "name", ["experiment of 10 MB", "a million thread counts", "metrics without end", "manifest of a terabyte",
             "trace without end", "trace of a terabyte", "deep objects"],
)  # fmt: skip
def test_memory_has_a_bound(world: World, name: str) -> None:
    world.receive({**REFUSED, **REFUSED_BY_REPORTS}[name])
    lines = [world.fill_in(line) for line in (("report", "RUN"), ("validate", "--deep", "RUN"))]
    done = subprocess.run(
        [sys.executable, "-c", _CHILD.format(most=MOST_BYTES, lines=lines)], capture_output=True, text=True, timeout=120
    )
    assert "codes [1, 1]" in done.stdout, done.stderr[-2000:]
