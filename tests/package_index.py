"""A package index on this machine: tiny wheels in a folder that a web server lists, which notes what was asked for."""

import base64
import hashlib
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


def build_wheel(
    folder: Path, name: str, version: str, requires: tuple[str, ...] = (), extras: tuple[str, ...] = ()
) -> Path:
    """A wheel of one module, which pip installs like any other."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    needs = "".join([*(f"Requires-Dist: {each}\n" for each in requires), *(f"Provides-Extra: {e}\n" for e in extras)])
    files = {
        f"{name}.py": f"__version__ = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in files.items()]
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"])
    target = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(target, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return target


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@dataclass
class PackageIndex:
    """`asked` has the path of every request."""

    folder: Path
    address: str = ""
    asked: list[str] = field(default_factory=list)

    def add(self, name: str, version: str, requires: tuple[str, ...] = ()) -> None:
        build_wheel(self.folder / name, name, version, requires)

    def fetched(self, name: str) -> list[str]:
        """The wheels of a package that were fetched, in their order."""
        paths = [Path(unquote(path)) for path in self.asked]
        return [path.name for path in paths if path.suffix == ".whl" and path.parent.name == name]


@contextmanager
def serve_index(folder: Path) -> Iterator[PackageIndex]:
    index = PackageIndex(folder)

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            index.asked.append(self.path)
            super().do_GET()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    folder.mkdir(parents=True, exist_ok=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        index.address = f"http://127.0.0.1:{server.server_address[1]}"
        yield index
        server.shutdown()
        thread.join()
