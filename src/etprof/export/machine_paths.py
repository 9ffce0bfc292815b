"""Keeps this machine's places out of what an export leaves behind: logs and stack traces name files only."""

import re
import site
import sys
import sysconfig
from pathlib import Path
from typing import Any


def without_machine_paths(text: str) -> str:
    """The text with every path below a place of this machine cut to what lies below it, the longest place first."""
    for place in _places():
        text = text.replace(place, "")
    return text


def _places() -> list[str]:
    roots = {str(Path.cwd()), str(Path.home()), sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()}
    roots |= {*site.getsitepackages(), str(Path(__file__).parents[3])}
    return sorted((f"{root.rstrip('/')}/" for root in roots if len(root) > 1), key=len, reverse=True)


def shorten_stack_traces(exported: Any) -> None:
    """Cuts the paths in the stack traces a captured program carries: an ETRecord would keep them as they are."""
    for module in exported.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            trace = node.meta.get("stack_trace")
            if trace:
                node.meta["stack_trace"] = re.sub(r'(?<=File ")[^"]+', lambda m: without_machine_paths(m[0]), trace)
