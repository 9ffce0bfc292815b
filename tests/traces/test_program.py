"""What an ExecuTorch program says of itself, read without a runtime."""

from contextlib import suppress
from pathlib import Path

import pytest

from etprof.core.errors import TraceError
from etprof.core.program import ProgramFile, ProgramTensor
from etprof.traces.program import read_program
from program_builder import FLOAT32, Call, Method, Number, Tensor, build_program

pytestmark = pytest.mark.portable

_STRING = 6


def read(tmp_path: Path, *methods: Method) -> ProgramFile:
    path = tmp_path / "model.pte"
    path.write_bytes(build_program(*methods))
    return read_program(path)


def test_methods_have_their_inputs_and_outputs_in_order(tmp_path: Path) -> None:
    values = (Tensor((1, 3), FLOAT32), _STRING, Tensor((16, 8), is_dynamic=True))
    encode = Method("encode", values, inputs=(2, 0), outputs=(1, 0))
    program = read(tmp_path, encode, Method("decode"))
    assert program.names == ("encode", "decode")
    assert [each.label for each in program.methods[0].inputs if isinstance(each, ProgramTensor)] == [
        "uint8 [at most 16, 8]", "float32 [1, 3]",
    ]  # fmt: skip
    assert program.methods[0].outputs == ("string", ProgramTensor("float32", 4, (1, 3)))


def test_what_stands_before_the_last_input_and_has_memory_is_state(tmp_path: Path) -> None:
    constant, buffer, image, computed = Tensor((4,), has_memory=False), Tensor((1,)), Tensor((5,)), Tensor((2,))
    method = Method(values=(constant, buffer, image, computed), inputs=(2,), outputs=(3,))
    assert [tensor.shape for tensor in read(tmp_path, method).methods[0].state] == [(1,)]


@pytest.mark.parametrize("buffer", [Tensor((3,), name="cache.keys"), Tensor((3,), has_value=True)])
def test_a_name_or_an_initial_value_tells_state_wherever_it_stands(tmp_path: Path, buffer: Tensor) -> None:
    method = Method(values=(Tensor((5,)), Tensor((2,)), buffer), inputs=(0,), outputs=(1,))
    (state,) = read(tmp_path, method).methods[0].state
    assert (state.shape, state.name) == ((3,), buffer.name)


def test_a_constant_with_a_name_is_no_state(tmp_path: Path) -> None:
    weight = Tensor((3,), has_memory=False, has_value=True, name="layer.weight")
    method = Method(values=(weight, Tensor((5,)), Tensor((2,))), inputs=(1,), outputs=(2,))
    assert read(tmp_path, method).methods[0].state == ()


def test_forward_is_found_unnamed_and_the_only_method_as_well(tmp_path: Path) -> None:
    several = read(tmp_path, Method("encode"), Method("forward"))
    assert [found.name for wanted in ("", "encode") if (found := several.find(wanted))] == ["forward", "encode"]
    assert several.find("decode") is None
    only = read(tmp_path, Method("encode")).find("")
    assert only is not None
    assert only.name == "encode"
    assert read(tmp_path, Method("encode"), Method("decode")).find("") is None


def test_a_file_that_is_no_program_is_refused_with_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    for content in (b"", b"model", build_program(identifier=b"ED00")):
        path.write_bytes(content)
        with pytest.raises(TraceError, match=r"model.pte cannot be loaded: it is not an ExecuTorch program"):
            read_program(path)
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        read_program(tmp_path / "none.pte")


def test_a_program_that_was_cut_off_or_changed_is_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    whole, path = build_program(Method(values=(Tensor((5,), name="a"), Tensor((2,))))), tmp_path / "model.pte"
    for end in range(32, len(whole), 3):
        path.write_bytes(whole[:end])
        with pytest.raises(TraceError, match="cannot be loaded"):
            read_program(path)
    for at in range(8, len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 0xFF
        path.write_bytes(changed)
        with suppress(TraceError):
            read_program(path)


def test_a_method_that_only_returns_a_number_is_a_fact_of_the_program(tmp_path: Path) -> None:
    facts = {"get_max_seq_len": 128, "use_kv_cache": True, "get_n_bos": -1}
    methods = [Method(name, (Number(value),), (), (0,)) for name, value in facts.items()]
    program = read(tmp_path, Method("encode"), *methods)
    assert program.facts == facts
    assert [method.name for method in program.computing] == ["encode"]
    # The only one that computes is what runs where none is named.
    assert program.find("") == program.methods[0]


@pytest.mark.parametrize(
    "method",
    [
        Method("takes_an_input", (Number(1), Tensor((2,))), (1,), (0,)),
        Method("returns_two", (Number(1), Number(2)), (), (0, 1)),
        Method("returns_a_tensor", (Tensor((2,)),), (), (0,)),
        Method("computes", (Number(1),), (), (0,), calls=(Call("aten::add.out", (0,)),)),
    ],
    ids=lambda method: method.name,
)
def test_any_other_method_is_no_fact(tmp_path: Path, method: Method) -> None:
    assert read(tmp_path, method).facts == {}


def test_operators_outside_of_delegates_have_their_names(tmp_path: Path) -> None:
    calls = (Call("aten::add.out", (0, 1)), Call("llama::update_cache.out", (0,)), Call("aten::add.out", (1, 0)))
    assert read(tmp_path, Method(calls=calls)).methods[0].operators == ("aten::add.out", "llama::update_cache.out")


def test_state_has_the_bytes_of_its_tensors(tmp_path: Path) -> None:
    values = (Tensor((2, 3), FLOAT32, name="keys"), Tensor((5,)), Tensor((2,)))
    assert read(tmp_path, Method(values=values, inputs=(1,), outputs=(2,))).methods[0].state_bytes == 24


def test_methods_whose_state_has_a_buffer_of_its_own_have_it_in_common(tmp_path: Path) -> None:
    def method(name: str, arena: int) -> Method:
        values = (
            Tensor((4,), name="cache", place=(arena, 0)),
            Tensor((5,), place=(1, 0)),
            Tensor((2,), place=(1, 16)),
        )
        return Method(name, values, inputs=(1,), outputs=(2,))

    shared = read(tmp_path, method("prefill", 2), method("decode", 2))
    assert (shared.shared_arenas, shared.state_bytes) == ((1,), 4)
    assert len(shared.list_state(shared.methods)) == 1
    apart = read(tmp_path, method("prefill", 1), method("decode", 1))
    assert (apart.shared_arenas, apart.state_bytes) == ((), 8)
    assert [each.state_arenas for each in read(tmp_path, method("decode", 2)).methods] == [(1,)]
    assert read(tmp_path, method("decode", 2)).shared_arenas == ()
