"""What a fleet is asked to run: plan files, models, and names of models, some of which have to be exported first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from etprof.app.fleet.exports import EXPORTS
from etprof.app.fleet.parcels import Parcel, build_parcel
from etprof.app.named_model import find_absent_export, find_export
from etprof.app.plans import PROFILE_SCHEDULE, read_plan
from etprof.core.errors import UsageError
from etprof.core.plan import Plan
from etprof.export.registry import find_models_dir
from etprof.export.request import ExportRequest
from etprof.store.paths import require_file


@dataclass(frozen=True)
class NamedExports:
    """How models are exported that are given by their names."""

    dtype: str = ""
    quantize: bool = False
    models_dir: Path | None = None

    def find(self, model: Path) -> ExportRequest | None:
        """The export of a model that is not there; None for the path of one that is."""
        if absent := find_absent_export(model, self.models_dir):
            return absent
        if not is_name(model):
            return None
        return find_export(str(model), dtype=self.dtype, quantize=self.quantize, models_dir=self.models_dir)


@dataclass(frozen=True)
class AskedPlan:
    """A plan by a name that can be a folder's; `exports` are those of its models, by the paths it has for them."""

    name: str
    plan: Plan
    source: Path | None
    exports: Mapping[Path, ExportRequest] = field(default_factory=dict)

    @cached_property
    def _whole(self) -> Parcel:
        return build_parcel(self.plan, self.source)

    @property
    def digest(self) -> str:
        """Of the plan and every file it needs; of a model that is to be exported, of what is asked for."""
        if not self.exports:
            return self._whole.digest
        wanted = [(str(path), request.settings()) for path, request in self.exports.items()]
        return sha256(repr((self.plan, wanted)).encode()).hexdigest()

    def pack(self, made: Mapping[ExportRequest, Path | str]) -> Parcel | str:
        """The plan with its files, or why a model of it could not be exported."""
        if not self.exports:
            return self._whole
        files = {path: made[request] for path, request in self.exports.items()}
        for found in files.values():
            if isinstance(found, str):
                return found
        return build_parcel(_name_models(self.plan, {path: Path(found) for path, found in files.items()}), self.source)


def read_plans(paths: Sequence[Path], named: NamedExports) -> list[AskedPlan]:
    if not paths:
        raise UsageError("A fleet needs a plan.", hint="Name plan files, or models to profile on each device.")
    # What is wrong is said before a scheduler is asked for.
    find_models_dir(named.models_dir)
    asked: list[AskedPlan] = []
    for number, path in enumerate(paths):
        if path in paths[:number]:
            raise UsageError(f"{path} is named twice.", hint="--repeat N runs each plan N times.")
        asked.append(_read(path, named, {each.name for each in asked}))
    _refuse_unused(asked, named)
    for each in asked:
        _ = each.digest
    return asked


def _read(path: Path, named: NamedExports, taken: set[str]) -> AskedPlan:
    """A model is profiled with the plan that fits the device, which has no experiments before that is known."""
    if path.suffix == ".pte" or is_name(path):
        export = named.find(path)
        if export is None:
            require_file(path, "model", hint="Export it first: `etprof export MODEL`.")
        plan = Plan(path, Path("run"), (), (), replace(PROFILE_SCHEDULE))
        name = _choose_name(export.stem if export else path.stem, taken)
        return AskedPlan(name, plan, None if export else path, {path: export} if export else {})
    plan = read_plan(path)
    models = dict.fromkeys([plan.model, *(e.model for e in plan.experiments if e.model)])
    exports = {model: export for model in models if (export := named.find(model))}
    return AskedPlan(_choose_name(path.stem, taken), plan, path, exports)


def is_name(path: Path) -> bool:
    """Whether it is a model's name rather than a path."""
    return find_export(str(path)) is not None


def _choose_name(stem: str, taken: set[str]) -> str:
    """Plans of the same name are numbered."""
    name, count = stem, 2
    while name in taken or name == EXPORTS:
        name, count = f"{stem}-{count}", count + 1
    return name


def _refuse_unused(asked: Sequence[AskedPlan], named: NamedExports) -> None:
    if named == NamedExports() or any(is_name(path) for each in asked for path in each.exports):
        return
    raise UsageError(
        "--dtype, --quantize and --models-dir are for names of models, and no plan has one.",
        hint="Omit them, or give a model's name: `etprof models list` lists them.",
    )


def _name_models(plan: Plan, files: Mapping[Path, Path]) -> Plan:
    experiments = tuple(replace(e, model=files.get(e.model, e.model) if e.model else None) for e in plan.experiments)
    return replace(plan, model=files.get(plan.model, plan.model), experiments=experiments)
