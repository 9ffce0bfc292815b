"""A plan as users write it (JSON), and the Plan it stands for; who is compared with whom is settled here."""

import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from etprof.core.errors import PlanError, nearest_names_hint
from etprof.core.extensions import HIDDEN_TOGETHER
from etprof.core.plan import (
    Experiment,
    Pair,
    Plan,
    Schedule,
    Warmup,
)
from etprof.core.runtimes import EXECUTORCH
from etprof.core.workload import Workload
from etprof.store.core_lists import CORES
from etprof.store.file_keys import NOT_OURS, describe_place, describe_problem
from etprof.store.json_file import read_json, write_json
from etprof.store.paths import require_file
from etprof.store.plan_pairs import settle_pairs
from etprof.store.plan_parts import AnalysisPart, ExperimentPart, PairPart, PlanFile, SchedulePart, Shapes, WarmupPart
from etprof.store.workload_file import as_content, find_workload
from etprof.store.workload_file import json_schema as workload_schema

# The users' documents spell these keys both ways.
_SPELLINGS = {"num_runs": "runs", "num_threads": "threads"}
# A runner_path that stands for etprof's own runner.
_OWN_RUNNER = (None, "", "auto")
_PLACEHOLDER = re.compile(r"<[^>]*>|\bpath/to/|\bYOUR_", re.IGNORECASE)
_TEMPLATES_HINT = "`etprof profile MODEL --write-plan plan.json` writes a plan for this machine, to be edited."


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
    experiment = schema["$defs"]["ExperimentPart"]["properties"]
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
    parts: list[PlanFile | ExperimentPart] = [file, *file.experiments]
    for part in parts:
        if part.workload and (part.inputs or part.input_shapes):
            where = f"the experiment {part.name!r}" if isinstance(part, ExperimentPart) else "the plan"
            raise PlanError(
                f"{source}: {where} has a workload, and inputs or shapes beside it.",
                hint="A workload names the inputs of its phases: omit inputs and input_shapes.",
            )


def _experiment(part: ExperimentPart, where: str) -> Experiment:
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


def _shapes(listed: Shapes) -> tuple[tuple[int, ...], ...]:
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
        "experiments": ExperimentPart, "warmup": WarmupPart, "schedule": SchedulePart, "analysis": AnalysisPart,
        "compare_pairs": PairPart,
    }  # fmt: skip
    for name in location:
        here = parts.get(str(name), here)
    spellings = [other for other, ours in _SPELLINGS.items() if ours in here.model_fields]
    return [*here.model_fields, *spellings]
