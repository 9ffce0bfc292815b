"""Reports for tests, made by the real analysis from traces that are written event by event."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from builders import a_device_info, a_loaded_run, a_plan, a_result, a_session, paired_results
from etdump_builder import Event, build_etdump
from etprof.analysis.report import build_report
from etprof.core.categories import categorize
from etprof.core.estimates import Interval
from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.kernel_evidence import Executed, KernelEvidence
from etprof.core.operators import PORTABLE as PORTABLE_GROUP
from etprof.core.operators import OperatorId
from etprof.core.peaks import Peaks
from etprof.core.plan import Plan
from etprof.core.report import Report, VariantReport
from etprof.core.rows import KernelUse, OperatorRow
from etprof.core.run import SmeUnits
from etprof.core.trace import Trace
from etprof.traces.etdump import read_etdump
from evidence_builder import an_evidence, sampled_operator
from graph_builder import a_graph, a_node, a_tensor
from peaks_builder import some_peaks
from trace_builder import Operators

CONVOLUTION = "Convolution (NHWC, F32) IGEMM #1"
HOSTILE = "<script>alert(1)</script> | `x` [a](b) \U0001f680 \x1b[31m"
# Name and microseconds of the operators of the first delegate call, of the portable ones, and of the second call.
FIRST = ((CONVOLUTION, 3000), ("Transpose (ND, X32) #1", 400), ("Fully Connected (NC, F32) GEMM #1", 800))
PORTABLE = (("native_call_upsample_nearest2d.vec_out", 150),)
SECOND = (("Transpose (ND, X32) #1", 300), ("Add (ND) #1", 90), ("Softmax (NC, F32) #1", 40))


def an_operator(identity: str, name: str, ms: float = 0.01, whole_ms: float = 10.0) -> OperatorRow:
    """An operator that takes so long in each of ten inferences of `whole_ms`."""
    category = categorize(name)
    return OperatorRow(
        identity=OperatorId(identity),
        name=name,
        category=category.name,
        subcategory=category.subcategory,
        delegated=OperatorId(identity).group != PORTABLE_GROUP,
        count=10,
        mean_ms=ms,
        median_ms=ms,
        share=ms / whole_ms,
    )


def a_trace(
    folder: Path, scale: float, *, first: Operators = FIRST, portable: Operators = PORTABLE, runs: int = 4
) -> Trace:
    """Inferences with two delegate calls and portable operators between; `scale` is that of convolution and GEMM."""
    events: list[Event] = []
    for run in range(runs):
        begin = at = 1_000_000_000 + run * 20_000_000
        at = _add_call(events, at + 500, _scaled(first, scale, run), instruction=0)
        for name, us in portable:
            events.append(Event(name, at + 300, at + 300 + us * 1000, instruction=1))
            at += us * 1000 + 700
            events.append(Event("OPERATOR_CALL", at - us * 1000 - 500, at, instruction=1))
        at = _add_call(events, at + 200, _scaled(SECOND, scale, run), instruction=2)
        events.append(Event("Method::execute", begin, at + 900))
    path = folder / f"trace_{scale}_{len(first)}.etdump"
    path.write_bytes(build_etdump([("Execute", events)]))
    return read_etdump(path)


def _scaled(operators: Operators, scale: float, run: int) -> Operators:
    # The first inference is slower, and the others differ a little, as in life.
    extra = 40 if run == 0 else run
    return [(n, round(us * (scale if "GEMM" in n else 1)) + extra) for n, us in operators]


def _add_call(events: list[Event], at: int, operators: Operators, instruction: int) -> int:
    """The operators of one delegate call and the call around them; XNNPACK makes the start times up."""
    start = at
    for name, us in operators:
        events.append(Event(name, at + 100, at + 100 + us * 1000, instruction=instruction, delegated=True))
        at += us * 1000
    events.append(Event("DELEGATE_CALL", start, at + 3000, instruction=instruction))
    return at + 3000


def a_report(
    folder: Path,
    *,
    plan: Plan | None = None,
    first: Operators = FIRST,
    graph: ModelGraph | None = None,
    peaks: Peaks | None = None,
    **changes: Any,
) -> Report:
    """Two variants, the second much faster in convolution and GEMM; `changes` go to the session."""
    plan = plan or a_plan()
    traces = {
        experiment.name: [a_trace(folder, scale, first=first)]
        for experiment, scale in zip(plan.experiments, (1.0, 0.25), strict=False)
    }
    results = tuple(
        r
        for r in paired_results([4.8, 4.81, 4.79, 4.8], [2.0, 2.01, 1.99, 2.0])
        if r.experiment in {e.name for e in plan.experiments}
    )
    session = a_session(plan, results, **changes)
    run = a_loaded_run(session, traces, graph=graph, peaks=peaks)
    return build_report(run, title="A report", created_at="2026-01-02T00:00:00+00:00")


def the_graph() -> ModelGraph:
    """That of the operators above: a convolution of 452,984,832 multiply-accumulates, a linear layer of 1,048,576."""

    def unary(index: int, type: str, module: str) -> GraphNode:
        return a_node(
            index, type, 30 + index, inputs=(a_tensor(8, 4, 64),), outputs=(a_tensor(9, 4, 64),), module=module
        )

    image, filters = a_tensor(1, 1, 64, 64, 64), a_tensor(2, 192, 3, 3, 64, constant=True)
    convolution = a_node(
        0, "XNNConv2d", 10, inputs=(image, filters), outputs=(a_tensor(3, 1, 64, 64, 192),), module="stem.conv"
    )
    turned = a_node(
        1, "XNNStaticTranspose", inputs=(a_tensor(3, 1, 64, 64, 192),), outputs=(a_tensor(4, 1, 192, 64, 64),)
    )
    linear = a_node(
        2,
        "XNNFullyConnected",
        12,
        inputs=(a_tensor(5, 4, 512), a_tensor(6, 512, 512, constant=True)),
        outputs=(a_tensor(7, 4, 512),),
        module="stem.token.linear",
    )
    second = (
        unary(0, "XNNStaticTranspose", "head"),
        unary(1, "XNNAdd", "head"),
        unary(2, "XNNSoftmax", "head"),
    )
    left = a_node(0, "aten::upsample_nearest2d.vec_out", outputs=(a_tensor(None, 1, 192, 128, 128),), module="up")
    return a_graph((convolution, turned, linear), second, undelegated=(left,))


def with_graph(folder: Path) -> Report:
    return a_report(folder, graph=the_graph())


def with_roofline(folder: Path) -> Report:
    """On a CPU whose two kinds of instructions are 302 and 755 billion multiply-adds a second."""
    gmacs = {"avx2_fp32": 302.0, "avx512_fp32": 755.0}
    return a_report(folder, graph=the_graph(), peaks=some_peaks(gmacs))


def one_variant(folder: Path) -> Report:
    plan = a_plan()
    return a_report(folder, plan=replace(plan, experiments=plan.experiments[:1], pairs=()))


def emulated(folder: Path) -> Report:
    return a_report(folder, device=a_device_info(times_are_real=False))


def untraced(folder: Path) -> Report:
    session = a_session(results=paired_results([4.8, 4.81, 4.79, 4.8], [2.0, 2.01, 1.99, 2.0]))
    return build_report(a_loaded_run(session), title="A report", created_at="2026-01-02T00:00:00+00:00")


# Milliseconds and the time of matrix work at 1, 2 and 4 threads, of which "on" shares two units.
THREAD_TIMES = {
    "off": {1: (4.8, 1.0), 2: (2.5, 0.5), 4: (1.3, 0.25)},
    "on": {1: (2.0, 0.25), 2: (1.1, 0.125), 4: (1.5, 0.3)},
}


def at_thread_counts(folder: Path) -> Report:
    """Two experiments at three thread counts, six blocks of each, every one of them traced."""
    plan = a_plan(blocks=6)
    plan = replace(plan, experiments=tuple(replace(e, threads=(1, 2, 4)) for e in plan.experiments))
    results = tuple(
        a_result(name, index, ms * (1 + 0.002 * (index * threads % 3)), threads=threads, threads_in_force=threads)
        for index in range(6)
        for name, own in THREAD_TIMES.items()
        for threads, (ms, _) in own.items()
    )
    session = a_session(
        plan, results, device=a_device_info(cpu_count=4, sme_units=SmeUnits(2, is_shared=True, cores=((0, 1), (2, 3))))
    )
    run = a_loaded_run(session)
    variants = tuple(
        replace(v, traces=(a_trace(folder, THREAD_TIMES[v.variant.experiment][v.variant.threads][1]),) * 6)
        for v in run.variants
    )
    return build_report(replace(run, variants=variants), title="A report", created_at="2026-01-02T00:00:00+00:00")


def hostile(folder: Path) -> Report:
    report = a_report(folder, first=((HOSTILE, 700), *FIRST))
    return replace(report, title=HOSTILE, model=HOSTILE, context={HOSTILE: HOSTILE, **report.context})


def with_kernels(report: Report) -> Report:
    """The same, had the kernels of its convolutions been sampled; SME is hidden from the first variant."""
    variants = []
    for variant in report.variants:
        shown = variant.experiment == "on"
        kernel = KernelUse("kai_matmul_sme2_mopa", "SME", 40) if shown else KernelUse("", "NEON", 90)
        rows = tuple(
            replace(row, kernels=(kernel,)) if row.category == "Convolution" else row for row in variant.operators
        )
        variants.append(replace(variant, operators=rows, evidence=_evidence(variant, kernel, shown=shown)))
    return replace(report, variants=tuple(variants))


def _evidence(variant: VariantReport, kernel: KernelUse, *, shown: bool) -> KernelEvidence:
    operator = sampled_operator(
        "d0.0",
        CONVOLUTION,
        kernel,
        category="Convolution",
        selected="",
        share=Interval(1.0, 0.9, 1.0) if shown else Interval(0.0, 0.0, 0.04),
        executed=Executed.YES if shown else Executed.NO,
        reason="" if shown else "hidden",
    )
    return an_evidence(
        operator,
        experiment=variant.experiment,
        threads=variant.threads,
        shown=shown,
        outside=2,
        dropped=1,
        share=operator.share,
        verdict=f"SME2 executed: {'yes' if shown else 'no'}.",
    )


def many_operators(folder: Path, count: int) -> Report:
    names = ("Convolution (NHWC, F32) IGEMM", "Fully Connected (NC, F32) GEMM", "Transpose (ND, X32)", "Add (ND)")
    first = [(f"{names[i % 4]} #{i // 4 + 1}", 20 + i % 17) for i in range(count)]
    return a_report(folder, first=first)
