"""What `--debug` keeps: every program between the model and the .pte, as text and where possible as a file to load."""

from pathlib import Path

from etprof.export.delegation import is_delegate_call
from etprof.export.lowering import Lowered


def save_intermediates(folder: Path, lowered: Lowered) -> None:
    """Numbered in the order in which they arise."""
    import torch

    folder.mkdir()
    torch.export.save(lowered.captured, folder / "1_captured.pt2")
    (folder / "1_captured.txt").write_text(str(lowered.captured), encoding="utf-8")
    module = lowered.edge.exported_program().graph_module
    (folder / "2_lowered.txt").write_text(module.print_readable(print_output=False), encoding="utf-8")
    calls = [getattr(module, node.args[0].target) for node in module.graph.nodes if is_delegate_call(node)]
    for index, call in enumerate(calls):
        text = str(call.original_module)
        (folder / f"2_partition_{index}.txt").write_text(text, encoding="utf-8")
    emitted = lowered.program.exported_program().graph_module
    (folder / "3_emitted.txt").write_text(emitted.print_readable(print_output=False), encoding="utf-8")
