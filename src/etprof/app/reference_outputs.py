"""What the eager fp32 model computes from a program's inputs is kept with the run: programs are judged by it."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from etprof.core.layout import output_name, reference_folder
from etprof.core.model import TensorFile
from etprof.core.regular_files import read_regular
from etprof.core.run import OutputTensor, ProgramRecord, Session
from etprof.store.json_file import write_bytes


def keep_references(session: Session) -> Session:
    """The session with the reference outputs of each program in its folder, where its export has stored them."""
    folder = session.plan.output_root
    programs = (replace(each, reference=tuple(_keep(each, folder))) for each in session.programs)
    return replace(session, programs=tuple(programs))


def copy_references(recording: Path, session: Session) -> None:
    """The reference outputs of a recorded run, by the same names in the folder of the session."""
    for each in session.programs:
        for output in each.reference:
            if output.file and (recording / output.file).is_file():
                content = read_regular(recording / output.file)
                write_bytes(session.plan.output_root / output.file, content, durable=True)


def _keep(record: ProgramRecord, folder: Path) -> Iterator[OutputTensor]:
    """None at all where a file is not what the export wrote, or the program was given other inputs."""
    meta, model = record.export_meta, record.program.model
    # An export of one method has no name for it.
    known = meta and (meta.methods.get(record.program.method) if meta.methods else meta)
    if not known or record.inputs_sha256 != tuple(each.sha256 for each in known.inputs):
        return
    contents = [_read(model.parent / each.file, each) if each.file else b"" for each in known.reference]
    if any(content is None for content in contents):
        return
    place = reference_folder(record.experiments[0])
    for index, (each, content) in enumerate(zip(known.reference, contents, strict=True)):
        name = str(place / output_name(index)) if each.file else ""
        if name and content is not None:
            write_bytes(folder / name, content, durable=True)
        yield OutputTensor(each.dtype, each.shape, each.sha256, name)


def _read(path: Path, expected: TensorFile) -> bytes | None:
    try:
        content = read_regular(path)
    except OSError:
        return None
    return content if sha256(content).hexdigest() == expected.sha256 else None
