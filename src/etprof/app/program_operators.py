"""A program that needs operators which its runner does not have is refused before the first block."""

from collections.abc import Sequence

from etprof.app.program_checks import SettledProgram
from etprof.core.errors import DependencyError, UsageError
from etprof.core.plan import Plan
from etprof.core.runtimes import EXECUTORCH
from etprof.runner.operators import find_missing, list_libraries


def refuse_missing_operators(plan: Plan, programs: Sequence[SettledProgram], *, is_python: bool) -> None:
    """Names the operators. A runner that an experiment names itself may have others, and is not judged."""
    for each in programs:
        record = each.record
        named = all(plan.experiment(name).runner_path for name in record.experiments)
        if record.program.runtime != EXECUTORCH or named or not each.operators:
            continue
        missing = _find_missing(each.operators, is_python=is_python)
        if missing:
            runner = "Python" if is_python else "native"
            raise UsageError(
                f"{record.program.model.name} needs operators that the {runner} runner does not have: "
                f"{', '.join(missing)}.",
                hint=_hint(each.operators, is_python=is_python),
            )


def _hint(operators: Sequence[str], *, is_python: bool) -> str:
    if not is_python and not _find_missing(operators, is_python=True):
        return "The Python runner of this machine has them: --runner python"
    return "Export the model without them; custom operators of a runner of your own: `runner_path` in a plan."


def _find_missing(operators: Sequence[str], *, is_python: bool) -> tuple[str, ...]:
    try:
        return find_missing(operators, list_libraries(is_python=is_python))
    except DependencyError:
        # Without the wheel nothing is known of its operators: a bundle's runner says at its first load what it lacks.
        return ()
