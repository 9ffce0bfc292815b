"""`etprof xnn-log`: the kernels an XNNPACK debug log says were registered, as a table."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import err, out
from etprof.core.errors import UsageError


def command(
    log: Annotated[Path, typer.Option("--xnntrace", help="The debug log of a runner of your own build.")],
    target: Annotated[Path, typer.Option("--out", help="Where the table goes (CSV).")],
) -> None:
    """List the kernels of an XNNPACK debug log. They were registered, which does not mean that they executed."""
    from etprof.analysis.executed_code import class_of_name
    from etprof.core.samples import REGISTERED
    from etprof.store.kernel_files import write_rows
    from etprof.traces.xnn_log import read_xnn_log

    if not target.parent.is_dir():
        raise UsageError(f"There is no folder {target.parent}.")
    kernels = read_xnn_log(log)
    rows = [
        {
            "level": REGISTERED,
            "operator": f"{k.operation} ({', '.join(k.data_types)})" if k.operation else k.name,
            "data_type": " ".join(k.data_types),
            "kernel": k.name,
            "instruction_class": class_of_name(k.name),
        }
        for k in kernels
    ]
    write_rows(target, rows)
    out.print(f"{len(rows)} kernels, {REGISTERED}: {target}", markup=False)
    err.print("note: registered is not executed; `etprof kernels MODEL.pte` samples what executes.", markup=False)
