"""A plan as users write it (JSON), and the Plan it stands for; who is compared with whom is settled here."""

import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from etprof.core.errors import PlanError, nearest_names_hint
from etprof.core.extensions import HIDDEN_TOGETHER
from etprof.core.load_options import find_problem
from etprof.core.plan import (
    EXPERIMENT_NAME,
    MOST_BLOCKS,
    MOST_COUNT,
    MOST_SEED,
    Experiment,
    Pair,
    Plan,
    Schedule,
    Warmup,
)
from etprof.core.runtimes import EXECUTORCH, RUNTIMES
from etprof.core.workload import Workload
from etprof.store.core_lists import CORES, parse_cores
from etprof.store.file_keys import NOT_OURS, FilePart, describe_place, describe_problem
from etprof.store.json_file import read_json, write_json
from etprof.store.paths import require_file
from etprof.store.plan_pairs import settle_pairs
from etprof.store.workload_file import as_content, find_workload
from etprof.store.workload_file import json_schema as workload_schema

# The users' documents spell these keys both ways.
_SPELLINGS = {"num_runs": "runs", "num_threads": "threads"}
# A runner_path that stands for etprof's own runner.
_OWN_RUNNER = (None, "", "auto")
_PLACEHOLDER = re.compile(r"<[^>]*>|\bpath/to/|\bYOUR_", re.IGNORECASE)
_TEMPLATES_HINT = "`etprof profile MODEL --write-plan plan.json` writes a plan for this machine, to be edited."


class _WarmupPart(FilePart):
    min: int = Field(default=3, ge=0, description="untimed iterations before the timed ones, at least")
    max: int = Field(default=50, ge=0, description="and at most; warm-up ends earlier when times are steady")


_Shapes = list[list[Annotated[int, Field(ge=1)]]]


def _known_runtime(value: str) -> str:
    if value and value not in RUNTIMES:
        raise ValueError(f"runtimes are {', '.join(RUNTIMES)}")
    return value


_Runtime = Annotated[str, AfterValidator(_known_runtime), Field(json_schema_extra={"enum": ["", *RUNTIMES]})]


class _ExperimentPart(FilePart):
    name: str = Field(pattern=EXPERIMENT_NAME, description="name of the experiment, its folder and its files")
    mode: Literal["timing", "trace"] = Field(default="timing", description="trace: operators only, no latency")
    hide_isa: list[str] = Field(default=[], description="CPU feature groups XNNPACK must not see, such as sme2")
    threads: list[int] = Field(default=[1], min_length=1, description="thread counts to run at: a number or a list")
    runs: int = Field(default=20, ge=1, le=MOST_COUNT, description="timed iterations in each block")
    traced_runs: int = Field(
        default=10, ge=1, le=MOST_COUNT, description="iterations with ETDump in each block, after the timed ones"
    )
    warmup: _WarmupPart = Field(default=_WarmupPart(), description="a number, or {min, max}")
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
    input_shapes: _Shapes = Field(default=[], description="shapes of its inputs; default: those of the plan")
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


class _SchedulePart(FilePart):
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
    def _consistent(self) -> "_SchedulePart":
        if self.max_blocks is not None and self.max_blocks < self.blocks:
            raise ValueError(f"max_blocks {self.max_blocks} is below blocks {self.blocks}")
        if self.order == "sequential" and self.max_blocks not in (None, self.blocks):
            raise ValueError("a sequential schedule cannot add rounds; omit max_blocks")
        return self


class _PairPart(FilePart):
    baseline: str = Field(description="name of the experiment to compare with")
    candidate: str = Field(description="name of the experiment that is compared")
    baseline_threads: int | None = Field(default=None, ge=1, description="thread count of the baseline")
    candidate_threads: int | None = Field(default=None, ge=1, description="thread count of the candidate")


class _AnalysisPart(FilePart):
    compare_pairs: list[_PairPart] = Field(default=[], description="who is compared with whom")
    advice_off: list[str] = Field(default=[], description="rules of advice that are not applied, by id")


class PlanFile(FilePart):
    """The whole file."""

    model_config = ConfigDict(title="etprof plan")

    model: str = Field(
        default="", description="path of the .pte, from the current directory, for experiments that name no other"
    )
    output_root: str = Field(description="folder the run is written to, from the current directory")
    experiments: list[_ExperimentPart] = Field(min_length=1)
    schedule: _SchedulePart = Field(default=_SchedulePart())
    analysis: _AnalysisPart = Field(default=_AnalysisPart())
    inputs: list[str] = Field(default=[], description="raw input files; default: those of the export")
    input_shapes: _Shapes = Field(
        default=[], description="shape of each input, such as [[1, 3, 224, 224]]; default: those of the export"
    )
    method: str = Field(default="", description="method of the program; default: forward, or the only one")
    runtime: _Runtime = Field(default=EXECUTORCH, description="what executes the model")
    workload: Any = Field(default=None, description="phases that run one after the other, or the path of their file")


def load_plan(path: Path) -> Plan:
    hint = f"A plan is a JSON file. {_TEMPLATES_HINT}"
    if path.suffix == ".pte":
        raise PlanError(f"{path} is a model, not a plan.", hint=f"A model without a plan: etprof profile {path}")
    return build_plan(read_json(require_file(path, "plan", hint=hint), hint=hint), str(path))


def save_plan(path: Path, plan: Plan) -> None:
    """Writes the file that `load_plan` reads as this plan. What has its default value is left out, for a person."""
    content: dict[str, Any] = {
        "model": str(plan.model),
        "output_root": str(plan.output_root),
        "experiments": [_changed_keys(experiment) for experiment in plan.experiments],
        "schedule": _changed_keys(plan.schedule),
        "analysis": {
            "compare_pairs": [_changed_keys(pair) for pair in plan.pairs],
            **({"advice_off": list(plan.advice_off)} if plan.advice_off else {}),
        },
        "inputs": [str(each) for each in plan.inputs],
        "input_shapes": [list(shape) for shape in plan.input_shapes],
        "method": plan.method,
        "runtime": plan.runtime if plan.runtime != EXECUTORCH else "",
        "workload": _as_json(plan.workload),
    }
    write_json(path, {key: value for key, value in content.items() if value})


def _changed_keys(part: Experiment | Schedule | Pair) -> dict[str, Any]:
    """The keys of a part that differ from their defaults, as the file spells them."""
    keys: dict[str, Any] = {}
    for each in fields(part):
        value = getattr(part, each.name)
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        if value == default:
            continue
        if isinstance(value, Warmup):
            value = {"min": value.minimum, "max": value.maximum}
        if each.name == "load_options":
            keys[each.name] = dict(value)
            continue
        keys["cpu_affinity" if each.name == "cpu_cluster" else each.name] = _as_json(value)
    return keys


def _as_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_json(each) for each in value]
    if isinstance(value, Workload):
        return as_content(value)
    return str(value) if isinstance(value, Path) else value


def build_plan(value: Any, source: str) -> Plan:
    """The Plan that a decoded JSON value stands for; `source` names it in errors."""
    try:
        file = PlanFile.model_validate(_one_spelling(value, source))
    except ValidationError as error:
        raise _explain(error, source, value) from error
    names = [e.name for e in file.experiments]
    for name in names:
        if names.count(name) > 1:
            raise PlanError(f"{source}: two experiments are called {name!r}.", hint="Give each a name of its own.")
    _refuse_placeholders(file, source)
    _refuse_unknown_features(file, source)
    _refuse_foreign_options(file, source)
    _refuse_inputs_twice(file, source)
    if not all(part.model or file.model for part in file.experiments):
        raise PlanError(f"{source}: the key 'model' is missing.", hint=_TEMPLATES_HINT)
    experiments = tuple(_experiment(part, f"{source}: experiments[{i}]") for i, part in enumerate(file.experiments))
    schedule = file.schedule.model_dump()
    asked = tuple(Pair(**part.model_dump()) for part in file.analysis.compare_pairs)
    return Plan(
        model=Path(file.model or file.experiments[0].model),
        output_root=Path(file.output_root),
        experiments=experiments,
        pairs=settle_pairs(asked, experiments, source),
        schedule=Schedule(**{**schedule, "max_blocks": schedule["max_blocks"] or schedule["blocks"]}),
        inputs=tuple(Path(p) for p in file.inputs),
        method=file.method,
        input_shapes=_shapes(file.input_shapes),
        advice_off=tuple(file.analysis.advice_off),
        runtime=file.runtime or EXECUTORCH,
        workload=find_workload(file.workload, f"{source}: workload"),
    )


def json_schema() -> dict[str, Any]:
    """The schema editors use. It allows both spellings, and a number where a list or a range may stand."""
    schema = PlanFile.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["properties"] |= {key: {"type": "string"} for key in NOT_OURS}
    experiment = schema["$defs"]["_ExperimentPart"]["properties"]
    experiment["threads"] = {"anyOf": [{"type": "integer"}, experiment["threads"]]}
    experiment["cpu_affinity"]["anyOf"] += [{"type": "integer"}, {"type": "string", "pattern": CORES.pattern}]
    experiment["warmup"] = {"anyOf": [{"type": "integer", "minimum": 0}, experiment["warmup"]]}
    for other, ours in _SPELLINGS.items():
        experiment[other] = experiment[ours]
    workload = workload_schema()
    schema["$defs"] |= workload.pop("$defs")
    schema["$defs"]["WorkloadFile"] = {key: value for key, value in workload.items() if key != "$schema"}
    for place in (schema["properties"], experiment):
        place["workload"] |= {"anyOf": [{"$ref": "#/$defs/WorkloadFile"}, {"type": "string"}, {"type": "null"}]}
    return schema


def _refuse_placeholders(file: PlanFile, source: str) -> None:
    paths = [("model", file.model), ("output_root", file.output_root)]
    for i, e in enumerate(file.experiments):
        paths += [(f"experiments[{i}].runner_path", e.runner_path or ""), (f"experiments[{i}].model", e.model)]
    for key, text in paths:
        if _PLACEHOLDER.search(text):
            raise PlanError(f"{source}: {key} is still the placeholder {text!r}.", hint="Put the real path there.")


def _refuse_unknown_features(file: PlanFile, source: str) -> None:
    """Names of any architecture pass: on which CPU the plan will run is not known here."""
    known = sorted({name for groups in HIDDEN_TOGETHER.values() for name in groups})
    for i, experiment in enumerate(file.experiments):
        for name in experiment.hide_isa:
            if name not in known:
                raise PlanError(
                    f"{source}: experiments[{i}].hide_isa names {name!r}, which no CPU has.",
                    hint=f"{nearest_names_hint(name, known)} Known: {', '.join(known)}.".strip(),
                )


def _refuse_foreign_options(file: PlanFile, source: str) -> None:
    for i, experiment in enumerate(file.experiments):
        if experiment.load_options and (experiment.runtime or file.runtime or EXECUTORCH) != EXECUTORCH:
            raise PlanError(
                f"{source}: experiments[{i}] has load options, which only ExecuTorch takes.", hint="Omit load_options."
            )


def _refuse_inputs_twice(file: PlanFile, source: str) -> None:
    parts: list[PlanFile | _ExperimentPart] = [file, *file.experiments]
    for part in parts:
        if part.workload and (part.inputs or part.input_shapes):
            where = f"the experiment {part.name!r}" if isinstance(part, _ExperimentPart) else "the plan"
            raise PlanError(
                f"{source}: {where} has a workload, and inputs or shapes beside it.",
                hint="A workload names the inputs of its phases: omit inputs and input_shapes.",
            )


def _experiment(part: _ExperimentPart, where: str) -> Experiment:
    return Experiment(
        name=part.name,
        mode=part.mode,
        hide_isa=tuple(part.hide_isa),
        threads=tuple(part.threads),
        runs=part.runs,
        traced_runs=part.traced_runs,
        warmup=Warmup(part.warmup.min, part.warmup.max),
        runner_path=Path(part.runner_path) if part.runner_path not in _OWN_RUNNER else None,
        cpu_affinity=() if isinstance(part.cpu_affinity, str) else tuple(part.cpu_affinity),
        cpu_cluster=part.cpu_affinity if isinstance(part.cpu_affinity, str) else "",
        extra_args=tuple(part.extra_args),
        launcher=tuple(part.launcher),
        model=Path(part.model) if part.model else None,
        method=part.method,
        inputs=tuple(Path(p) for p in part.inputs),
        input_shapes=_shapes(part.input_shapes),
        runtime=part.runtime,
        load_options=tuple(part.load_options.items()),
        workload=find_workload(part.workload, f"{where}.workload"),
    )


def _shapes(listed: _Shapes) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(shape) for shape in listed)


def _one_spelling(value: Any, source: str) -> Any:
    """Turns the documents' second spelling of a key into the first; drops the editor's `$schema` and a `$comment`."""
    if not isinstance(value, dict) or not isinstance(value.get("experiments"), list):
        return value
    experiments = [_respell(part, f"{source}: experiments[{i}]") for i, part in enumerate(value["experiments"])]
    return {key: entry for key, entry in value.items() if key not in NOT_OURS} | {"experiments": experiments}


def _respell(part: Any, where: str) -> Any:
    if not isinstance(part, dict):
        return part
    for other, ours in _SPELLINGS.items():
        if other in part and ours in part:
            raise PlanError(f"{where} has both {other!r} and {ours!r}.", hint="They mean the same: give one.")
    return {_SPELLINGS.get(key, key): entry for key, entry in part.items()}


def _explain(error: ValidationError, source: str, typed: Any) -> PlanError:
    """The first mistake, under the key as it was `typed`."""
    first = error.errors()[0]
    where = describe_place(_as_typed(first["loc"], typed))
    if first["type"] == "extra_forbidden":
        known = _known_keys(first["loc"][:-1])
        hint = nearest_names_hint(str(first["loc"][-1]), known) or f"Known keys here: {', '.join(known)}."
        return PlanError(f"{source}: there is no key {where!r}.", hint=hint)
    if first["type"] == "missing":
        return PlanError(f"{source}: the key {where!r} is missing.", hint=_TEMPLATES_HINT)
    problem = describe_problem(error)
    if first["type"] == "less_than" and first["ctx"]["lt"] == 1:
        problem = "it is a share and must be below 1; 0.05 means 5 %"
    if isinstance(first["input"], (dict, BaseModel)):
        return PlanError(f"{source}: {where or 'the file'}: {problem}.", hint=_TEMPLATES_HINT)
    return PlanError(f"{source}: {where or 'the file'} is {first['input']!r}: {problem}.", hint=_TEMPLATES_HINT)


def _as_typed(location: tuple[int | str, ...], typed: Any) -> tuple[int | str, ...]:
    """The location with the second spelling of a key where that is the one in the file."""
    if len(location) < 3 or location[0] != "experiments":
        return location
    part = typed["experiments"][location[1]]
    key = next((other for other, ours in _SPELLINGS.items() if ours == location[2] and other in part), location[2])
    return (*location[:2], key, *location[3:])


def _known_keys(location: tuple[int | str, ...]) -> list[str]:
    """The keys that belong where an unknown one was found."""
    here: type[BaseModel] = PlanFile
    parts: dict[str, type[BaseModel]] = {
        "experiments": _ExperimentPart, "warmup": _WarmupPart, "schedule": _SchedulePart, "analysis": _AnalysisPart,
        "compare_pairs": _PairPart,
    }  # fmt: skip
    for name in location:
        here = parts.get(str(name), here)
    spellings = [other for other, ours in _SPELLINGS.items() if ours in here.model_fields]
    return [*here.model_fields, *spellings]
