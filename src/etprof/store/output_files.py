"""The files of outputs in a run's folder: the same bytes are kept once, whichever blocks gave them."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from etprof.core.run import BlockResult


def share_outputs(folder: Path, result: BlockResult, earlier: tuple[BlockResult, ...]) -> BlockResult:
    """The result with each output named after the first successful block that gave the same bytes; copies are removed.

    Digests stay with their block, so that one that computed something else is still seen, and keeps its file.
    """
    if not result.is_ok:
        return result
    kept = {output.sha256: output.file for each in reversed(earlier) if each.is_ok for output in each.outputs}
    outputs = []
    for output in result.outputs:
        first = kept.setdefault(output.sha256, output.file)
        is_copy = output.file and first != output.file and (folder / first).is_file()
        if is_copy:
            (folder / output.file).unlink(missing_ok=True)
            # Only where the block has no file of its own left.
            with suppress(OSError):
                (folder / output.file).parent.rmdir()
        outputs.append(replace(output, file=first) if is_copy else output)
    return replace(result, outputs=tuple(outputs))
