"""Whatever bytes a file holds, its reader gives a value or one of our errors."""

import atexit
import gzip
import shutil
import struct
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import an_export_meta
from device_builder import a_packed_bundle
from etdump_builder import Event, build_etdump
from etprof.app.trace_tables import write_timelines
from etprof.core.layout import MANIFEST, METRICS, export_meta_path
from etprof.export.graph_file import load_graph
from etprof.export.meta import load_meta, save_meta
from etprof.runner.bundle_archive import open_archive
from etprof.runner.planned_workload import PlannedInput, PlannedPhase, PlannedWorkload, parse_workload, render_workload
from etprof.skills.document import read_skill
from etprof.store.json_file import write_json
from etprof.store.kernel_files import load_kernels, write_rows
from etprof.store.plan_file import load_plan
from etprof.store.rules_file import load_rules
from etprof.store.session_file import load_session
from etprof.store.timeline_files import load_timeline
from etprof.store.workload_file import load_workload
from etprof.traces.etdump import read_etdump
from etprof.traces.kernel_samples import read_kernel_samples
from etprof.traces.llm_log import read_llm_log
from etprof.traces.memory_plan import read_planned_program
from etprof.traces.perf_script import read_perf_script
from etprof.traces.program import read_program
from etprof.traces.program_graph import read_graphs
from etprof.traces.runner_result import read_runner_result
from etprof.traces.steps_file import read_steps
from etprof.traces.stock_log import read_stock_log
from etprof.traces.trace_file import read_trace
from etprof.traces.xnn_log import read_xnn_log
from fuzzed import EXAMPLES, Format, damage
from onnxruntime_builder import Node, write_profile
from payload_builder import DELEGATED
from program_builder import PLANNED, Method, Number, build_program
from sample_builder import NEON, SME, place, samples, write_samples
from scripted_device import a_runnable_plan, run_scripted
from trace_builder import RECORDED, an_inference, read_inferences

ROOT = Path(__file__).parents[1]


@cache
def _folder() -> Path:
    folder = Path(mkdtemp(prefix="any-bytes-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _run() -> Path:
    """The folder of a run whose files are damaged one at a time."""
    folder = _folder() / "run"
    folder.mkdir()
    plan = a_runnable_plan(folder, blocks=1)
    run_scripted(plan)
    return plan.output_root


def _of_session(name: str) -> Format:
    path = _run() / name
    return Format(path, path.read_bytes(), lambda path: load_session(path.parent))


def _of_file(path: Path, read: Callable[[Path], object]) -> Format:
    return Format(_folder() / f"damaged{path.suffix}", path.read_bytes(), read)


def _export_meta() -> Format:
    pte = _folder() / "model.pte"
    save_meta(pte, an_export_meta())
    path = export_meta_path(pte)
    return Format(path, path.read_bytes(), lambda _: load_meta(pte))


def _timeline() -> Format:
    trace = read_inferences(_folder(), an_inference([("Conv #1", 5)]), an_inference([("Conv #1", 6)]))
    return _of_file(write_timelines(_folder(), "a", [trace])[0], load_timeline)


def _samples() -> Format:
    some = samples([(10, place(SME, "kai_sme2")), (20, place(NEON))], kernel_names=("kai_a",))
    return _of_file(write_samples(_folder() / "a.kernels", some), read_kernel_samples)


def _kernels() -> Format:
    path = _folder() / "kernels.csv"
    write_rows(path, [{"operator": "conv", "kernel": "kai_a", "samples": 3, "operator_samples": 4}])
    return _of_file(path, load_kernels)


def _plan() -> Format:
    path = _folder() / "plan.json"
    experiments: list[dict[str, object]] = [
        {"name": "on", "threads": [1, 2], "cpu_affinity": "0-3", "warmup": {"min": 1}}
    ]
    experiments.append({"name": "off", "hide_isa": ["sme2"], "cpu_affinity": "0xf0", "num_runs": 5})
    pairs = [{"baseline": "off", "candidate": "on", "baseline_threads": 1, "candidate_threads": 2}]
    content = {"model": "a.pte", "output_root": "out", "experiments": experiments, "inputs": ["a.bin"]}
    write_json(path, {**content, "analysis": {"compare_pairs": pairs}, "schedule": {"blocks": 3, "seed": 1}})
    return _of_file(path, load_plan)


def _workload() -> Format:
    path = _folder() / "workload.json"
    inputs: list[dict[str, object]] = [{"random": [0, 9], "seed": 1, "shape": [1, 4]}, {"arange": True, "shape": [4]}]
    inputs += [{"value": 1.5}, {"file": "a.bin", "dtype": "int64"}]
    write_json(path, {"phases": [{"name": "all", "inputs": inputs, "repeats": 3, "resets": True, "advance": 4}]})
    return _of_file(path, load_workload)


def _planned_workload() -> Format:
    phase = PlannedPhase("decode", "forward", (PlannedInput((1, 2), 0, 2), PlannedInput((), 64)), 3, True, (0, 2))
    planned = PlannedWorkload((phase,), bytes(128), has_state=True, shared=(1,))
    path = _folder() / "a.workload"
    return Format(path, render_workload(planned), lambda path: parse_workload(path.read_bytes(), path.name))


def _steps() -> Format:
    path = _folder() / "a.steps"
    path.write_bytes(b"ETSTEPS1" + struct.pack("<8q", 2, 3, 10, 20, 30, 11, 21, 31))
    return _of_file(path, read_steps)


def _bundle() -> Format:
    """The archive before it is compressed, where damage reaches what is inside."""
    packed = a_packed_bundle(_folder() / "bundle.tar.gz")

    def read(path: Path) -> object:
        packed.write_bytes(gzip.compress(path.read_bytes(), 1))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ETPROF_CACHE", str(_folder() / "cache"))
            return open_archive(packed, "arm64", "1.5.1", lambda _: None)

    return Format(_folder() / "bundle.tar", gzip.decompress(packed.read_bytes()), read)


def _text(text: str, read: Callable[[Path], object]) -> Format:
    return Format(_folder() / "damaged.txt", text.encode(), read)


_PERF = "runner 7 10.000001: 55d0a1b2 xnn_f32_gemm_minmax_ukernel_4x8__neonfma (/lib/libx.so)\n" * 3
_RULES = '{"rules": [{"pattern": "^conv", "category": "Convolution", "subcategory": "mine"}]}'
_XNN_LOG = "Using gemm microkernel 'xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16c4__neondot'\n" * 2
_LLM_LOG = 'PyTorchObserver {"prompt_tokens":14,"generated_tokens":54,"inference_start_ms":1760077802998}\n' * 2
_SKILL = next((ROOT / "agent_skill_ml_profiling").glob("04_*.md"))

FORMATS: dict[str, Callable[[], Format]] = {
    "ETDump": lambda: Format(_folder() / "a.etdump", build_etdump([("", [Event("Conv", 1, 2, 0)])]), read_etdump),
    "profile of ONNX Runtime": lambda: _of_file(
        write_profile(_folder() / "a.ortprofile", [Node("Conv", 5), Node("Relu", 1)], runs=2), read_trace
    ),
    "program": lambda: Format(_folder() / "a.pte", build_program(), read_program),
    "program's facts": lambda: Format(
        _folder() / "a.pte", build_program(Method("get_max_seq_len", (Number(128),), (), (0,))), read_program
    ),
    "program's graph": lambda: Format(_folder() / "a.pte", build_program(DELEGATED), read_graphs),
    "program's memory": lambda: Format(_folder() / "a.pte", build_program(PLANNED), read_planned_program),
    "result": lambda: _of_file(_run() / "on" / "on_t1.result.json", read_runner_result),
    "manifest": partial(_of_session, MANIFEST),
    "metrics": partial(_of_session, METRICS),
    "graph": lambda: _of_file(RECORDED["small_cnn"].with_suffix(".graph.json"), load_graph),
    "export_meta": _export_meta,
    "samples": _samples,
    "kernel CSV": _kernels,
    "timeline CSV": _timeline,
    "perf text": lambda: _text(_PERF, partial(read_perf_script, architecture="arm64")),
    "XNNPACK log": lambda: _text(_XNN_LOG, read_xnn_log),
    "log of a language model": lambda: _text(_LLM_LOG, read_llm_log),
    "stock log": lambda: _of_file(
        ROOT / "tests" / "data" / "logs" / "stock_runner.txt",
        lambda path: read_stock_log(path.read_text(encoding="utf-8", errors="replace")),
    ),
    "plan": _plan,
    "workload": _workload,
    "workload for runners": _planned_workload,
    "times of steps": _steps,
    "rules": lambda: _text(_RULES, load_rules),
    "bundle": _bundle,
    "skill contract": lambda: _of_file(_SKILL, read_skill),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_valid_file_is_read(name: str) -> None:
    damaged = FORMATS[name]()
    damaged.file.write_bytes(damaged.valid)
    assert damaged.read(damaged.file) is not None


@pytest.mark.parametrize("name", FORMATS)
def test_any_bytes_give_a_value_or_an_error_of_ours(name: str) -> None:
    damaged = FORMATS[name]()

    @settings(max_examples=EXAMPLES, deadline=None, database=None)
    @given(damage(damaged.valid))
    def check(content: bytes) -> None:
        damaged.check(content)

    try:
        check()
    finally:
        damaged.file.write_bytes(damaged.valid)


@given(st.integers(0, 10**30), st.integers(0, 10**30))
def test_a_range_of_cores_without_end_is_refused(first: int, last: int) -> None:
    damaged = _plan()
    damaged.check(damaged.valid.replace(b"0-3", f"{first}-{last}".encode()))
