"""Whole functions around samples, out of the file of a library."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.samples import CodeLocation, KernelSamples
from etprof.traces.function_code import add_function_code
from sample_builder import XNNPACK, place, samples

RETURN, NEON, SDOT = (word.to_bytes(4, "little") for word in (0xD65F03C0, 0x4E22CC20, 0x4E829420))
TEXT, ADDRESS = 0x100, 0x1100
# Two functions: one ends with the return at 0x1108, the other one reaches from there to the end.
CODE = NEON + NEON + RETURN + NEON + SDOT + RETURN


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """An ELF file whose code is loaded at another address than its place in the file."""
    headers = bytearray(TEXT)
    struct.pack_into("<Q", headers, 0x20, 0x40)
    struct.pack_into("<HH", headers, 0x36, 56, 2)
    struct.pack_into("<IIQQQQ", headers, 0x40, 6, 4, 0x40, 0x40, 0x40, 112)
    struct.pack_into("<IIQQQQ", headers, 0x40 + 56, 1, 5, TEXT, ADDRESS, ADDRESS, len(CODE))
    path = tmp_path / XNNPACK
    path.write_bytes(bytes(headers) + CODE)
    return path


def sampled_at(offset: int, *, function: int = -1, symbol: str = "") -> KernelSamples:
    where = replace(place(NEON, symbol), offset=offset, function=function)
    return samples([(0, where)])


def code_of(found: KernelSamples) -> list[tuple[int, bytes]]:
    return [(each.function, each.code) for each in found.locations]


def test_assembly_reaches_from_one_return_to_the_next(library: Path) -> None:
    found = add_function_code(sampled_at(ADDRESS + 12), library)
    assert code_of(found) == [(ADDRESS + 12, code) for code in (NEON, NEON, SDOT, RETURN)]
    assert found.location.tolist() == [0]


def test_the_first_function_begins_where_the_code_does(library: Path) -> None:
    assert code_of(add_function_code(sampled_at(ADDRESS + 4), library))[0] == (ADDRESS, NEON)


def test_a_beginning_that_is_known_is_kept(library: Path) -> None:
    found = add_function_code(sampled_at(ADDRESS + 16, function=ADDRESS), library)
    assert [function for function, _ in code_of(found)] == [ADDRESS] * 7


@pytest.mark.parametrize("offset", [0x10, ADDRESS + len(CODE)])
def test_what_is_outside_of_the_code_stays_as_it_is(library: Path, offset: int) -> None:
    given = sampled_at(offset)
    assert add_function_code(given, library).locations == given.locations


def test_a_function_that_has_a_name_needs_no_more(library: Path) -> None:
    given = sampled_at(ADDRESS + 4, symbol="kai_kernel")
    assert add_function_code(given, library).locations == given.locations


def test_a_return_is_a_whole_instruction(library: Path) -> None:
    """The same bytes across two instructions are no return."""
    content = bytearray(library.read_bytes())
    content[TEXT + 2 : TEXT + 6] = RETURN
    library.write_bytes(bytes(content))
    location: CodeLocation = add_function_code(sampled_at(ADDRESS + 8), library).locations[0]
    assert location.function == ADDRESS
