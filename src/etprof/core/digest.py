"""Digests, so that a result can be tied to the very bytes it was measured with."""

import hashlib
from pathlib import Path

_CHUNK = 1 << 20


def file_sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def content_sha256(path: Path) -> str:
    """The digest of a file, or of all files in a folder with their names."""
    if path.is_file():
        return file_sha256(path)
    digest = hashlib.sha256()
    for each in sorted(p for p in path.iterdir() if p.is_file()):
        digest.update(f"{each.name} {file_sha256(each)}\n".encode())
    return digest.hexdigest()
