"""`etprof skills`: lists the skills, shows one, executes its contract, and writes the form that assistants load."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import say, show, show_json
from etprof.cli.options import JsonOption

if TYPE_CHECKING:
    from etprof.skills.checks import Outcome

app = typer.Typer(no_args_is_help=True)

_UNKNOWN_EXIT = 3
SkillName = Annotated[
    str, typer.Argument(metavar="NAME", help="Such as export_model, 03_export_model or skill.export_model.")
]
SkillsDir = Annotated[Path | None, typer.Option(help="Where the skills are; default: ./agent_skill_ml_profiling.")]


@app.command("list")
def list_all(skills_dir: SkillsDir = None) -> None:
    """List the skills and the use-cases, with when to use each."""
    from etprof.skills.catalogue import find_skills_dir, list_skills

    skills = list_skills(find_skills_dir(skills_dir))
    width = max(len(skill.path.stem) for skill in skills)
    for skill in skills:
        show(f"{skill.path.stem:{width}}  {skill.contract.id}\n{'':{width}}  {skill.description}")


@app.command("show")
def show_one(name: SkillName, skills_dir: SkillsDir = None, as_json: JsonOption = False) -> None:
    """Print a skill's document, or its contract with the commands."""
    from etprof.skills.catalogue import find_skill, find_skills_dir

    skill = find_skill(name, find_skills_dir(skills_dir))
    if not as_json:
        show(skill.path.read_text(encoding="utf-8").removesuffix("\n"))
        return
    from dataclasses import asdict

    steps = [asdict(step) for step in skill.steps]
    contract = skill.contract.model_dump() | {"steps": steps}
    show_json({"name": skill.name, "description": skill.description, **contract})


@app.command()
def verify(
    name: SkillName,
    workdir: Annotated[Path, typer.Option(help="Where the commands run: the root of a clone.")] = Path(),
    inputs: Annotated[list[str] | None, typer.Option("--input", help="NAME=VALUE; may be given again.")] = None,
    check_only: Annotated[
        bool, typer.Option("--check-only", help="Execute nothing; check the files that an earlier run left.")
    ] = False,
    skills_dir: SkillsDir = None,
    as_json: JsonOption = False,
) -> None:
    """Run a skill's commands and its checks: exit code 0 all pass, 1 one fails, 3 none fails but one is unknown."""
    from etprof.skills.catalogue import find_skill, find_skills_dir
    from etprof.skills.checks import Status
    from etprof.skills.inputs import parse_given
    from etprof.skills.verification import judge
    from etprof.skills.verification import verify as verify_skill

    skill = find_skill(name, find_skills_dir(skills_dir))
    given = parse_given(tuple(inputs or ()))
    outcomes = verify_skill(skill, given, workdir, run_steps=not check_only, progress=say)
    verdict = judge(outcomes)
    if as_json:
        _print_json(skill.name, verdict.value, outcomes)
    else:
        _print_lines(skill.name, verdict.value, outcomes)
    raise typer.Exit({Status.PASS: 0, Status.FAIL: 1, Status.UNKNOWN: _UNKNOWN_EXIT}[verdict])


@app.command()
def install(
    to: Annotated[Path, typer.Option("--to", help="Such as .claude/skills or ~/.claude/skills.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that were changed.")] = False,
    skills_dir: SkillsDir = None,
) -> None:
    """Write each skill as a folder with a SKILL.md, the form that coding assistants load."""
    from etprof.skills.assistant_form import install as install_skills
    from etprof.skills.catalogue import find_skills_dir, list_skills, read_final_report

    folder = find_skills_dir(skills_dir)
    for path in install_skills(list_skills(folder), read_final_report(folder), to.expanduser(), force=force):
        show(str(path))


def _print_lines(name: str, verdict: str, outcomes: "list[Outcome]") -> None:
    for outcome in outcomes:
        detail = f": {outcome.detail}" if outcome.detail else ""
        duration = f" ({outcome.duration_s:.1f} s)" if outcome.duration_s else ""
        show(f"{outcome.status.value:9}{outcome.part:10}{outcome.label}{duration}{detail}")
        for line in outcome.tail:
            show(f"         | {line}")
    counts = [sum(o.status.value == status for o in outcomes) for status in ("pass", "fail", "unknown")]
    show(f"{name}: {verdict} ({counts[0]} pass, {counts[1]} fail, {counts[2]} unknown)")


def _print_json(name: str, verdict: str, outcomes: "list[Outcome]") -> None:
    from dataclasses import asdict

    parts = [asdict(outcome) | {"status": outcome.status.value} for outcome in outcomes]
    show_json({"schema_version": 1, "skill": name, "verdict": verdict, "parts": parts})
