"""Report to text: one module a format, each with `render(report) -> str`."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from etprof.core.report import Report


@dataclass(frozen=True)
class Format:
    """`file` is its name in a run's folder, empty for text that is printed; `module` renders it.

    One that is only written `on_request` is for a program that few have.
    """

    file: str
    module: str
    on_request: bool = False

    def render(self, report: "Report") -> str:
        # Charts bring a whole library along, which a console table can do without.
        text: str = import_module(f"etprof.reports.{self.module}").render(report)
        return text

    def render_files(self, report: "Report") -> dict[str, bytes]:
        """What lies beside the file, by its name from there, such as the charts of Markdown."""
        module = import_module(f"etprof.reports.{self.module}")
        files: dict[str, bytes] = module.render_files(report) if hasattr(module, "render_files") else {}
        return files


FORMATS = {
    "console": Format("", "console"),
    "md": Format("report.md", "markdown"),
    "html": Format("report.html", "html"),
    "json": Format("analysis_summary.json", "json"),
    "csv": Format("report.csv", "csv"),
    "trace": Format("trace.json", "chrome_trace"),
    "model-explorer": Format("model_explorer.json", "model_explorer", on_request=True),
}
