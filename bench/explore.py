"""Measures what `etprof explore` claims: the true best stays in the front, and racing takes half the time.

`.venv/bin/python bench/explore.py [--races 200] [--real toy_cnn] [--budget 5m]`. Simulated races are between 14 builds
with the noise of a machine at rest, and with three and six times that. The real one exports a model and races its
builds on this machine, which should do nothing else. Both are compared with as many rounds of everything: the same
precision, with nobody dropped.
"""

import argparse
import sys
import tempfile
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from statistics import fmean, median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from etprof.analysis.report import build_report
from etprof.app.builds import DTYPES, SCHEMES
from etprof.app.devices import parse_device
from etprof.app.exploring import build_explore_request, explore
from etprof.app.profiling import RunOptions
from etprof.app.progress import RunCounter
from etprof.app.runs import build_run
from etprof.core.run import Session
from etprof.reports.choice_tables import list_answers, list_reasons
from race_builder import list_costs, list_truths, race

NOISES = (0.007, 0.02, 0.04)
MOST_ROUNDS = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", type=int, default=200, help="simulated races with each noise; 0: only the real one")
    parser.add_argument("--real", default="toy_cnn", help="model whose builds race here; empty: only simulate")
    parser.add_argument("--budget", default="5m", help="time of the real race, exports included")
    options = parser.parse_args()
    for noise in NOISES if options.races else ():
        report_simulated(noise, options.races)
    if options.real:
        report_real(options.real, options.budget)


def report_simulated(noise: float, count: int) -> None:
    truths, costs = list_truths(), list_costs()
    best = min(truths, key=truths.__getitem__)
    raced = [race(truths, costs, noise=noise, seed=seed, most=MOST_ROUNDS) for seed in range(count)]
    kept = sum(best in each.front for each in raced)
    sys.stdout.write(
        f"noise {noise:.1%}, {count} races: true best in the front {kept / count:.1%}; time spent "
        f"{median(each.share_of_time(truths) for each in raced):.0%} of that for everything (at most "
        f"{max(each.share_of_time(truths) for each in raced):.0%}); rounds {median(each.rounds for each in raced):g}; "
        f"front of {fmean(len(each.front) for each in raced):.1f}\n"
    )


def report_real(model: str, budget: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asked = build_explore_request(
            model, dtypes=DTYPES, schemes=SCHEMES, threads="auto", runtimes="executorch", budget=budget, min_snr=None,
            min_metric=None, sensitivity=False, models_dir=None, checkpoint=None, output_root=Path(folder),
        )  # fmt: skip
        watched = nullcontext(RunCounter(lambda done, total, text: None))
        measured = explore(asked, parse_device("local"), watched, RunOptions("bench", force=True))
        run = build_run(Path(folder), measured.session, measured.traces)
        choice = build_report(run, title=model, created_at="").choice
        spent, whole = spend(measured.session)
    sys.stdout.write(
        f"real, {model}: {measured.session.stop_reason}; blocks took {spent:.0f} s, {spent / whole:.0%} of the "
        f"{whole:.0f} s of as many rounds of everything\n"
    )
    for line in (*list_answers(choice), *list_reasons(choice)) if choice else ():
        sys.stdout.write(f"  {line}\n")


def spend(session: Session) -> tuple[float, float]:
    """Seconds that the blocks took, and what all variants would have taken for as many rounds as the longest got."""
    blocks = Counter(result.variant for result in session.results)
    each = {v: fmean(r.duration_s for r in session.results if r.variant == v) for v in blocks}
    return sum(blocks[v] * each[v] for v in blocks), max(blocks.values()) * sum(each.values())


if __name__ == "__main__":
    main()
