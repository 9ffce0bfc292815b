"""etprof: where an ExecuTorch model spends its time, and what SME2 changes about it.

The names in `__all__` are the public API, described in docs/guides/python.md. Each is imported when it is first used,
so that `import etprof` takes a moment.
"""

__version__ = "0.2.0"

__all__ = [
    "Artifact",
    "Check",
    "EagerModelBase",
    "EtprofError",
    "Fleet",
    "History",
    "ModelExplanation",
    "Quantization",
    "Run",
    "RunComparison",
    "RunForecast",
    "Table",
    "Trace",
    "__version__",
    "calibrate",
    "check",
    "compare",
    "explain",
    "explore",
    "export",
    "forecast",
    "llm",
    "load_run",
    "peaks",
    "profile",
    "read_llm_log",
    "read_trace",
    "register_model",
    "run_plan",
    "self_test",
]

# Type checkers know the name. Importing it from typing would take ten times as long as everything else here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from etprof.api.checking import Check, check
    from etprof.api.devices import peaks, self_test
    from etprof.api.explaining import ModelExplanation, explain
    from etprof.api.exploring import explore
    from etprof.api.exporting import export
    from etprof.api.fleet import Fleet
    from etprof.api.forecasting import RunForecast, calibrate, forecast
    from etprof.api.history import History
    from etprof.api.llm import llm, read_llm_log
    from etprof.api.profiling import profile, run_plan
    from etprof.api.runs import Run, RunComparison, compare, load_run
    from etprof.api.tables import Table
    from etprof.api.traces import Trace, read_trace
    from etprof.core.errors import EtprofError
    from etprof.core.model import Artifact, EagerModelBase
    from etprof.export.registry import register_model
    from etprof.export.request import Quantization
else:
    # Hidden from type checkers, which would take every misspelt name for one that `__getattr__` knows.
    import sys
    from importlib import import_module
    from types import ModuleType

    _NAMES = {
        "etprof.api.checking": ("Check", "check"),
        "etprof.api.devices": ("peaks", "self_test"),
        "etprof.api.explaining": ("ModelExplanation", "explain"),
        "etprof.api.exploring": ("explore",),
        "etprof.api.exporting": ("export",),
        "etprof.api.forecasting": ("RunForecast", "calibrate", "forecast"),
        "etprof.api.fleet": ("Fleet",),
        "etprof.api.history": ("History",),
        "etprof.api.llm": ("llm", "read_llm_log"),
        "etprof.api.profiling": ("profile", "run_plan"),
        "etprof.api.runs": ("Run", "RunComparison", "compare", "load_run"),
        "etprof.api.tables": ("Table",),
        "etprof.api.traces": ("Trace", "read_trace"),
        "etprof.core.errors": ("EtprofError",),
        "etprof.core.model": ("Artifact", "EagerModelBase"),
        "etprof.export.registry": ("register_model",),
        "etprof.export.request": ("Quantization",),
    }
    _MODULES = {name: module for module, names in _NAMES.items() for name in names}

    class _Package(ModuleType):
        """`etprof.export` stays the function: importing the subpackage of that name would put it in its place."""

        def __setattr__(self, name, value):
            if not (name in _MODULES and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

    sys.modules[__name__].__class__ = _Package

    def __getattr__(name):
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return value

    def __dir__():
        return list(__all__)
