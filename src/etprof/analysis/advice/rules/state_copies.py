"""State that is computed anew and copied back where it could be changed in its place."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.undelegated import list_state_changes
from etprof.analysis.advice.wording import tell


def _find(facts: Facts) -> Iterator[Match]:
    if found := list_state_changes(facts):
        yield Match(
            title="Update the state in place",
            reason="Each inference makes a new tensor of every state that it changes, and copies it back. "
            f"{tell(facts, found)}.",
            operators=found,
            # More is possible: without the copies, what the next operators read is still in the caches.
            is_bound=False,
        )


RULE = Rule(
    id="state-copies",
    title="State that is copied back",
    looks_at="copies of whole buffers that a model changes, such as the keys and values of an attention",
    bound="an estimate: the time of these copies and of the operators that make what is copied",
    advice="Export with `etprof export MODEL --state-in-place`; in an export of your own, with "
    "`ExecutorchBackendConfig(run_reinplace_pass=True)`. Only what changes is written then. Write the state with "
    "`index_copy_`: ExecuTorch 1.5's kernel does not take every assignment to an index in place.",
    snippet="""\
self.keys.index_copy_(1, positions, keys)
# Before: index_put makes a new tensor, copy_ puts it back.
edge.to_executorch()
# After: index_put_ writes to the buffer.
edge.to_executorch(ExecutorchBackendConfig(run_reinplace_pass=True))""",
    find=_find,
)
