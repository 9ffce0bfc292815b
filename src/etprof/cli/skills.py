"""`etprof skills`: lists the skills, shows one, executes its contract, and writes the form that assistants load."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import err, out

if TYPE_CHECKING:
    from etprof.skills.checks import Outcome

app = typer.Typer(help="The playbooks of agent_skill_ml_profiling: list, show, verify, install.", no_args_is_help=True)

_UNKNOWN_EXIT = 3
SkillName = Annotated[str, typer.Argument(help="Such as export_model, 03_export_model or skill.export_model.")]
SkillsDir = Annotated[Path | None, typer.Option(help="Where the skills are; default: ./agent_skill_ml_profiling.")]
AsJson = Annotated[bool, typer.Option("--json", help="The same for machines.")]


@app.command("list")
def list_all(skills_dir: SkillsDir = None) -> None:
    """List the skills and the use-cases, with when to use each."""
    from etprof.skills.catalogue import find_skills_dir, list_skills

    skills = list_skills(find_skills_dir(skills_dir))
    width = max(len(skill.path.stem) for skill in skills)
    for skill in skills:
        out.print(f"{skill.path.stem:{width}}  {skill.contract.id}\n{'':{width}}  {skill.description}", markup=False)


@app.command()
def show(name: SkillName, skills_dir: SkillsDir = None, as_json: AsJson = False) -> None:
    """Print a skill's document, or its contract with the commands."""
    from etprof.skills.catalogue import find_skill, find_skills_dir

    skill = find_skill(name, find_skills_dir(skills_dir))
    if not as_json:
        out.print(skill.path.read_text(encoding="utf-8"), markup=False, end="")
        return
    import json
    from dataclasses import asdict

    steps = [asdict(step) for step in skill.steps]
    contract = skill.contract.model_dump() | {"steps": steps}
    value = {"name": skill.name, "description": skill.description, **contract}
    out.print(json.dumps(value, indent=2, ensure_ascii=False), markup=False)


@app.command()
def verify(
    name: SkillName,
    workdir: Annotated[Path, typer.Option(help="Where the commands run: the root of a clone; default: here.")] = Path(),
    inputs: Annotated[list[str] | None, typer.Option("--input", help="NAME=VALUE; may be given again.")] = None,
    check_only: Annotated[
        bool, typer.Option("--check-only", help="Run no step; check what an earlier run of them left.")
    ] = False,
    skills_dir: SkillsDir = None,
    as_json: AsJson = False,
) -> None:
    """Run a skill's commands and its checks: exit code 0 all pass, 1 one fails, 3 none fails but one is unknown."""
    from etprof.skills.catalogue import find_skill, find_skills_dir
    from etprof.skills.checks import Status
    from etprof.skills.inputs import parse_given
    from etprof.skills.verification import judge
    from etprof.skills.verification import verify as verify_skill

    skill = find_skill(name, find_skills_dir(skills_dir))
    given = parse_given(tuple(inputs or ()))
    outcomes = verify_skill(skill, given, workdir, run_steps=not check_only, progress=_say)
    verdict = judge(outcomes)
    if as_json:
        _print_json(skill.name, verdict.value, outcomes)
    else:
        _print_lines(skill.name, verdict.value, outcomes)
    raise typer.Exit({Status.PASS: 0, Status.FAIL: 1, Status.UNKNOWN: _UNKNOWN_EXIT}[verdict])


@app.command()
def install(
    to: Annotated[Path, typer.Option("--to", help="Such as .claude/skills or ~/.claude/skills.")],
    force: Annotated[bool, typer.Option("--force", help="Write over files that were changed.")] = False,
    skills_dir: SkillsDir = None,
) -> None:
    """Write each skill as a folder with a SKILL.md, the form that coding assistants load."""
    from etprof.skills.assistant_form import install as install_skills
    from etprof.skills.catalogue import find_skills_dir, list_skills, read_final_report

    folder = find_skills_dir(skills_dir)
    for path in install_skills(list_skills(folder), read_final_report(folder), to.expanduser(), force=force):
        out.print(str(path), markup=False)


def _print_lines(name: str, verdict: str, outcomes: "list[Outcome]") -> None:
    for outcome in outcomes:
        detail = f": {outcome.detail}" if outcome.detail else ""
        duration = f" ({outcome.duration_s:.1f} s)" if outcome.duration_s else ""
        out.print(f"{outcome.status.value:9}{outcome.part:10}{outcome.label}{duration}{detail}", markup=False)
        for line in outcome.tail:
            out.print(f"         | {line}", markup=False)
    counts = [sum(o.status.value == status for o in outcomes) for status in ("pass", "fail", "unknown")]
    out.print(f"{name}: {verdict} ({counts[0]} pass, {counts[1]} fail, {counts[2]} unknown)", markup=False)


def _print_json(name: str, verdict: str, outcomes: "list[Outcome]") -> None:
    import json
    from dataclasses import asdict

    parts = [asdict(outcome) | {"status": outcome.status.value} for outcome in outcomes]
    value = {"schema_version": 1, "skill": name, "verdict": verdict, "parts": parts}
    out.print(json.dumps(value, indent=2, ensure_ascii=False), markup=False)


def _say(message: str) -> None:
    err.print(message, markup=False)
