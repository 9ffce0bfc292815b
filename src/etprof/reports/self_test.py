"""A self-test as a page that can be sent: the machine, its versions, and a line for each check."""

from collections.abc import Iterator

from etprof.core.self_test import Outcome, SelfTest


def summarize(found: SelfTest) -> str:
    counts = {outcome: sum(check.outcome is outcome for check in found.checks) for outcome in Outcome}
    parts = [f"{count} {outcome.value}" for outcome, count in counts.items() if count]
    verdict = "Everything that can work here works" if found.passed else "Something does not work"
    return f"{verdict}: {', '.join(parts)}."


def render(found: SelfTest) -> str:
    lines = [
        "# Self-test of etprof",
        "",
        summarize(found),
        "",
        "| Check | Result | Found | What to do |",
        "| --- | --- | --- | --- |",
        *(f"| {_cell(c.name)} | {c.outcome.value} | {_cell(c.found)} | {_cell(c.hint)} |" for c in found.checks),
        "",
        *(f"- {name}: {value}" for name, value in _list_facts(found)),
        "",
    ]
    return "\n".join(lines)


def _list_facts(found: SelfTest) -> Iterator[tuple[str, str]]:
    yield "date", f"{found.started_at}, {found.seconds:g} s"
    yield "device", found.device
    yield "versions", ", ".join(f"{name} {version}" for name, version in found.versions.items())
    info = found.info
    if info is None:
        return
    yield "system", info.system
    yield "CPU", f"{info.cpu_model} ({info.architecture}, {info.cpu_count} cores)"
    yield "features", ", ".join(info.features) or "not reported by this system"
    for each in info.clusters:
        yield f"{each.name or 'all'} cores", f"{len(each.cores)} x {each.core_type or 'unknown core'}"
    if info.sme_vector_bits:
        yield "SME vector length", f"{info.sme_vector_bits} bits"
    if info.sme_units:
        source = f" (assumed for {info.sme_units.assumed_from})" if info.sme_units.assumed_from else ""
        yield "SME units", f"{info.sme_units.count}{source}"
    if info.model or info.soc:
        yield "product", ", ".join(part for part in (info.model, info.soc) if part)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")
