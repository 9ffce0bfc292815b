"""The values of a contract's inputs: what the user gave, or the default of this kind of machine."""

from collections.abc import Mapping
from string import Template

from etprof.core.errors import SkillError, UnknownNameError, UsageError
from etprof.skills.contract import Contract, Input


def resolve_inputs(contract: Contract, given: Mapping[str, str], host: str) -> dict[str, str]:
    """Every input with its value; a default may use the inputs before it. `host` is such as linux-x86_64."""
    for name in given:
        if name not in contract.inputs:
            raise UnknownNameError("input", name, contract.inputs, hint=f"Inputs: {', '.join(contract.inputs)}.")
    values: dict[str, str] = {}
    for name, entry in contract.inputs.items():
        values[name] = given[name] if name in given else expand(_default(name, entry, host), values, f"input {name}")
    return values


def parse_given(texts: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE, as it stands on the command line."""
    given = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{text!r} sets no input.", hint="Write it as --input NAME=VALUE.")
        given[name] = value
    return given


def expand(text: str, values: Mapping[str, str], where: str) -> str:
    """Puts values in the place of $name and ${name}, as the shell does in commands."""
    try:
        return Template(text).substitute(values)
    except KeyError as error:
        raise SkillError(f"The contract's {where} uses ${error.args[0]}, which is not an input: {text!r}.") from error
    except ValueError as error:
        raise SkillError(f"The contract's {where} has a stray $: {text!r}.") from error


def _default(name: str, entry: Input, host: str) -> str:
    if isinstance(entry.default, str):
        return entry.default
    system = host.partition("-")[0]
    for key in (host, system):
        if key in entry.default:
            return entry.default[key]
    raise UsageError(f"The input {name} has no default on {host}.", hint=f"Give it: --input {name}=VALUE")
