"""A stored exploration comes back as it was, and one that no run could have left is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from etprof.core.errors import StoreError
from etprof.core.exploration import Dropped, LayerLoss
from etprof.core.plan import Variant
from etprof.store.session_file import load_session, save_session
from exploration_builder import a_race, an_exploration


def test_an_exploration_comes_back_as_it_was(tmp_path: Path) -> None:
    losses = (LayerLoss("stem", 40.0), LayerLoss("norm", None))
    session = a_race(
        exploration=an_exploration(sensitivity=losses, sensitivity_scheme="static_per_channel", min_snr_db=30.0),
        dropped=(Dropped(Variant("fp16", 1), 4, "for this test"),),
    )
    session = replace(session, plan=replace(session.plan, output_root=tmp_path))
    save_session(tmp_path, session)
    loaded = load_session(tmp_path)
    assert (loaded.exploration, loaded.dropped) == (session.exploration, session.dropped)
    assert loaded.left_out == (Variant("fp16", 1),)


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        (("dropped",), [{"variant": {"experiment": "x", "threads": 1}, "rounds": 3, "reason": ""}], "not in its plan"),
        (("exploration", "candidates"), [], "is none of the builds"),
        (("exploration", "min_metric"), float("nan"), "no number"),
        (("exploration", "candidates", 0, "snr_db"), -4000.0, "out of range"),
        (("exploration", "candidates", 0, "file_bytes"), -1, "out of range"),
    ],
)
def test_what_no_race_could_have_left_is_refused(
    tmp_path: Path, where: tuple[str | int, ...], value: Any, words: str
) -> None:
    save_session(tmp_path, a_race())
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    *way, last = where
    place: Any = manifest
    for step in way:
        place = place[step]
    place[last] = value
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(StoreError, match=words):
        load_session(tmp_path)
