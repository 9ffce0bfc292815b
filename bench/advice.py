"""Holds the rules of advice to account: applies the change that each advises to a small model, and measures the gain.

`.venv/bin/python bench/advice.py [--rounds 10] [--only RULE] [--write]` on a machine that does nothing else. The model
before the change is traced, so that the rule states its bound. Both models take turns, each block in a process of its
own. Of each block the fastest inferences count, since other programs can only make one slower. The gain has to stay
within the bound, as far as its interval tells, and to be positive in at least 80 % of the cases; the exit code is 1
where that does not hold. `--write` puts the table into the documentation.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from advice_models import NOT_MEASURED, PAIRS, Pair
from builders import a_loaded_run, a_session
from etprof.analysis.timing.speedup import estimate_speedup
from etprof.app.advice import list_rules
from etprof.app.reporting import analyze_loaded
from etprof.core.estimates import Interval
from etprof.core.layout import graph_path
from etprof.core.model import EagerModelBase
from etprof.core.plan import Experiment, Plan
from etprof.core.report import NextStep
from etprof.core.run import BlockResult
from etprof.core.trace import EventKind, Trace
from etprof.core.units import NS_PER_MS, format_ms
from etprof.export.exporter import ExportRequest, export_model
from etprof.export.graph_file import load_graph
from etprof.export.meta import load_meta
from etprof.export.registry import register_model
from etprof.export.request import Quantization
from etprof.runner.build import ensure_runner
from etprof.traces.etdump import read_etdump
from etprof.traces.runner_result import read_runner_result

PAGE = Path(__file__).parents[1] / "docs/reference/advice-measured.md"
# Of the iterations of a block so many are used, the fastest ones.
ITERATIONS, CALM = 100, 5
ENOUGH = 0.8
YES, NO, NO_BOUND = "yes", "no", "none"
# The cells of a row after the rule and the change.
Rows = dict[tuple[str, str], list[str]]
_OPENING = """\
`bench/advice.py --write` wrote this page. It applies the change that a [rule](advice.md) advises to a small model, and
measures it on a two-core x86-64 machine with one thread: interleaved blocks of both models, every block a process of
its own, of which the fastest inferences count. The bound is what the rule states for the model before the change; the
gain has a 95 % interval. A gain is within the bound where its interval reaches below it, and positive where the whole
interval is. A rule says nothing where its bound is within the noise.

The models are small and made for one rule each. Eight of them, and the bounds of two rules (chains, islands), were
changed after first results; so the table says whether the bounds hold for such models, not how often advice helps. A
change can save more than its bound where it also changes operators that the rule is not about: a 1x1 convolution moved
before a resize saved 0.225 ms with a bound of 0.172 ms, because the convolution itself became smaller; half of the
channels of an image taken once instead of twice saved 0.056 ms, and the bound of the slices was 0.042 ms. These two
are not in the table. The row of `quantisation-islands` is from a later run than the others: before that, its bound
left out the layout changes beside the conversions, and the gain exceeded it. That of `state-copies` was measured on
another CPU (AMD Zen 5) than the others. It is an estimate: stated as a bound, 0.030 ms, a gain of 0.035 ms exceeded it,
since what the copies displaced from the caches is read faster.
"""


@dataclass(frozen=True, eq=False)
class CalmBlock:
    result: BlockResult
    trace: Trace


@dataclass(frozen=True)
class Measured:
    """`step` is what the rule says, None where it says nothing; `gain_ms` is that of one inference, or of one input."""

    pair: Pair
    step: NextStep | None
    before_ms: float
    gain_ms: Interval

    @property
    def is_within(self) -> bool:
        """True also where the rule says nothing."""
        return self.step is None or self.gain_ms.low <= self.step.saves_ms

    @property
    def is_positive(self) -> bool:
        return self.gain_ms.low > 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="blocks of each model")
    parser.add_argument("--only", nargs="*", default=[], help="only these rules; the page keeps its other rows")
    parser.add_argument("--write", action="store_true", help="put the table into the documentation")
    options = parser.parse_args()
    rows: Rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, pair in enumerate(each for each in PAIRS if not options.only or each.rule in options.only):
            cells = list_cells(measure(pair, Path(folder) / str(number), options.rounds))
            rows[pair.rule, pair.change] = cells
            sys.stdout.write("  ".join([pair.rule, pair.change, *cells]) + "\n")
            sys.stdout.flush()
    if options.write:
        rows = {**read_rows(), **rows}
        known = [(pair.rule, pair.change) for pair in PAIRS]
        rows = {key: rows[key] for key in known if key in rows}
        PAGE.write_text("\n".join(list_lines(rows)) + "\n", encoding="utf-8")
    sys.stdout.write(f"{summarize(rows)}\n")
    positive = sum(cells[-1] == YES for cells in rows.values())
    return 0 if positive >= ENOUGH * len(rows) and not any(cells[-2] == NO for cells in rows.values()) else 1


def read_rows() -> Rows:
    """What the page has of earlier runs."""
    measured = PAGE.read_text(encoding="utf-8").partition("## Not measured")[0] if PAGE.exists() else ""
    rows = re.findall(r"^\| \[`([a-z0-9-]+)`\]\([^)]*\) \| ([^|]*) \| (.*) \|$", measured, re.MULTILINE)
    return {(rule, change): cells.split(" | ") for rule, change, cells in rows}


def measure(pair: Pair, folder: Path, rounds: int) -> Measured:
    before = export(pair, pair.before, pair.shape, folder / "before")
    after_shape = pair.after_shape or pair.shape
    after = export(pair, pair.after, after_shape, folder / "after", in_place=pair.after_in_place)
    blocks: dict[Path, list[CalmBlock]] = {before: [], after: []}
    for turn in range(rounds):
        for model in (before, after) if turn % 2 == 0 else (after, before):
            blocks[model].append(run_block(model, folder))
    was, is_now = (np.array([block.result.latency_ns[0] / NS_PER_MS for block in own]) for own in blocks.values())
    speedup = estimate_speedup(np.log(was / is_now * pair.items), seed=0)
    assert speedup is not None, "too few rounds for an interval"
    whole = float(np.exp(np.log(was).mean()))
    gain = Interval(*(whole * (1 - 1 / s) for s in (speedup.value, speedup.low, speedup.high)))
    return Measured(pair, find_step(pair.rule, before, blocks[before]), whole, gain)


def export(pair: Pair, build: Any, shape: tuple[int, ...], folder: Path, *, in_place: bool = False) -> Path:
    class Model(EagerModelBase):
        def get_eager_model(self) -> torch.nn.Module:
            torch.manual_seed(0)
            model: torch.nn.Module = build().eval()
            return model

        def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
            return (torch.randn(*shape, generator=torch.Generator().manual_seed(0)),)

    name = f"{pair.rule.replace('-', '_')}_{folder.name}"
    register_model(name, Model)
    quantization = Quantization() if pair.quantised else None
    request = ExportRequest(
        name, outdir=folder, dtype=pair.dtype, quantization=quantization, state_in_place=in_place, min_snr_db=-100.0
    )
    return export_model(request).pte


def find_step(rule: str, model: Path, blocks: Sequence[CalmBlock]) -> NextStep | None:
    """What the rule says of the model before the change."""
    plan = Plan(model, model.parent, (Experiment("on"),), ())
    results = tuple(replace(block.result, index=i) for i, block in enumerate(blocks))
    session = a_session(plan, results, export_meta=load_meta(model))
    graph = load_graph(graph_path(model))
    run = a_loaded_run(session, {"on": [block.trace for block in blocks]}, graph=graph)
    return next((step for step in analyze_loaded(run).report.next_steps if step.rule == rule), None)


def run_block(model: Path, folder: Path) -> CalmBlock:
    """A block in a process of its own, and of it the inferences that other programs disturbed least."""
    result, etdump = folder / "result.json", folder / "block.etdump"
    inputs = model.with_name(f"{model.stem}.input_0.bin")
    flags = [
        "--num_executions", str(ITERATIONS), "--traced_executions", str(ITERATIONS), "--warmup", "5",
        "--result_path", str(result), "--etdump_path", str(etdump),
    ]  # fmt: skip
    command = [*ensure_runner().command, "--model_path", str(model), "--inputs", str(inputs), *flags]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    said = read_runner_result(result)
    known = {each.name: getattr(said, each.name) for each in fields(said)}
    known |= {"latency_ns": choose_fastest(said.latency_ns), "traced_ns": choose_fastest(said.traced_ns)}
    return CalmBlock(BlockResult(experiment="on", threads=1, index=0, **known), keep_calm(read_etdump(etdump)))


def choose_fastest(times_ns: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(times_ns)[:CALM])


def keep_calm(trace: Trace) -> Trace:
    """The first inference of a trace, which is cold and counts in no time, and the fastest of the others."""
    whole = trace.kind == EventKind.EXECUTE
    durations = np.zeros(trace.run_count, np.int64)
    durations[trace.run[whole]] = trace.duration_ns[whole]
    chosen = np.zeros(trace.run_count, np.bool_)
    chosen[[0, *(np.argsort(durations[1:])[:CALM] + 1)]] = True
    rows = trace.rows_of(chosen)
    columns = ("name", "kind", "block", "delegate_call", "position", "instruction", "start_ns", "duration_ns")
    return replace(
        trace,
        **{name: getattr(trace, name)[rows] for name in columns},
        run=(np.cumsum(chosen) - 1).astype(np.int32)[trace.run[rows]],
        signature=trace.signature[chosen],
        run_count=int(chosen.sum()),
    )


def list_cells(measured: Measured) -> list[str]:
    gain, step = measured.gain_ms, measured.step
    return [
        format_ms(measured.before_ms),
        _tell_bound(step),
        f"{format_ms(gain.value)} ({format_ms(gain.low)} to {format_ms(gain.high)})",
        NO_BOUND if step is None or not step.is_bound else YES if measured.is_within else NO,
        YES if measured.is_positive else NO,
    ]


def _tell_bound(step: NextStep | None) -> str:
    if step is None:
        return NO_BOUND
    return format_ms(step.saves_ms) if step.is_bound else f"about {format_ms(step.saves_ms)}"


def summarize(rows: Rows) -> str:
    bounded = [cells for cells in rows.values() if cells[-2] != NO_BOUND]
    within, positive = sum(cells[-2] == YES for cells in bounded), sum(cells[-1] == YES for cells in rows.values())
    gained = f"Of {len(rows)} changes {positive} gain beyond their interval."
    return f"{gained} Of {len(bounded)} with a bound {within} stay within."


def list_lines(rows: Rows) -> Iterator[str]:
    titles = {rule.id: rule.title for rule in list_rules()}
    yield "# Measured advice\n"
    yield _OPENING
    yield f"{summarize(rows)}\n"
    yield "| Rule | Change | Before | At most | Gain | Within | Positive |"
    yield "| --- | --- | ---: | ---: | ---: | --- | --- |"
    for (rule, change), cells in rows.items():
        yield f"| [`{rule}`](advice.md#{rule}) | {change} | {' | '.join(cells)} |"
    yield "\n## Not measured\n"
    yield "| Rule | About | Why |"
    yield "| --- | --- | --- |"
    open_ones = {pair.rule: "not measured yet" for pair in PAIRS} | NOT_MEASURED
    for rule, why in open_ones.items():
        if rule not in {known for known, _ in rows}:
            yield f"| [`{rule}`](advice.md#{rule}) | {titles[rule]} | {why} |"


if __name__ == "__main__":
    raise SystemExit(main())
