"""A program as a language model: which of its methods take a prompt and a token, and the workload of its tests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod

from etprof.core.errors import UsageError
from etprof.core.llm import DECODE, PREFILL, LlmTest
from etprof.core.program import DEFAULT_METHOD, ProgramFile, ProgramMethod, ProgramTensor
from etprof.core.workload import ARANGE, MOST_PHASES, RANDOM, Phase, PhaseInput, Workload

# The names of two methods that are one model: one takes a prompt, one takes a token.
METHOD_PAIRS = (("prefill", "decode"), ("prefill_forward", "kv_forward"))
_INTEGERS = ("int64", "int32")
_WORKLOAD_HINT = "Describe its inputs in a workload file: etprof profile MODEL.pte --workload FILE"


@dataclass(frozen=True)
class TokenMethod:
    """A method that takes token ids, and where they stand: as a position for each, as the first, or not at all."""

    method: ProgramMethod
    ids: ProgramTensor
    position: ProgramTensor | None

    @property
    def most(self) -> int:
        """The tokens of one step; fewer are possible where shapes are dynamic."""
        return self.ids.shape[-1]

    @property
    def takes_each_position(self) -> bool:
        return self.position is not None and prod(self.position.shape) > 1

    def inputs(self, count: int, vocabulary: int, seed: int) -> tuple[PhaseInput, ...]:
        ids = PhaseInput(RANDOM, low=0, high=vocabulary - 1, seed=seed, shape=(*self.ids.shape[:-1], count))
        if self.position is None:
            return (ids,)
        shape = (*self.position.shape[:-1], count) if self.takes_each_position else self.position.shape
        return (ids, PhaseInput(ARANGE, shape=shape))


@dataclass(frozen=True)
class LanguageModel:
    """`context` is how many tokens its cache holds, None where the program does not say."""

    name: str
    prefill: TokenMethod
    decode: TokenMethod
    vocabulary: int
    context: int | None
    has_cache: bool


def find_language_model(program: ProgramFile, name: str) -> LanguageModel:
    """A program that cannot be run with token ids alone is refused."""
    facts = program.facts
    pair = next((pair for pair in METHOD_PAIRS if set(pair) <= set(program.names)), None)
    single = program.find("")
    if pair is None and single is None:
        known = ", ".join(each.name for each in program.computing)
        raise UsageError(
            f"{name} is not a language model that etprof knows: it has the methods {known}.",
            hint=f"Known are {DEFAULT_METHOD}, or {' and '.join(METHOD_PAIRS[0])}. {_WORKLOAD_HINT}",
        )
    methods = [program.find(each) for each in pair] if pair else [single, single]
    prefill, decode = (_find_tokens(method, name) for method in methods if method)
    if not decode.ids.is_dynamic and decode.most != 1:
        raise UsageError(
            f"{name}, {decode.method.name}: takes {decode.most} tokens at once, never one alone.",
            hint="Export it with a dynamic number of tokens, or with a second method for one token.",
        )
    return LanguageModel(
        name=name,
        prefill=prefill,
        decode=decode,
        vocabulary=int(facts.get("get_vocab_size", 0)) or _count_logits(decode.method),
        context=_find_context(facts),
        has_cache=bool(facts.get("use_kv_cache", bool(decode.method.state))),
    )


def _find_tokens(method: ProgramMethod, name: str) -> TokenMethod:
    where = f"{name}, {method.name}"
    taken = [each for each in method.inputs if isinstance(each, ProgramTensor)]
    labels = ", ".join(each if isinstance(each, str) else each.label for each in method.inputs) or "nothing"
    if len(taken) != len(method.inputs) or len(taken) not in (1, 2) or any(t.dtype not in _INTEGERS for t in taken):
        raise UsageError(
            f"{where}: takes {labels}; a language model takes token ids, or token ids and positions.",
            hint=_WORKLOAD_HINT,
        )
    ids, position = taken[0], taken[1] if len(taken) == 2 else None
    if not ids.shape or prod(ids.shape[:-1]) != 1:
        raise UsageError(f"{where}: takes token ids {labels}, not those of one sequence.", hint=_WORKLOAD_HINT)
    if position and prod(position.shape) not in (1, ids.shape[-1]):
        raise UsageError(
            f"{where}: takes {labels}; positions have to be as many as tokens, or one.", hint=_WORKLOAD_HINT
        )
    return TokenMethod(method, ids, position)


def _count_logits(method: ProgramMethod) -> int:
    first = method.outputs[0] if method.outputs else ""
    return first.shape[-1] if isinstance(first, ProgramTensor) and first.shape else 1


def _find_context(facts: dict[str, int | float]) -> int | None:
    found = facts.get("get_max_context_len", facts.get("get_max_seq_len"))
    return int(found) if found else None


def list_tests(prompts: Sequence[int], generated: Sequence[int], depths: Sequence[int]) -> tuple[LlmTest, ...]:
    """Each prompt and each number of generated tokens at each depth; 0 is no test."""
    return tuple(
        LlmTest(phase, count, depth)
        for depth in depths
        for phase, counts in ((PREFILL, prompts), (DECODE, generated))
        for count in counts
        if count
    )


def build_llm_workload(model: LanguageModel, tests: Sequence[LlmTest], seed: int) -> Workload:
    """Each test begins with an empty cache, which is filled to its depth first."""
    for test in tests:
        _refuse_unfit(model, test)
    phases = tuple(phase for test in tests for phase in _list_phases(model, test, seed))
    if not phases:
        raise UsageError("No test is asked for.", hint="Name some with --prompt or --generate.")
    if len(phases) > MOST_PHASES:
        raise UsageError(
            f"{len(tests)} tests have {len(phases)} phases; a workload has at most {MOST_PHASES}.",
            hint="Name fewer prompts or depths, or run etprof llm twice.",
        )
    return Workload(phases)


def _refuse_unfit(model: LanguageModel, test: LlmTest) -> None:
    needed = test.depth + test.tokens
    if model.context is not None and needed > model.context:
        raise UsageError(
            f"{test.name} needs a cache of {needed} tokens; {model.name} has one of {model.context}.",
            hint="Name a shorter prompt, fewer tokens or a smaller depth.",
        )
    if not model.has_cache and (test.phase == DECODE or test.depth):
        raise UsageError(
            f"{test.name} cannot be run: {model.name} keeps no cache between steps.",
            hint="Use: --generate 0 --depth 0",
        )


def _list_phases(model: LanguageModel, test: LlmTest, seed: int) -> Iterator[Phase]:
    """Of each phase: its name, its method, the tokens of a step, and the number of steps. The first one resets."""
    parts = [*_list_fills(model, test), _list_steps(model, test)]
    for number, (name, method, count, steps) in enumerate(parts):
        inputs = method.inputs(count, model.vocabulary, seed)
        yield Phase(name, method.method.name, inputs, repeats=steps, resets=number == 0, advance=count)


def _list_steps(model: LanguageModel, test: LlmTest) -> tuple[str, TokenMethod, int, int]:
    if test.phase == DECODE:
        return test.name, model.decode, 1, test.tokens
    return test.name, model.prefill, *_split_prompt(model, test.tokens)


def _list_fills(model: LanguageModel, test: LlmTest) -> Iterator[tuple[str, TokenMethod, int, int]]:
    """What fills the cache before the test: as many tokens at once as possible, then the rest."""
    method, name = model.prefill, f"fill before {test.name}"
    steps, rest = divmod(test.depth, method.most)
    if steps:
        yield name, method, method.most, steps
    if rest and method.ids.is_dynamic:
        yield f"{name} rest", method, rest, 1
    elif rest:
        yield f"{name} rest", model.decode, 1, rest


def _split_prompt(model: LanguageModel, tokens: int) -> tuple[int, int]:
    """How many tokens a step has, and how many steps there are: as few as the program can do with."""
    method, most = model.prefill, model.prefill.most
    steps = ceil(tokens / most)
    fits = tokens % steps == 0 if method.ids.is_dynamic else tokens % most == 0
    if not fits:
        raise UsageError(
            f"A prompt of {tokens} tokens does not divide into steps of {model.name}, which take "
            f"{'at most ' if method.ids.is_dynamic else ''}{most} tokens.",
            hint=f"Name a multiple of {most}: --prompt {most * max(tokens // most, 1)}",
        )
    return tokens // steps, steps
