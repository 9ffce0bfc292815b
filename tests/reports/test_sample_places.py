"""Every active sample is in one place, and what is not in kernels of the extension has a reason."""

from etprof.core.estimates import Interval
from etprof.core.kernel_evidence import Executed, OperatorKernels
from etprof.core.rows import KernelUse
from etprof.reports.sample_places import evidence_sentence, list_places, places_sentence
from evidence_builder import an_evidence, sampled_operator

_NONE = Interval(0.0, 0.0, 0.02)


def _product(samples: int, hits: int, executed: Executed, **changes: str) -> OperatorKernels:
    kernels = (KernelUse("kai_sme2", "SME", hits), KernelUse("", "NEON", samples - hits))
    share = Interval(hits / samples, 0.0, 1.0)
    return sampled_operator(
        "d0.0", "Fully Connected (NC, F32) GEMM #1", *kernels, share=share, executed=executed, **changes
    )


def _other(identity: str, name: str, category: str) -> OperatorKernels:
    kernel = KernelUse("", "NEON", 100)
    delegated = identity.startswith("d")
    return sampled_operator(
        identity, name, kernel, share=_NONE, executed=Executed.NO, category=category, delegated=delegated
    )


def test_every_sample_is_in_one_place() -> None:
    evidence = an_evidence(
        _product(400, 300, Executed.YES),
        _product(100, 0, Executed.NO, reason="depthwise has no SME2 kernel"),
        _product(50, 0, Executed.NO),
        _product(10, 1, Executed.UNCLEAR),
        _other("d0.5", "Add (ND) #1", "Elementwise"),
        _other("p0", "native_call_index_put.out", "Data Movement"),
        outside=39,
    )
    places = list_places(evidence)
    assert sum(place.samples for place in places) == evidence.samples == 799
    assert [(place.title, place.samples) for place in places] == [
        ("SME2 kernels", 301),
        ("Other code of Convolution/GEMM operators that executed SME2", 100),
        ("1 Convolution/GEMM operator without SME2", 100),
        ("1 Convolution/GEMM operator without SME2", 50),
        ("1 Convolution/GEMM operator with too few samples", 9),
        ("Other code of 1 other delegated operator", 100),
        ("1 portable operator", 100),
        ("Outside of operators", 39),
    ]
    assert [place.why for place in places[2:4]] == [
        "depthwise has no SME2 kernel",
        "not known: nothing is predicted of them on this CPU",
    ]
    function = "most samples, 100: unnamed (NEON), as in "
    assert places[1].why.endswith(f"{function}Fully Connected (NC, F32) GEMM #1 [d0.0]")
    assert places[5].why.endswith(f"{function}Add (ND) #1 [d0.5]")
    assert places[6].why.startswith("portable operators have no SME2 kernels")


def test_the_sentence_names_the_largest_places_first_and_no_small_ones() -> None:
    evidence = an_evidence(
        _product(400, 300, Executed.YES), _other("p0", "native_call_mean.out", "Other"), outside=4, verdict="Yes."
    )
    expected = (
        "Of all samples 59.5 %; elsewhere: 19.8 % other code of Convolution/GEMM (functions without it), "
        "19.8 % portable operators (no such kernels)."
    )
    assert places_sentence(evidence) == expected
    assert evidence_sentence(evidence) == f"Yes. {expected}"


def test_nothing_is_said_of_places_where_the_extension_was_not_met_or_hidden() -> None:
    unmet = an_evidence(_product(400, 0, Executed.NO), verdict="No.")
    assert (places_sentence(unmet), evidence_sentence(unmet)) == ("", "No.")
    hidden = an_evidence(_product(400, 300, Executed.YES), shown=False, verdict="Yes.")
    assert evidence_sentence(hidden) == "Yes."
    assert list_places(an_evidence()) == []
