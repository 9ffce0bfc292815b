"""What a program says of itself decides how it is run as a language model; what it cannot do is refused by name."""

from dataclasses import replace

import pytest

from etprof.app.llm_workload import build_llm_workload, find_language_model, list_tests
from etprof.core.errors import UsageError
from etprof.core.llm import DECODE, PREFILL, LlmTest, parse_test
from etprof.core.program import ProgramFile, ProgramMethod, ProgramTensor
from etprof.core.workload import ARANGE, RANDOM, Workload

CACHE = ProgramTensor("float32", 4, (2, 64, 8), name="keys")
LOGITS = ProgramTensor("float32", 4, (1, 100))


def ids(count: int, *, dynamic: bool = True) -> ProgramTensor:
    return ProgramTensor("int64", 8, (1, count), dynamic)


def positions(*shape: int, dynamic: bool = False) -> ProgramTensor:
    return ProgramTensor("int64", 8, shape, dynamic)


def method(*inputs: ProgramTensor, name: str = "forward") -> ProgramMethod:
    return ProgramMethod(name, inputs, (LOGITS,), (CACHE,))


def program(*methods: ProgramMethod, **facts: int) -> ProgramFile:
    values = (ProgramMethod(name, (), ("int",), (), value) for name, value in facts.items())
    return ProgramFile((*methods, *values), "")


ONE = program(method(ids(16), positions(16, dynamic=True)), get_max_seq_len=64, get_vocab_size=50)
TWO = program(
    method(ids(8, dynamic=False), positions(1), name="prefill"),
    method(ids(1, dynamic=False), positions(1), name="decode"),
    get_max_context_len=64,
)


def build(file: ProgramFile, prompts: list[int], generated: list[int], depths: list[int]) -> Workload:
    model = find_language_model(file, "m.pte")
    return build_llm_workload(model, list_tests(prompts, generated, depths), seed=3)


def shapes(workload: Workload) -> list[tuple[object, ...]]:
    return [(p.name, p.method, [i.shape for i in p.inputs], p.repeats, p.resets) for p in workload.phases]


def test_one_method_takes_the_prompt_and_then_one_token_at_a_time() -> None:
    workload = build(ONE, [4, 12], [5], [0])
    assert shapes(workload) == [
        ("pp4", "forward", [(1, 4), (4,)], 1, True),
        ("pp12", "forward", [(1, 12), (12,)], 1, True),
        ("tg5", "forward", [(1, 1), (1,)], 5, True),
    ]
    assert [step.position for step in workload.steps] == [0, 0, 0, 1, 2, 3, 4]


def test_token_ids_are_seeded_and_within_the_vocabulary_and_positions_go_on() -> None:
    first, second = build(ONE, [4], [], [0]).phases[0].inputs
    assert (first.fill, first.low, first.high, first.seed) == (RANDOM, 0, 49, 3)
    assert second.fill == ARANGE


def test_two_methods_share_the_work_and_a_position_is_that_of_the_first_token() -> None:
    workload = build(TWO, [16], [3], [0])
    assert shapes(workload) == [
        ("pp16", "prefill", [(1, 8), (1,)], 2, True),
        ("tg3", "decode", [(1, 1), (1,)], 3, True),
    ]
    # A step of eight tokens moves the position on by eight, though it is given one number.
    assert [step.position for step in workload.steps] == [0, 8, 0, 1, 2]
    # Without a fact, the width of the logits is the vocabulary.
    assert workload.phases[0].inputs[0].high == 99


def test_a_depth_is_filled_first_with_as_many_tokens_at_once_as_possible() -> None:
    workload = build(ONE, [4], [2], [0, 20])
    assert [(p.name, p.repeats, p.stride, p.resets) for p in workload.phases[2:]] == [
        ("fill before pp4@d20", 1, 16, True),
        ("fill before pp4@d20 rest", 1, 4, False),
        ("pp4@d20", 1, 4, False),
        ("fill before tg2@d20", 1, 16, True),
        ("fill before tg2@d20 rest", 1, 4, False),
        ("tg2@d20", 2, 1, False),
    ]
    by_name = {p.name: start for p, start in zip(workload.phases, workload.starts, strict=True)}
    assert by_name["pp4@d20"] == by_name["tg2@d20"] == 20


def test_what_a_fixed_prefill_cannot_fill_is_left_to_decode() -> None:
    workload = build(TWO, [8], [], [3])
    assert [(p.name, p.method, p.repeats, p.resets) for p in workload.phases] == [
        ("fill before pp8@d3 rest", "decode", 3, True),
        ("pp8@d3", "prefill", 1, False),
    ]


def test_a_method_that_keeps_its_own_position_is_given_none() -> None:
    assert shapes(build(program(method(ids(8))), [4], [2], [0])) == [
        ("pp4", "forward", [(1, 4)], 1, True),
        ("tg2", "forward", [(1, 1)], 2, True),
    ]


def test_a_prompt_that_is_longer_than_a_step_has_several() -> None:
    assert shapes(build(ONE, [32], [], [0])) == [("pp32", "forward", [(1, 16), (16,)], 2, True)]


@pytest.mark.parametrize(
    ("file", "tests", "said"),
    [
        (ONE, ([65], [], [0]), "pp65 needs a cache of 65 tokens; m.pte has one of 64"),
        (ONE, ([32], [], [40]), "pp32@d40 needs a cache of 72 tokens"),
        (ONE, ([35], [], [0]), "does not divide into steps"),
        (TWO, ([12], [], [0]), "does not divide into steps"),
        (ONE, ([0], [0], [0]), "No test is asked for"),
        (ONE, ([1], list(range(1, 60)), [0]), "a workload has at most"),
        (program(replace(method(ids(8)), state=())), ([4], [1], [0]), "keeps no cache"),
        (program(method(ids(8)), use_kv_cache=0), ([4], [1], [0]), "keeps no cache"),
        (program(method(LOGITS)), ([4], [], [0]), "a language model takes token ids"),
        (program(method(ids(8), positions(1), LOGITS)), ([4], [], [0]), "a language model takes token ids"),
        (program(method(ids(8), positions(3))), ([4], [], [0]), "positions have to be as many as tokens, or one"),
        (program(method(ids(8, dynamic=False), positions(1))), ([8], [], [0]), "never one alone"),
        (program(method(ids(8), name="a"), method(ids(8), name="b")), ([4], [], [0]), "has the methods a, b"),
        (program(method(positions(4, 8, dynamic=True))), ([4], [], [0]), "not those of one sequence"),
    ],
)
def test_what_the_program_cannot_do_is_refused(
    file: ProgramFile, tests: tuple[list[int], list[int], list[int]], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        build(file, *tests)


@pytest.mark.parametrize("test", [LlmTest(PREFILL, 128), LlmTest(DECODE, 64, 512), LlmTest(PREFILL, 1, 1)])
def test_the_name_of_a_test_is_read_back(test: LlmTest) -> None:
    assert parse_test(test.name) == test


@pytest.mark.parametrize(
    "name", ["fill before pp4@d20", "pp0", "pp4@d0", "pp", "tg4@d", "whole sequence", "PP4", "pp4 "]
)
def test_any_other_phase_is_no_test(name: str) -> None:
    assert parse_test(name) is None
