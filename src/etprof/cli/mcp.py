"""`etprof mcp`: the operations as tools for an assistant, over the Model Context Protocol."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    workspace: Annotated[
        Path, typer.Option(metavar="DIR", help="Files outside of this folder are neither read nor written.")
    ] = Path(),
    allow_run: Annotated[
        bool, typer.Option("--allow-run", help="Offer to export and run models; without it the server only reads.")
    ] = False,
) -> None:
    from etprof.export.dependencies import require_supported

    require_supported(("mcp",), "`etprof mcp`")
    from etprof.mcp.server import serve

    serve(workspace, allow_run=allow_run)
