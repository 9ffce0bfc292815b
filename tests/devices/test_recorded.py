"""A stored run as a device: the files it gives, and what it says of blocks it does not hold."""

import json
from dataclasses import replace
from pathlib import Path

from scripted_device import a_job, a_recording, with_experiment


def test_a_recording_gives_the_files_of_the_block_it_is_asked_for(tmp_path: Path) -> None:
    recording = a_recording(tmp_path)
    first, second = a_job(tmp_path), a_job(tmp_path, index=1)
    for job, name in ((first, "on_t1"), (second, "on_t1_b2")):
        outcome = recording.run(job)
        assert (outcome.exit_code, outcome.problem) == (0, "")
        for path, suffix in ((job.result, "result.json"), (job.etdump, "etdump"), (job.log, "log")):
            assert path.read_bytes() == (recording.folder / "on" / f"{name}.{suffix}").read_bytes()
        assert (job.outputs / "output_0.bin").read_bytes() == b"same\0\0\0\0"
    said = [json.loads(job.result.read_bytes()) for job in (first, second)]
    assert [each.pop("cached_share") for each in said] == [1.0, 0.0], "every second one starts without its file cached"
    assert said[0] == said[1]
    assert first.outputs != second.outputs


def test_a_recording_describes_the_device_it_was_made_on(tmp_path: Path) -> None:
    recording = a_recording(tmp_path)
    assert recording.describe() == recording.session.device
    assert recording.platform == "recorded"


def test_a_recording_without_the_block_says_so_and_gives_nothing(tmp_path: Path) -> None:
    recording = a_recording(tmp_path)
    unknown_index, unknown_variant = a_job(tmp_path, index=9), with_experiment(a_job(tmp_path), name="other")
    assert recording.run(unknown_index).problem == "the recording does not hold on_t1, block 10"
    assert recording.run(unknown_variant).problem == "the recording does not hold other_t1, block 1"
    assert not unknown_index.etdump.exists()


def test_the_failure_of_a_block_is_recorded_too(tmp_path: Path) -> None:
    outcome = a_recording(tmp_path, on="refuse").run(a_job(tmp_path))
    assert outcome.exit_code == 1
    assert "this model needs a newer runtime" in outcome.problem


def test_samples_are_given_only_where_they_are_asked_for(tmp_path: Path) -> None:
    recording = a_recording(tmp_path)
    (recording.folder / "on" / "on_t1.kernels").write_bytes(b"samples")
    results = tuple(replace(r, samples="on/on_t1.kernels") for r in recording.session.results)
    recording = replace(recording, session=replace(recording.session, results=results))
    job = a_job(tmp_path)
    recording.run(job)
    assert list(tmp_path.glob("on/*.kernels")) == []
    recording.run(replace(job, samples=tmp_path / "on" / "on_t1.kernels"))
    assert (tmp_path / "on" / "on_t1.kernels").read_bytes() == b"samples"
