"""A device that answers with nonsense fails the block it answers for; the run goes on and nothing else is harmed."""

import gzip
import io
import lzma
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etprof.core.errors import DeviceError, TraceError
from etprof.core.run import Job
from etprof.devices import remote, shell
from etprof.devices.shell import UnexpectedAnswerError, run_script
from etprof.traces.runner_result import read_runner_result
from local_shell import LIES, LocalShell, LyingShell
from scripted_device import a_job, a_runnable_plan, run_scripted
from scripted_remote import scripted_remote


@pytest.mark.parametrize("lie", LIES)
def test_nonsense_fails_its_block_and_the_run_goes_on(tmp_path: Path, lie: str) -> None:
    find, instead = LIES[lie]
    (tmp_path / "device").mkdir()
    with scripted_remote(LyingShell(find=find, instead=instead), tmp_path / "device") as device:
        session = run_scripted(a_runnable_plan(tmp_path, blocks=3), device).session
    failed = [result for result in session.results if not result.is_ok]
    assert len(failed) == 1, [result.error for result in failed]
    assert len(session.results) == 6


def test_an_archive_is_never_decompressed(tmp_path: Path) -> None:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        entry = tarfile.TarInfo("./log")
        entry.size = 1 << 26
        tar.addfile(entry, io.BytesIO(bytes(1 << 26)))
    for bomb in (gzip.compress(plain.getvalue(), 1), lzma.compress(plain.getvalue(), preset=0)):
        with pytest.raises(UnexpectedAnswerError):
            remote._unpack(bomb)
    assert len(remote._unpack(plain.getvalue())["log"]) == 1 << 26


def test_a_file_that_only_claims_its_size_is_left_out(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        file.truncate(1 << 40)
    done = run_script(LocalShell(), f"cd {tmp_path} && tar --sparse -cf - log")
    assert done.exit_code == 0
    assert remote._unpack(done.output) == {}


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=2000))
def test_any_bytes_are_an_archive_or_an_error(content: bytes) -> None:
    _unpack_or_refuse(content)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_archive_is_an_archive_or_an_error(data: st.DataObject) -> None:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("./log"))
    content = bytearray(whole.getvalue())
    for at in data.draw(st.lists(st.integers(0, 600), min_size=1, max_size=8)):
        content[at] = data.draw(st.integers(0, 255))
    _unpack_or_refuse(bytes(content))


def _unpack_or_refuse(content: bytes) -> None:
    with suppress(DeviceError):
        assert isinstance(remote._unpack(content), dict)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300) | st.text(alphabet="governloadtempcing 0123456789.-e\n:", max_size=300).map(str.encode))
def test_any_bytes_are_a_state_or_an_error(content: bytes) -> None:
    with suppress(DeviceError):
        remote._parse_state(content)


def test_an_answer_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "MOST_ANSWER_BYTES", 1 << 20)
    with pytest.raises(UnexpectedAnswerError, match="more than 1048576 bytes"):
        # In the place of the shell: what is ended is the process that was started, as an ssh client is.
        run_script(LocalShell(), "exec cat /dev/zero", timeout_s=30)
    with pytest.raises(UnexpectedAnswerError, match="more than 1048576 bytes"):
        run_script(LocalShell(), "head -c 2000000 /dev/zero", timeout_s=30)


def test_what_a_runner_says_of_its_outputs_is_a_plain_name(tmp_path: Path) -> None:
    """A result file that names `../../x` as an output would have that file removed as a copy."""
    job: Job = a_job(tmp_path)
    job.result.write_text('{"outputs": [{"dtype": "a", "shape": [], "sha256": "", "file": "../../x"}]}')
    with pytest.raises(TraceError, match="not a runner's result"):
        read_runner_result(job.result)
