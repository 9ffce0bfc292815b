"""The folder of a run that can be forecast: of the scripted runner, with the graph of what it records."""

from pathlib import Path

from etprof.core.layout import graph_path
from etprof.export.graph_file import save_graph
from graph_builder import a_graph
from report_builder import the_graph
from scripted_device import a_runnable_plan, run_scripted


def a_run_to_forecast(folder: Path) -> Path:
    plan = a_runnable_plan(folder, blocks=3)
    convolution, transpose, *_ = the_graph().partitions[0]
    save_graph(graph_path(plan.model), a_graph((convolution, transpose)))
    run_scripted(plan)
    return plan.output_root
