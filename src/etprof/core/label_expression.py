"""Which devices are meant: labels combined by `and`, `or`, `not` and parentheses."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from etprof.core.errors import UsageError

Matches = Callable[[Collection[str]], bool]
_TOKEN = re.compile(r"\s*(?:([()])|([\w.:@/+-]+))")
_WORDS = ("and", "or", "not")
_MOST_TOKENS = 200
_HINT = "Write labels with and, or, not and parentheses: --on 'sme2 and not (android or emulated)'."


@dataclass(frozen=True)
class LabelExpression:
    """`labels` are all that it names."""

    text: str
    matches: Matches = field(compare=False)
    labels: frozenset[str] = frozenset()


def parse_labels(text: str) -> LabelExpression:
    """An empty text means every device."""
    tokens = _split(text)
    if not tokens:
        return LabelExpression(text, lambda _: True)
    parser = _Parser(text, tokens)
    matches = parser.alternatives()
    if parser.tokens:
        raise _wrong(text, f"{parser.tokens[0]!r} is not expected there")
    return LabelExpression(text, matches, frozenset(parser.labels))


@dataclass
class _Parser:
    text: str
    tokens: list[str]
    labels: list[str] = field(default_factory=list)

    def alternatives(self) -> Matches:
        either = [self._all()]
        while self._take("or"):
            either.append(self._all())
        return either[0] if len(either) == 1 else lambda labels: any(each(labels) for each in either)

    def _all(self) -> Matches:
        both = [self._one()]
        while self._take("and"):
            both.append(self._one())
        return both[0] if len(both) == 1 else lambda labels: all(each(labels) for each in both)

    def _one(self) -> Matches:
        if self._take("not"):
            inner = self._one()
            return lambda labels: not inner(labels)
        if self._take("("):
            inner = self.alternatives()
            if not self._take(")"):
                raise _wrong(self.text, "a parenthesis is not closed")
            return inner
        if not self.tokens:
            raise _wrong(self.text, "a label is missing at its end")
        label = self.tokens.pop(0)
        if label == ")" or label.lower() in _WORDS:
            raise _wrong(self.text, f"there is no label before {label!r}")
        self.labels.append(label)
        return lambda labels: label in labels

    def _take(self, word: str) -> bool:
        if self.tokens and self.tokens[0].lower() == word:
            self.tokens.pop(0)
            return True
        return False


def _split(text: str) -> list[str]:
    tokens, place = [], 0
    rest = text.rstrip()
    while place < len(rest):
        found = _TOKEN.match(rest, place)
        if found is None:
            raise _wrong(text, f"{rest[place:].strip()[0]!r} is not part of a label")
        tokens.append(found[1] or found[2])
        place = found.end()
    if len(tokens) > _MOST_TOKENS:
        raise _wrong(text[:40], f"it has more than {_MOST_TOKENS} words")
    return tokens


def _wrong(text: str, problem: str) -> UsageError:
    return UsageError(f"{text!r} does not choose devices: {problem}.", hint=_HINT)
