"""What the tool for language models answers: the tests with their intervals, and the reasons for doubt."""

from dataclasses import dataclass, replace

from etprof.app.devices import parse_device
from etprof.app.llm import LlmRequest, run_llm
from etprof.app.profiling import RunOptions
from etprof.app.progress import Progress, RunCounter
from etprof.app.reporting import analyze_measured, describe_llm, write_report
from etprof.core.layout import run_folder
from etprof.core.llm import LlmMemory, LlmRecord
from etprof.mcp.workspace import Workspace


@dataclass(frozen=True)
class TestLine:
    """One test of one variant; of a prefill, `time_ms` is the time to the first token."""

    test: str
    variant: str
    tokens_per_s: float | None
    tokens_per_s_low: float | None
    tokens_per_s_high: float | None
    time_ms: float | None
    speedup: float | None
    verdict: str
    categories: dict[str, float]


@dataclass(frozen=True)
class Tested:
    run_dir: str
    times_are_real: bool
    tests: list[TestLine]
    memory: list[LlmMemory]
    findings: list[str]


def llm(workspace: Workspace, asked: LlmRequest, device: str, progress: Progress, options: RunOptions) -> Tested:
    """Measures a language model, and writes the report."""
    request = replace(parse_device(device), wait=False, progress=lambda text: progress(0, None, text))
    model = workspace.model_file(str(asked.model))
    folder = workspace.target_folder(asked.output_root) if asked.output_root else None
    workspace.target_folder(run_folder(model, ""))
    with workspace.confined():
        asked = replace(asked, model=model, output_root=folder)
        analysis = analyze_measured(run_llm(asked, request, RunCounter(progress), options))
        write_report(analysis)
    results = describe_llm(analysis)
    return Tested(
        run_dir=str(analysis.run.folder),
        times_are_real=analysis.run.times_are_real,
        tests=[
            _describe(row.record, {each.name: each.share for each in row.categories})
            for row in (results.rows if results else ())
        ],
        memory=list(results.memory) if results else [],
        findings=[finding.message for finding in analysis.report.findings],
    )


def _describe(record: LlmRecord, categories: dict[str, float]) -> TestLine:
    return TestLine(
        test=record.test,
        variant=f"{record.experiment}, {record.threads} threads" if record.threads > 1 else record.experiment,
        tokens_per_s=record.tokens_per_s,
        tokens_per_s_low=record.tokens_per_s_low,
        tokens_per_s_high=record.tokens_per_s_high,
        time_ms=record.time_ms,
        speedup=record.speedup,
        verdict=record.verdict,
        categories=categories,
    )
