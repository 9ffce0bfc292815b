"""What the operating system reports, in cpuinfo's names."""

import pytest

from etprof.core.extensions import ARM64, best_extension
from etprof.core.macos import parse_sysctls
from etprof.runner.cpu_features import (
    host_architecture,
    parse_macos_features,
    parse_macos_vector_bits,
    parse_x86_flags,
    present_features,
    read_cpu_model,
    read_reported_features,
    read_sme_vector_bits,
)
from etprof.runner.isa import ARM64_MACOS_SYSCTLS, LAYOUTS, X86_64_LINUX_FLAGS
from macos_text import M1_FEATURES, M4_FEATURES

pytestmark = pytest.mark.portable


def test_flags_of_proc_cpuinfo_become_cpuinfo_names() -> None:
    text = "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu pni avx2 avx512_vnni abm bmi1\nflags\t\t: sse4a\n"
    reported = parse_x86_flags(text)
    assert {name for name, present in reported.items() if present} == {"sse3", "avx2", "avx512vnni", "lzcnt", "bmi"}
    assert set(reported) == set(X86_64_LINUX_FLAGS.values())


def test_a_cpuinfo_without_flags_reports_nothing_rather_than_absence() -> None:
    assert parse_x86_flags("processor\t: 0\n") == {}


def test_this_machine_reports_known_features() -> None:
    reported = read_reported_features()
    assert set(reported) <= set(LAYOUTS[host_architecture()].offsets)
    assert set(present_features()) == {name for name, present in reported.items() if present}
    assert len(present_features()) > 5


def test_this_cpu_has_a_name() -> None:
    assert read_cpu_model().strip()


def test_a_vector_length_is_told_only_where_there_is_sme() -> None:
    bits = read_sme_vector_bits()
    assert (bits is not None and bits >= 128) == ("sme" in present_features())


def test_features_of_a_mac_come_from_its_sysctls() -> None:
    reported = parse_macos_features(parse_sysctls(M4_FEATURES))
    assert set(reported) == set(ARM64_MACOS_SYSCTLS.values())
    assert all(reported.values())
    assert parse_macos_vector_bits(parse_sysctls(M4_FEATURES)) == 512
    assert best_extension(ARM64, list(reported)).label == "SME2"


def test_what_an_older_mac_does_not_name_is_absent_and_the_comparison_is_about_what_it_has() -> None:
    reported = parse_macos_features(parse_sysctls(M1_FEATURES))
    assert {name for name, present in reported.items() if not present} == {"bf16", "i8mm", "sme", "sme2"}
    assert parse_macos_vector_bits(parse_sysctls(M1_FEATURES)) is None
    present = [name for name, there in reported.items() if there]
    assert best_extension(ARM64, present).label == "dot product"
