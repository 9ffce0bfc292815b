"""Exit codes and messages when standard output is a pipe that closes, a full disk, or closed."""

import subprocess
import sys
from pathlib import Path

import pytest

from etprof.core.run import Session
from etprof.store.session_file import load_session, save_session
from parts import need
from scripted_device import a_steady_run
from trace_builder import RECORDED

TRACE = f"trace operators {RECORDED['mobilenet_v3']} --verbose --wide"


def run_shell(line: str, **names: Path) -> subprocess.CompletedProcess[str]:
    """Runs a line of bash in which `etprof` is the command of this environment."""
    etprof = f'etprof() {{ {sys.executable} -m etprof "$@"; }}\n'
    variables = "".join(f"{name}={path}\n" for name, path in names.items())
    return subprocess.run(["bash", "-c", etprof + variables + line], capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("checked")
    made = {"good": a_steady_run(folder / "good"), "slower": a_steady_run(folder / "slower", 1.2)}
    return {**made, "same": made["good"].parent, "short": a_steady_run(folder / "short", blocks=2)}


# `head -c 0` and `true` close the pipe before anything is written, `head -n 1` after the first line.
@pytest.mark.parametrize("reader", ["head -n 1", "head -c 0", "true", "cat"])
@pytest.mark.parametrize(("name", "code"), [("slower", 1), ("short", 3)])
def test_a_verdict_is_the_exit_code_whoever_reads_the_output(
    runs: dict[str, Path], name: str, code: int, reader: str
) -> None:
    line = f'etprof check "$run" --against "$good" | {reader}; echo "code ${{PIPESTATUS[0]}}"'
    done = run_shell(line, run=runs[name], good=runs["good"])
    assert done.stdout.endswith(f"code {code}\n")
    assert done.stderr == ""


@pytest.mark.parametrize("line", [TRACE, "--help", "trace --help", "--version"])
def test_a_closed_pipe_is_no_error(line: str) -> None:
    done = run_shell(f'etprof {line} | true; echo "code ${{PIPESTATUS[0]}}"')
    assert done.stdout == "code 0\n"
    assert done.stderr == ""


def test_a_message_that_nobody_reads_keeps_its_exit_code() -> None:
    done = run_shell('etprof report absent 2>&1 >/dev/null | true; echo "code ${PIPESTATUS[0]}"')
    assert done.stdout == "code 2\n"


def test_a_summary_is_written_though_the_pipe_is_closed(runs: dict[str, Path], tmp_path: Path) -> None:
    line = 'etprof check "$run" --against "$good" --summary "$file" | true'
    run_shell(line, run=runs["slower"], good=runs["good"], file=tmp_path / "summary.md")
    assert "**fail**" in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_a_full_disk_is_an_error_in_one_sentence() -> None:
    need(Path("/dev/full").exists(), "there is no /dev/full")
    done = run_shell(f"etprof {TRACE} >/dev/full")
    assert (done.returncode, done.stderr) == (
        1,
        "error: Standard output cannot be written: No space left on device.\n",
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_error(closed: str) -> None:
    done = run_shell(f"etprof {TRACE} {closed}")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_name_that_is_not_text_is_printed_and_stored(run_dir: Path) -> None:
    """Bytes that are not UTF-8 may stand in a name: they are shown escaped, and read back as they were."""
    session: Session = load_session(run_dir)
    odd = run_dir.parent / "mod\udce8le"
    run_dir.rename(odd)
    save_session(odd, session)
    assert load_session(odd).programs[0].model_sha256 == session.programs[0].model_sha256
    done = subprocess.run(
        [sys.executable, "-m", "etprof", "report", odd, "--quiet", "--format", "md"], capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert b"mod\\udce8le" in done.stdout
