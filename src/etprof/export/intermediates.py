"""What `--debug` keeps: every program between the model and the .pte, as text and where possible as a file to load."""

from pathlib import Path

from etprof.core.program import DEFAULT_METHOD
from etprof.export.delegation import is_delegate_call
from etprof.export.lowering import Lowered


def save_intermediates(folder: Path, lowered: Lowered) -> None:
    """Numbered in the order in which they arise; a method that is not `forward` is part of the names of its files."""
    folder.mkdir()
    for name in lowered.captured:
        _save_method(folder, lowered, name, "" if name == DEFAULT_METHOD else f"_{name}")


def _save_method(folder: Path, lowered: Lowered, name: str, suffix: str) -> None:
    import torch

    captured = lowered.captured[name]
    torch.export.save(captured, folder / f"1_captured{suffix}.pt2")
    (folder / f"1_captured{suffix}.txt").write_text(str(captured), encoding="utf-8")
    module = lowered.edge.exported_program(name).graph_module
    (folder / f"2_lowered{suffix}.txt").write_text(module.print_readable(print_output=False), encoding="utf-8")
    calls = [getattr(module, node.args[0].target) for node in module.graph.nodes if is_delegate_call(node)]
    for index, call in enumerate(calls):
        text = str(call.original_module)
        (folder / f"2_partition{suffix}_{index}.txt").write_text(text, encoding="utf-8")
    emitted = lowered.program.exported_program(name).graph_module
    (folder / f"3_emitted{suffix}.txt").write_text(emitted.print_readable(print_output=False), encoding="utf-8")
