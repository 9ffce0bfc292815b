"""Whatever is typed, the answer is a result or one message with an exit code; never a traceback."""

import io
import random
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from command_lines import draw_line, list_commands, list_paths, make_world
from etprof.cli.main import main

LINES = 2_000
LINES_IN_A_WORLD = 200
SEED = 17
LONGEST_S = 30


@pytest.fixture
def world(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, and below it `readonly`, where nothing can be written, if this user may mount."""
    folder = tmp_path / "world"
    readonly = folder / "readonly"
    readonly.mkdir(parents=True)
    # A shell, but no compiler, no adb, no ssh, no emulator, and no runner from earlier.
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "cat", "uname", "getconf"):
        (programs / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(folder)
    with _read_only(readonly, measured / "runs" / "linux"):
        yield folder


@contextmanager
def _read_only(folder: Path, run: Path) -> Iterator[None]:
    mount = shutil.which("mount", path="/usr/bin:/bin:/usr/sbin:/sbin") or "mount"
    done = subprocess.run([mount, "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)], capture_output=True)
    shutil.copytree(run, folder / "run")
    if done.returncode == 0:
        subprocess.run([mount, "-o", "remount,ro", str(folder)], check=True)
    try:
        yield
    finally:
        if done.returncode == 0:
            subprocess.run([str(Path(mount).with_name("umount")), str(folder)], check=True)


def _renew(world: Path, run: Path) -> None:
    for path in world.iterdir():
        if path.name != "readonly":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    make_world(world, run)


@pytest.mark.usefixtures("libraries")
def test_no_plausible_command_line_meets_a_traceback(world: Path, measured: Path) -> None:
    commands = list_commands()
    draw = random.Random(SEED)
    codes: Counter[int] = Counter()
    for index in range(LINES):
        if index % LINES_IN_A_WORLD == 0:
            _renew(world, measured / "runs" / "linux")
            paths = list_paths(world)
        words, command = commands[index % len(commands)]
        line = draw_line(draw, words, command, paths)
        out, err = _stream(), _stream()
        with _limited(line), redirect_stdout(out), redirect_stderr(err):
            code = main(line)
        codes[code] += 1
        said = _text(err)
        assert code in (0, 1, 2, 3), line
        assert "Traceback" not in said, line
        if code:
            assert said or _text(out), line
            assert "Errno" not in said, (line, said)
    # Neither does everything stop at the parser, nor is everything right.
    assert min(codes[0], codes[1]) > LINES // 50, codes


def _stream() -> io.TextIOWrapper:
    """Like the streams of the process: a name that is not text is shown escaped."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


@contextmanager
def _limited(line: list[str]) -> Iterator[None]:
    def stop(_signal: int, _frame: object) -> None:
        pytest.fail(f"no end after {LONGEST_S} s: {line}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST_S)
    try:
        yield
    except Exception as error:
        error.add_note(f"etprof {line}")
        raise
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
