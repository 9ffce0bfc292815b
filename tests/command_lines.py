"""Command lines as people mistype them: wrong paths, kinds and values in the places of every command's parameters."""

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from etprof.cli.main import COMMANDS, build_app, main
from trace_builder import RECORDED

# Which of these a command is given decides that it ends before anything is measured, built, exported or served.
STOPPERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "quickstart": (("--out", "text.txt/in"), ("--model", "absent"), ("--platform", "moon"), ("--dtype", "int8")),
    "export": (("--outdir", "text.txt/in"), ("--backend", "moon"), ("--dtype", "bf16"), ("--checkpoint", "absent")),
    "profile": (
        ("--dry-run",), ("--device", "moon"), ("--device", "android"), ("--budget", "soon"), ("--dtype", "bf16"),
        ("--write-plan", "readonly/plan.json"), ("--workload", "absent"), ("--workload", "text.txt"),
    ),
    "explore": (
        ("--device", "moon"), ("--budget", "soon"), ("--dtypes", "bf16"), ("--schemes", "moon"), ("--threads", "0"),
        ("--runtimes", "moon"), ("--checkpoint", "absent"),
    ),
    "llm": (
        ("--dry-run",), ("--device", "moon"), ("--budget", "soon"), ("--prompt", "some"), ("--depth", "-1"),
        ("--log", "absent"), ("--threads", "0"),
    ),
    "run": (
        ("--dry-run",), ("--output-root", "text.txt/in"), ("--device", "recorded:absent"), ("--device", "moon"),
        ("--device", "android"), ("--analysis-only",),
    ),
    "kernels run": (("--dry-run",), ("--output-root", "text.txt"), ("--device", "moon"), ("--output-root", "run")),
    "runner build": (("--target", "moon"), ("--executorch-prefix", "folder"), ("--toolchain-file", "absent")),
    "devices calibrate": (("--precisions", "moon"), ("--budget", "soon"), ("--out", "text.txt/in"), ("--hide", "moon")),
    "fleet worker": (("--device", "moon"), ("--scheduler", "moon://x"), ("--scheduler", "tcp://10.0.0.1:1")),
    "fleet up": (("--device", "moon"), ("--scheduler", "moon://x"), ("--scheduler", "0.0.0.0:1")),
    "fleet devices": (("--on", "("), ("--scheduler", "moon://x"), ("--scheduler", "tcp://10.0.0.1:1")),
    "fleet run": (
        ("--on", "and"), ("--scheduler", "moon://x"), ("--scheduler", "tcp://10.0.0.1:1"), ("--repeat", "0"),
        ("--dtype", "int8"), ("--models-dir", "absent"),
    ),
    "skills verify": (("--check-only",), ("--workdir", "absent")),
    "models list": (("--models-dir", "absent"), ("--models-dir", "text.txt"), ("--models-dir", "folder/none")),
    "models show": (("--models-dir", "absent"), ("--models-dir", "text.txt"), ("more",)),
    "mcp": (("--workspace", "text.txt"), ("--workspace", "text.txt/in"), ("more",)),
}  # fmt: skip
# These look at the whole machine, each time the same.
LEFT_OUT = ("doctor", "devices list", "runner info")

# What fits a parameter, by its name: a line with one mistake gets further than a line of mistakes.
FITTING = {
    "run_dir": ("run", "readonly/run"), "run_dirs": ("run", "readonly/run"), "against": ("readonly/run", "run"),
    "baseline": ("run",), "candidate": ("readonly/run",), "traces": ("trace.etdump", "run/on/on_t1.etdump", "run/on"),
    "timeline_csv": ("timeline/trace_all_runs_timeline.csv",), "etdump": ("trace.etdump",),
    "compare": ("trace.etdump",),
    "graph": ("trace.graph.json", "other.graph.json"), "rules": ("own_rules.json",), "plan_file": ("plan.json",),
    "config": ("plan.json",), "model": ("toy_cnn", "noise.pte"), "output_dir": ("new", "readonly", "text.txt"),
    "target": ("new/report.md", "readonly/report.md", "folder", "."),
    "output": ("new/x.md", "readonly/x.json", "folder"),
    "table": ("new/x.csv", "readonly/x.csv", "folder"), "summary": ("new/x.md", "readonly/x.md", "folder", "."),
    "log": ("xnn.log",), "on": ("kernels.csv",), "off": ("kernels.csv",), "recording": ("perf.script",),
    "formats": ("md", "latency", "console", "statistics,tables", "html,json"), "name": ("export_model", "toy_cnn"),
    "device": ("local",), "to": ("new", "readonly", "text.txt"), "budget": ("30s",), "architecture": ("arm64",),
    "tolerance": ("5",), "top": ("3",),
}  # fmt: skip
KERNELS = "Using gemm microkernel 'xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16c4__neondot'\n"
SAMPLES = "runner 7 10.000001: 55d0a1b2 xnn_f32_gemm_minmax_ukernel_4x8__neonfma (/lib/libx.so)\n"

WORDS = (
    "", "-", "absent", "toy_cnn", "toy_cn", "fp32", "fp16", "int8", "md", "html,md", "latency", "console", "pdf",
    "local", "moon",
    "android:none", "recorded:run", "recorded:text.txt", "NAME=VALUE", "a b", "é", "90s", "-5m",
    "1e400s", "on", "*", "x" * 300,
    "text.txt", "empty.json", "run", "1,2", "export_model", "none", "xnnpack",
)  # fmt: skip
NUMBERS = ("0", "-1", "1", "2", "1.5", "99999999999999999999", "many", "", "nan", "inf", "1e999")


def make_world(folder: Path, run: Path) -> None:
    """Files and folders of every kind that may stand where another is wanted, below `folder`."""
    noise = random.Random(1).randbytes(4096)
    for suffix in ("etdump", "pte", "json", "csv", "md"):
        (folder / f"empty.{suffix}").touch()
        (folder / f"noise.{suffix}").write_bytes(noise)
    for name, text in {
        "text.txt": "a text\n",
        "list.json": "[]",
        "object.json": "{}",
        "number.json": "3",
        "deep.json": "[" * 100_000,
        "half.json": '{"model": ',
        "rules.json": '{"rules": [{"pattern": "(", "category": "GEMM", "subcategory": "x"}]}',
        "nothing.csv": "a,b\n1,2\n",
        "xnn.log": KERNELS,
        "perf.script": SAMPLES * 20,
        "own_rules.json": '{"rules": [{"pattern": "^conv", "category": "Convolution", "subcategory": "mine"}]}',
        "plan.json": json.dumps({"model": "absent.pte", "output_root": "new", "experiments": [{"name": "one"}]}),
        "nul.json": json.dumps({"model": "a\0b", "output_root": "c\0d", "experiments": [{"name": "one"}]}),
        "typo.json": json.dumps({"model": "absent.pte", "output_root": "new", "experiments": [{"nmae": "one"}]}),
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "folder").mkdir()
    shutil.copytree(run, folder / "run")
    shutil.copytree(run, folder / "odd_run")
    (folder / "odd_run" / "metrics.json").write_bytes(noise)
    (folder / "manifest_is_folder" / "manifest.json").mkdir(parents=True)
    shutil.copy(RECORDED["small_cnn"], folder / "trace.etdump")
    shutil.copy(RECORDED["small_cnn"], folder / "trace.csv")
    shutil.copy(RECORDED["small_cnn"].with_suffix(".graph.json"), folder / "trace.graph.json")
    shutil.copy(RECORDED["transformer"].with_suffix(".graph.json"), folder / "other.graph.json")
    (folder / os.fsdecode(b"mod\xe8le.pte")).write_bytes(b"model")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("absent")
    # By a link: what is replaced by mistake is the link.
    (folder / "null").symlink_to("/dev/null")
    _add_tables(folder)


def _add_tables(folder: Path) -> None:
    """The tables that commands read again, made by the commands that write them."""
    main(["trace", "timeline", str(folder / "trace.etdump"), "--output-dir", str(folder / "timeline")])
    main(["kernels", "log", "--xnntrace", str(folder / "xnn.log"), "--out", str(folder / "kernels.csv")])


def list_paths(folder: Path) -> tuple[str, ...]:
    made = sorted(path.name for path in folder.iterdir())
    never = (
        "", ".", "..", "/", "~", "absent", "absent.pte", "absent.etdump", "absent/absent.json", "text.txt/inside.md",
        "x" * 300, "y/" * 3000, "a\0b", "/proc/self/mem", "/proc/absent/file.md",
        "readonly", "readonly/new/report.md", "readonly/run", "readonly/run/manifest.json", "run/manifest.json",
        "run/metrics.json", "run/on", "run/on/on_t1.etdump", "run/on/on_t1.log", "new/report.html", "new.pdf",
    )  # fmt: skip
    return (*made, *never)


def list_commands() -> list[tuple[str, Any]]:
    """Every command that can be run, by the words that name it."""
    root: Any = build_app()
    context = root.context_class(root, info_name="etprof")
    found = [(name, root.get_command(context, name)) for names in COMMANDS.values() for name in names]
    return [each for name, command in found for each in _leaves(name, command) if each[0] not in LEFT_OUT]


def _leaves(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
    else:
        yield from ((f"{words} {name}", each) for name, each in inner.items())


def draw_line(draw: random.Random, words: str, command: Any, paths: tuple[str, ...]) -> list[str]:
    """One command line: often nearly right, with a value of the wrong kind here and there."""
    line = words.split()
    for parameter in command.params:
        is_argument = parameter.param_type_name == "argument"
        if parameter.name == "help" or draw.random() > (0.85 if is_argument or parameter.required else 0.2):
            continue
        if not is_argument:
            line.append(draw.choice(parameter.opts))
        if not getattr(parameter, "is_flag", False):
            line.append(_draw_value(draw, parameter, paths))
    if draw.random() < 0.03:
        line.append(draw.choice(("--absent", "-x", "more", "--help")))
    stoppers = STOPPERS.get(words)
    return [*line, *draw.choice(stoppers)] if stoppers else line


def _draw_value(draw: random.Random, parameter: Any, paths: tuple[str, ...]) -> str:
    fitting = FITTING.get(parameter.name)
    if fitting and draw.random() < 0.6:
        return draw.choice(fitting)
    numbers, words = (0.8, 0.1) if "number" in _kind(parameter) else (0.05, 0.1 if "path" in _kind(parameter) else 0.7)
    chance = draw.random()
    if chance < numbers:
        return draw.choice(NUMBERS)
    return draw.choice(WORDS if chance < numbers + words else paths)


def _kind(parameter: Any) -> str:
    return {"int": "number", "float": "number", "Path": "path"}.get(_annotation(parameter), "word")


def _annotation(parameter: Any) -> str:
    text = repr(getattr(parameter, "type_descriptor", None) or getattr(parameter, "type", ""))
    return next((name for name in ("Path", "int", "float") if name.lower() in text.lower()), "str")
