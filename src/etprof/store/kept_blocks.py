"""Saves a block with the session it belongs to: once that is done, neither a kill nor a loss of power takes it away."""

import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from etprof.core.errors import StoreError
from etprof.core.layout import block_files
from etprof.core.run import BlockResult, Session
from etprof.store.json_file import make_durable
from etprof.store.session_file import save_session


def keep_block(result: BlockResult, session: Session) -> tuple[BlockResult, Session]:
    """Saves a block. One that fills the disk has failed: its own files are removed so that the record fits."""
    folder = session.plan.output_root
    saved = replace(session, results=(*session.results, result))
    files = block_files(result.variant, result.index, session.program(result.variant).program.runtime)
    outputs = (Path(output.file) for output in result.outputs if output.file)
    try:
        # What a saved session names is there, whatever happens next.
        make_durable(folder, (files.result, files.etdump, files.samples, files.steps, files.log, *outputs))
        save_session(folder, saved)
    except StoreError as error:
        for path in (files.result, files.etdump, files.samples, files.steps):
            (folder / path).unlink(missing_ok=True)
        shutil.rmtree(folder / files.outputs, ignore_errors=True)
        result = replace(result, error=result.error or error.message, etdump="", samples="", steps="", outputs=())
        saved = replace(session, results=(*session.results, result))
        # If there is still no space, the next save may find some; the last one of the run reports it.
        with suppress(StoreError):
            save_session(folder, saved)
    return result, saved
