"""Recordings of perf and simpleperf, in the forms their own printers give them."""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from etprof.analysis.imported_kernels import build_imported_evidence
from etprof.core.errors import TraceError
from etprof.core.report import Executed
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
SIMPLEPERF = f"""
sample:
  event_type: cpu-cycles
  time: 1000
  event_count: 250000
  thread_id: 12
  thread_name: executor_runner
  vaddr_in_file: 5ab0
  file: /data/local/tmp/libxnn.so
  symbol: {MOPA}
  callchain:
    vaddr_in_file: 1
    file: /data/local/tmp/runner
    symbol: main

sample:
  event_type: cpu-cycles
  time: 2000
  event_count: 250000
  thread_id: 13
  vaddr_in_file: 5ac0
  file: /data/local/tmp/libxnn.so
  symbol: libxnn.so[+5ac0]
"""


def read(tmp_path: Path, text: str) -> Path:
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
    found = build_imported_evidence("perf.script", read_perf_script(read(tmp_path, text), "arm64"))
    assert {row.kernels[0].instruction_class: row.executed for row in found.operators} == {
        "SME": Executed.YES, "NEON": Executed.UNCLEAR, "unknown": Executed.UNCLEAR
    }  # fmt: skip


def test_a_real_recording_of_perf_is_read(tmp_path: Path) -> None:
    need(shutil.which("perf"), "there is no perf")
    data = tmp_path / "perf.data"
    busy = [sys.executable, "-c", "import zlib; [zlib.compress(bytes(10**6)) for _ in range(60)]"]
    record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1000", "-o", str(data), *busy]
    done = subprocess.run(record, capture_output=True, text=True, timeout=60)
    need(done.returncode == 0, f"perf may not record here: {done.stderr.strip()[-200:]}")
    command = ["perf", "script", "-i", str(data), "--show-mmap-events", "-F", "tid,time,ip,sym,dso"]
    text = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    found = read_perf_script(read(tmp_path, text), "x86_64" if platform.machine() == "x86_64" else "arm64")
    assert len(found) > 20
    assert any(place.code for place in found.locations)


def test_perf_lines_of_either_form_are_read(tmp_path: Path) -> None:
    found = read_perf_script(read(tmp_path, PERF), "arm64")
    assert found.time_ns.tolist()[:2] == [81234567890123, 81234568890000]
    assert found.threads == (4712, 4711, 4713)
    assert found.libraries == ("libxnn.so", "[kernel.kallsyms]")
    names = [found.locations[i].symbol for i in found.location.tolist()]
    assert names == [MOPA, MOPA, "xnn_f32_dwconv_minmax_ukernel_9p8c__neon", "__schedule", ""]


def test_simpleperf_samples_keep_their_innermost_frame(tmp_path: Path) -> None:
    found = read_perf_script(read(tmp_path, SIMPLEPERF), "arm64")
    assert [found.locations[i].symbol for i in found.location.tolist()] == [MOPA, ""]
    assert (found.threads, found.time_ns.tolist()) == ((12, 13), [1000, 2000])


def test_an_imported_recording_tells_by_names(tmp_path: Path) -> None:
    found = build_imported_evidence("perf.script", read_perf_script(read(tmp_path, PERF), "arm64"))
    rows = {row.name: row for row in found.operators}
    assert rows[MOPA].executed is Executed.YES
    assert (rows[MOPA].category, rows[MOPA].kernels[0].instruction_class) == ("GEMM", "SME")
    assert "SME2 executed: yes (50.0% of all samples" in found.verdict
    assert "1 samples have neither a telling name nor machine code" in found.verdict
    assert (found.samples, found.waiting) == (4, 1)


def test_something_else_is_refused_with_the_commands_that_help(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="holds no samples") as caught:
        read_perf_script(read(tmp_path, "hello\n"), "arm64")
    assert "perf script --show-mmap-events" in caught.value.hint
    assert "simpleperf report-sample" in caught.value.hint
