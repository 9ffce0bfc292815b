"""What an export leaves behind names no place of this machine."""

import zipfile
from pathlib import Path

from etprof.export.machine_paths import without_machine_paths


def test_paths_are_cut_to_what_lies_below_a_known_place() -> None:
    here = Path.cwd()
    assert without_machine_paths(f'File "{here}/models/net.py", line 3') == 'File "models/net.py", line 3'
    assert without_machine_paths("nothing to cut") == "nothing to cut"


def test_no_file_of_an_export_names_a_place_of_this_machine(toy_cnn: Path) -> None:
    places = [str(Path(__file__).parents[2]).encode() + b"/", str(Path.home()).encode() + b"/"]
    for path in toy_cnn.iterdir():
        contents = [path.read_bytes()]
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                contents += [archive.read(name) for name in archive.namelist()]
        for place in places:
            assert not any(place in content for content in contents), (path.name, place)
