"""Writes a report in its formats; Markdown brings its charts along, as SVG and PNG in a folder beside it."""

from pathlib import Path

from etprof.core.report import Report
from etprof.reports import FORMATS
from etprof.store.json_file import write_bytes
from etprof.store.layout import REPORT_FILES


def write_format(report: Report, name: str, path: Path) -> None:
    if name == "md":
        # The charts' library takes its time to load, and only this needs it.
        from etprof.reports.charts import render_files
        from etprof.reports.markdown import CHART_FOLDER

        for file_name, content in render_files(report).items():
            write_bytes(path.parent / CHART_FOLDER / file_name, content)
    write_bytes(path, FORMATS[name](report).encode("utf-8"))


def write_all(report: Report, folder: Path) -> None:
    """Every format that is a file, under the name it has in a run's folder."""
    for name, file_name in REPORT_FILES.items():
        write_format(report, name, folder / file_name)
