"""The parts of a plan's file: every key with what it may hold and what it says in the documentation."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator

from etprof.core.load_options import find_problem
from etprof.core.plan import EXPERIMENT_NAME, MOST_BLOCKS, MOST_COUNT, MOST_SEED
from etprof.core.runtimes import EXECUTORCH, RUNTIMES
from etprof.store.core_lists import parse_cores
from etprof.store.file_keys import FilePart


class WarmupPart(FilePart):
    min: int = Field(default=3, ge=0, description="untimed iterations before the timed ones, at least")
    max: int = Field(default=50, ge=0, description="and at most; warm-up ends earlier when times are steady")


Shapes = list[list[Annotated[int, Field(ge=1)]]]


def _known_runtime(value: str) -> str:
    if value and value not in RUNTIMES:
        raise ValueError(f"runtimes are {', '.join(RUNTIMES)}")
    return value


_Runtime = Annotated[str, AfterValidator(_known_runtime), Field(json_schema_extra={"enum": ["", *RUNTIMES]})]


class ExperimentPart(FilePart):
    name: str = Field(pattern=EXPERIMENT_NAME, description="name of the experiment, its folder and its files")
    mode: Literal["timing", "trace"] = Field(default="timing", description="trace: operators only, no latency")
    hide_isa: list[str] = Field(default=[], description="CPU feature groups XNNPACK must not see, such as sme2")
    threads: list[int] = Field(default=[1], min_length=1, description="thread counts to run at: a number or a list")
    runs: int = Field(default=20, ge=1, le=MOST_COUNT, description="timed iterations in each block")
    traced_runs: int = Field(
        default=10, ge=1, le=MOST_COUNT, description="iterations with ETDump in each block, after the timed ones"
    )
    warmup: WarmupPart = Field(default=WarmupPart(), description="a number, or {min, max}")
    runner_path: str | None = Field(
        default=None, description="another runner, such as a stock executor_runner; auto: etprof's own"
    )
    cpu_affinity: list[int] | Literal["little", "big", "prime"] = Field(
        default=[], description="cores the runner may use: numbers, a range (4-7), a mask (0xf0), or little, big, prime"
    )
    extra_args: list[str] = Field(default=[], description="added to the runner's command line")
    launcher: list[str] = Field(default=[], description="put before the runner's command line")
    model: str = Field(default="", description="path of its own .pte; default: that of the plan")
    method: str = Field(default="", description="method of its program; default: that of the plan")
    inputs: list[str] = Field(default=[], description="its own raw input files; default: those of the plan")
    input_shapes: Shapes = Field(default=[], description="shapes of its inputs; default: those of the plan")
    runtime: _Runtime = Field(default="", description="what executes its model; default: that of the plan")
    load_options: dict[str, bool | int | str] = Field(
        default={}, description="options of the XNNPACK backend for loading, such as weight_cache_enabled"
    )
    workload: Any = Field(default=None, description="its own workload, or the path of its file")

    @field_validator("threads", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        if not isinstance(value, (int, list)):
            raise ValueError("it must be a number or a list of numbers, without quotes")
        return [value] if isinstance(value, int) else value

    @field_validator("cpu_affinity", mode="before")
    @classmethod
    def _list_cores(cls, value: Any) -> Any:
        if isinstance(value, str) and value not in ("little", "big", "prime"):
            return parse_cores(value)
        return [value] if isinstance(value, int) else value

    @field_validator("load_options")
    @classmethod
    def _known_options(cls, value: dict[str, bool | int | str]) -> dict[str, bool | int | str]:
        if problem := find_problem(value):
            raise ValueError(problem)
        return value

    @field_validator("threads")
    @classmethod
    def _positive(cls, value: list[int]) -> list[int]:
        if min(value) < 1 or len(set(value)) < len(value):
            raise ValueError("thread counts are different numbers from 1 on")
        return value

    @field_validator("warmup", mode="before")
    @classmethod
    def _number_or_range(cls, value: Any) -> Any:
        return {"min": value, "max": max(value, 50)} if isinstance(value, int) else value


class SchedulePart(FilePart):
    blocks: int = Field(default=6, ge=1, le=MOST_BLOCKS, description="fresh processes of each variant, at least")
    max_blocks: int | None = Field(
        default=None, ge=1, le=MOST_BLOCKS, description="and at most, while intervals are too wide"
    )
    order: Literal["interleaved", "sequential"] = Field(default="interleaved", description="of the variants' blocks")
    target_precision: float = Field(
        default=0.012, gt=0, lt=1, description="half width of a speed-up's interval, as a share: 0.05 is 5 %"
    )
    equivalence_bound: float = Field(
        default=0.02, gt=0, lt=1, description="largest difference that counts as none, as a share: 0.02 is 2 %"
    )
    time_budget_s: float | None = Field(
        default=None, gt=0, description="time of the whole run; no block starts that would end later"
    )
    cooldown_s: float = Field(default=0.0, ge=0, description="pause before each block")
    retries: int = Field(default=1, ge=0, description="further tries for a block the machine disturbed")
    timeout_s: float = Field(default=600.0, gt=0, description="longest time one block may take")
    seed: int = Field(default=0, ge=0, lt=MOST_SEED, description="seed of the bootstrap")
    page_cache: Literal["alternate", "in", "as is"] = Field(
        default="alternate", description="the model's file when it is loaded: every second round out of the page cache"
    )

    @model_validator(mode="after")
    def _consistent(self) -> "SchedulePart":
        if self.max_blocks is not None and self.max_blocks < self.blocks:
            raise ValueError(f"max_blocks {self.max_blocks} is below blocks {self.blocks}")
        if self.order == "sequential" and self.max_blocks not in (None, self.blocks):
            raise ValueError("a sequential schedule cannot add rounds; omit max_blocks")
        return self


class PairPart(FilePart):
    baseline: str = Field(description="name of the experiment to compare with")
    candidate: str = Field(description="name of the experiment that is compared")
    baseline_threads: int | None = Field(default=None, ge=1, description="thread count of the baseline")
    candidate_threads: int | None = Field(default=None, ge=1, description="thread count of the candidate")


class AnalysisPart(FilePart):
    compare_pairs: list[PairPart] = Field(default=[], description="who is compared with whom")
    advice_off: list[str] = Field(default=[], description="rules of advice that are not applied, by id")


class PlanFile(FilePart):
    """The whole file."""

    model_config = ConfigDict(title="etprof plan")

    model: str = Field(
        default="", description="path of the .pte, from the current directory, for experiments that name no other"
    )
    output_root: str = Field(description="folder the run is written to, from the current directory")
    experiments: list[ExperimentPart] = Field(min_length=1)
    schedule: SchedulePart = Field(default=SchedulePart())
    analysis: AnalysisPart = Field(default=AnalysisPart())
    inputs: list[str] = Field(default=[], description="raw input files; default: those of the export")
    input_shapes: Shapes = Field(
        default=[], description="shape of each input, such as [[1, 3, 224, 224]]; default: those of the export"
    )
    method: str = Field(default="", description="method of the program; default: forward, or the only one")
    runtime: _Runtime = Field(default=EXECUTORCH, description="what executes the model")
    workload: Any = Field(default=None, description="phases that run one after the other, or the path of their file")
