"""Recordings of perf and simpleperf, in the forms their own printers give them."""

import platform
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etprof.analysis.kernels.imported_functions import build_imported_evidence
from etprof.core.errors import TraceError
from etprof.core.kernel_evidence import Executed
from etprof.traces.mapped_code import MappedCode
from etprof.traces.perf_script import read_perf_script
from parts import need
from sample_builder import NEON, SME

MOPA = "kai_kernel_matmul_clamp_f32_f32p2vlx1_f32p2vlx1biasf32_sme2_mopa"
PERF = f"""
executor_runner  4711/4712  [001] 81234.567890123:     250000 cycles:      7f21c0de10 {MOPA}+0x48 (/opt/lib/libxnn.so)
 4711 81234.568890: 7f21c0de20 {MOPA} (/opt/lib/libxnn.so)
executor runner 4713 81234.569890: 7f21c0ee00 xnn_f32_dwconv_minmax_ukernel_9p8c__neon (/opt/lib/libxnn.so)
 4713 81234.570890: ffff800010 __schedule ([kernel.kallsyms])
 4713 81234.571890: 7f21c0ff00 [unknown] (/opt/lib/libxnn.so)
"""
# As `simpleperf report-sample --show-callchain` prints it: one record after the other, hexadecimal without 0x.
SIMPLEPERF = f"""context_switch:
  switch_on: true
  time: 123216683330000
  thread_id: 28287
sample:
  event_type: cpu-cycles
  time: 123216683338189
  event_count: 250000
  thread_id: 28287
  thread_name: executor_runner
  vaddr_in_file: 5ab0c4
  file: /data/local/tmp/etprof-1/libxnn.so
  symbol: {MOPA}
  execution_type: native_method
  callchain:
    vaddr_in_file: 1644a0
    file: /data/local/tmp/etprof-1/libxnn.so
    symbol: xnn_compute_gemm(void*, unsigned long)
    execution_type: native_method
    vaddr_in_file: c6cae
    file: /data/local/tmp/etprof-1/runner
    symbol: main
    execution_type: native_method
sample:
  event_type: cpu-cycles
  time: 123216684338189
  event_count: 250000
  thread_id: 28290
  thread_name: executor_runner
  vaddr_in_file: 5ac0
  file: /data/local/tmp/etprof-1/libxnn.so
  symbol: *libxnn.so[+5ac0]
sample:
  event_type: cpu-cycles
  time: 123216685338189
  event_count: 250000
  thread_id: 28290
  thread_name: executor_runner
  vaddr_in_file: ffffffe5a1e3c094
  file: [kernel.kallsyms]
  symbol: [kernel.kallsyms][+ffffffe5a1e3c094]
context_switch:
  switch_on: false
  time: 123216686000000
  thread_id: 28290
lost_situation:
  sample_count: 3
  lost_count: 2
"""
# As the NDK's report_sample.py and `perf script` of a recording with call chains print it.
CHAINS = f"""# ========
# arch : arm64
# ========
#
executor_runner\t28287/28290 [006] 123216.683338: 250000 cpu-cycles:
\t      7a3c5ab0c4 {MOPA} (/data/local/tmp/libxnn.so)
\t      7a3c1644a0 xnn_compute_gemm(void*, unsigned long) (/data/local/tmp/libxnn.so)

executor runner  28287 123216.684338:     250000 cpu-cycles:\x20
\t      7a3c5ac0c8 xnn_f32_dwconv_minmax_ukernel_9p8c__neon+0x48 (/data/local/tmp/libxnn.so)

"""


def a_recording(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "perf.script"
    path.write_text(text, encoding="utf-8")
    return path


def test_code_is_read_from_the_files_that_perf_names(tmp_path: Path) -> None:
    library = tmp_path / "lib with space.so"
    library.write_bytes(bytes(0x100) + SME + NEON)
    text = (
        f" 1 1.0: PERF_RECORD_MMAP2 1/1: [0x7000(0x1000) @ 0x80 fe:00 1 2]: r-xp {library}\n"
        " 1 1.0: PERF_RECORD_MMAP2 1/1: [0x9000(0x1000) @ 0 fe:00 1 2]: r-xp /not/here.so\n"
        f" 1 2.5: 7080 [unknown] ({library})\n 1 3.5: 7084 [unknown] ({library})\n"
        " 1 4.5: 9000 [unknown] (/not/here.so)\n"
    )
    samples = read_perf_script(a_recording(tmp_path, text), "arm64", reads_files=True)
    found = build_imported_evidence("perf.script", samples)
    assert {row.kernels[0].instruction_class: row.executed for row in found.operators} == {
        "SME": Executed.YES, "NEON": Executed.UNCLEAR, "unknown": Executed.UNCLEAR
    }  # fmt: skip


def test_no_file_that_a_recording_names_is_opened_unless_asked_for(tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(SME * 64)
    text = (
        f" 1 1.0: PERF_RECORD_MMAP2 1/1: [0x7000(0x1000) @ 0 fe:00 1 2]: r-xp {library}\n"
        f" 1 2.5: 7080 [unknown] ({library})\n"
    )
    recording = a_recording(tmp_path, text)
    assert [place.code for place in read_perf_script(recording, "arm64").locations] == [b""]
    assert [place.code for place in read_perf_script(recording, "arm64", reads_files=True).locations] == [SME * 4]


@pytest.mark.parametrize(
    "line",
    [
        "1 " * 30_000,
        "a " * 10_000 + "1 1.0: " + "b: " * 10_000,
        "1 1.0: " + "a (" * 20_000,
        "1 1.0: 7f (" * 5_000,
        "x 1 [1] 1.0: 1 c: 7f s+0x" + "+0x1" * 15_000 + " (l)",
        " PERF_RECORD_MMAP2 " * 3_000,
        "PERF_RECORD_MMAP " + "1" * 60_000,
    ],
    ids=["threads", "events", "libraries", "frames", "offsets", "mappings", "digits"],
)
def test_no_line_takes_more_than_linear_time(tmp_path: Path, line: str) -> None:
    """Worse than linear, these take from seconds to hours; the limit is far from what a busy machine needs."""
    recording = a_recording(tmp_path, f"{PERF}\n{line}\n" * 10)
    start = time.process_time()
    assert len(read_perf_script(recording, "arm64")) >= 50
    assert time.process_time() - start < 2


def test_a_later_mapping_takes_the_place_of_what_it_covers(tmp_path: Path) -> None:
    first, second = tmp_path / "first.so", tmp_path / "second.so"
    first.write_bytes(bytes(range(256)) * 16)
    second.write_bytes(b"\xff" * 4096)
    mapped = MappedCode(reads_files=True)
    mapped.add(0x1000, 0x1000, 0, str(first))
    mapped.add(0x1400, 0x100, 0, str(second))
    assert mapped.code_at(0x13F0) == bytes(range(0xF0, 0x100))
    assert mapped.code_at(0x1400) == b"\xff" * 16
    assert mapped.code_at(0x1510) == bytes(range(0x10, 0x20))
    assert (mapped.code_at(0xFFF), mapped.code_at(0x2000)) == (b"", b"")
    mapped.add(0, 0x10000, 0, str(tmp_path / "gone.so"))
    assert mapped.code_at(0x1400) == b""


@given(st.binary(max_size=300).map(lambda junk: junk.decode("utf-8", "replace")))
def test_any_text_gives_samples_or_an_error_in_words(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for content in (text, f"sample:\n{text}", f" 1 1.0: {text}", SIMPLEPERF.replace("28290", text)):
            with suppress(TraceError):
                read_perf_script(a_recording(Path(folder), content), "arm64")


@pytest.mark.parametrize("chains", [False, True], ids=["flat", "call chains"])
def test_a_real_recording_of_perf_is_read(tmp_path: Path, chains: bool) -> None:
    need(shutil.which("perf"), "there is no perf")
    data = tmp_path / "perf.data"
    busy = [sys.executable, "-c", "import zlib; [zlib.compress(bytes(10**6)) for _ in range(60)]"]
    how = ["-g"] if chains else []
    record = ["perf", "record", "-q", *how, "-e", "cpu-clock", "-F", "1000", "-o", str(data), *busy]
    done = subprocess.run(record, capture_output=True, text=True, timeout=60)
    need(done.returncode == 0, f"perf may not record here: {done.stderr.strip()[-200:]}")
    fields = [] if chains else ["-F", "tid,time,ip,sym,dso"]
    command = ["perf", "script", "-i", str(data), "--show-mmap-events", *fields]
    text = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    architecture = "x86_64" if platform.machine() == "x86_64" else "arm64"
    found = read_perf_script(a_recording(tmp_path, text), architecture, reads_files=True)
    assert len(found) > 20
    assert any("libz" in name for name in found.libraries)
    # With call chains perf prints places within a file, for which its mappings say nothing.
    assert chains or any(place.code for place in found.locations)


def test_perf_lines_of_either_form_are_read(tmp_path: Path) -> None:
    found = read_perf_script(a_recording(tmp_path, PERF), "arm64")
    assert found.time_ns.tolist()[:2] == [81234567890123, 81234568890000]
    assert found.threads == (4712, 4711, 4713)
    assert found.libraries == ("libxnn.so", "[kernel.kallsyms]")
    names = [found.locations[i].symbol for i in found.location.tolist()]
    assert names == [MOPA, MOPA, "xnn_f32_dwconv_minmax_ukernel_9p8c__neon", "__schedule", ""]


def test_simpleperf_samples_keep_their_innermost_frame(tmp_path: Path) -> None:
    found = read_perf_script(a_recording(tmp_path, SIMPLEPERF), "arm64")
    places = [found.locations[i] for i in found.location.tolist()]
    assert [place.symbol for place in places] == [MOPA, "", ""]
    assert [place.in_system for place in places] == [False, False, True]
    assert (places[0].offset, found.libraries) == (0x5AB0C4, ("libxnn.so", "[kernel.kallsyms]"))
    assert found.threads == (28287, 28290)
    assert found.time_ns.tolist() == [123216683338189, 123216684338189, 123216685338189]
    assert found.dropped == 2


def test_frames_below_their_sample_count_once(tmp_path: Path) -> None:
    found = read_perf_script(a_recording(tmp_path, CHAINS), "arm64")
    names = [found.locations[i].symbol for i in found.location.tolist()]
    assert names == [MOPA, "xnn_f32_dwconv_minmax_ukernel_9p8c__neon"]
    assert found.threads == (28290, 28287)
    assert found.time_ns.tolist() == [123216683338000, 123216684338000]


def test_an_imported_recording_tells_by_names(tmp_path: Path) -> None:
    found = build_imported_evidence("perf.script", read_perf_script(a_recording(tmp_path, PERF), "arm64"))
    rows = {row.name: row for row in found.operators}
    assert rows[MOPA].executed is Executed.YES
    assert (rows[MOPA].category, rows[MOPA].kernels[0].instruction_class) == ("GEMM", "SME")
    assert "SME2 executed: yes (50.0 % of all samples" in found.verdict
    assert "samples with neither machine code nor a known kernel name: 1" in found.verdict
    assert (found.samples, found.waiting) == (4, 1)


def test_something_else_is_refused_with_the_commands_that_help(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="holds no samples") as caught:
        read_perf_script(a_recording(tmp_path, "hello\n"), "arm64")
    assert "perf script --show-mmap-events" in caught.value.hint
    assert "simpleperf report-sample" in caught.value.hint
