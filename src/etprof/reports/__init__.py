"""Report to text: one module a format, each with `render(report) -> str`."""

from collections.abc import Callable
from importlib import import_module

from etprof.core.report import Report

_MODULES = {
    "console": "console",
    "md": "markdown",
    "html": "html",
    "json": "json",
    "csv": "csv",
    "trace": "chrome_trace",
}


def _renderer(module: str) -> Callable[[Report], str]:
    def render(report: Report) -> str:
        # Charts bring a whole library along, which a console table can do without.
        text: str = import_module(f"etprof.reports.{module}").render(report)
        return text

    return render


FORMATS: dict[str, Callable[[Report], str]] = {name: _renderer(module) for name, module in _MODULES.items()}
