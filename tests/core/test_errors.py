"""Errors carry a sentence, a remedy and an exit code."""

from etprof.core.errors import EtprofError, PlanError, UnknownNameError, nearest_names_hint


def test_an_unknown_name_offers_the_nearest_ones() -> None:
    error = UnknownNameError("model", "toy_cn", ["toy_cnn", "vit_tiny"])
    assert error.message == "There is no model called 'toy_cn'."
    assert error.hint == "Did you mean 'toy_cnn'?"


def test_a_name_like_nothing_else_gets_the_fallback_hint() -> None:
    assert UnknownNameError("model", "zzz", ["toy_cnn"], hint="See `etprof models`.").hint == "See `etprof models`."
    assert nearest_names_hint("zzz", ["toy_cnn"]) == ""


def test_case_does_not_keep_a_near_name_from_being_found() -> None:
    assert nearest_names_hint("TOY_CNN", ["toy_cnn"]) == "Did you mean 'toy_cnn'?"


def test_wrong_usage_and_failure_have_different_exit_codes() -> None:
    assert EtprofError("x").exit_code == 1
    assert PlanError("x").exit_code == 2
