"""A loaded run answers for its variants."""

from dataclasses import replace

import pytest

from builders import a_device_info, a_loaded_run, a_result, a_session
from etprof.core.plan import Variant


def test_a_variant_knows_its_experiment_model_and_method() -> None:
    run = a_loaded_run(a_session(results=(a_result("on", method_name="encode"),)))
    on, off = run.of(Variant("on", 1)), run.of(Variant("off", 1))
    assert (off.experiment.hide_isa, on.experiment.hide_isa) == (("avx512",), ())
    assert on.model == run.session.plan.model
    assert (on.method, off.method) == ("encode", "")
    with pytest.raises(StopIteration):
        run.of(Variant("on", 2))


def test_the_newest_session_speaks_for_the_run() -> None:
    run = a_loaded_run()
    emulated = a_session(device=a_device_info(times_are_real=False))
    both = replace(run, sessions=(run.session, emulated))
    assert both.session is emulated
    assert (run.times_are_real, both.times_are_real) == (True, False)
    assert run.variants[0].times_are_real
