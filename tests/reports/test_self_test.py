"""A self-test as a page: every check, the machine, and nothing that tells who ran it."""

from builders import a_device_info
from etprof.core.redaction import redact_names
from etprof.core.run import Cluster, SmeUnits
from etprof.core.self_test import Outcome, SelfCheck, SelfTest
from etprof.reports.self_test import render, summarize

INFO = a_device_info(
    clusters=(Cluster("little", "Efficiency", (0, 1)), Cluster("big", "Performance", (2,))),
    sme_units=SmeUnits(1, is_shared=True, assumed_from="Apple M4"),
)
CHECKS = (
    SelfCheck("runner", Outcome.PASS, "ready on ssh:ada@lab-7"),
    SelfCheck("hiding", Outcome.FAIL, "log /home/ada/x.log | of lab-7\nsecond line", "Send it."),
    SelfCheck("latency", Outcome.NOT_HERE, "times under emulation are not meaningful"),
)
FOUND = SelfTest("ssh:ada@lab-7", INFO, {"etprof": "1", "python": "3"}, "2026-11-16T08:00:00+00:00", 12.5, CHECKS)


def test_every_check_is_a_row_and_the_machine_is_described() -> None:
    page = render(FOUND)
    assert "| hiding | fail | log /home/ada/x.log \\| of lab-7<br>second line | Send it. |" in page
    assert "- big cores: 1 x Performance" in page
    assert "- SME units: 1 (assumed for Apple M4)" in page
    assert "- versions: etprof 1, python 3" in page


def test_the_summary_counts() -> None:
    assert summarize(FOUND) == "Something does not work: 1 pass, 1 fail, 1 not here."
    good = SelfTest("local", None, {}, "", 1.0, CHECKS[:1])
    assert summarize(good) == "Everything that can work here works: 1 pass."


def test_a_redacted_page_names_neither_user_nor_host_nor_folder() -> None:
    page = render(redact_names(FOUND, FOUND.device, "desk.example.org", "desk"))
    assert not any(word in page for word in ("ada", "lab-7", "/home", "desk"))
    assert "second line" in page
