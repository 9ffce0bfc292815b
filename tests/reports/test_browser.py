"""The HTML report in a real browser, opened from disk with the network off.

With ETPROF_SCREENSHOTS=DIR the screenshots are kept there, to be looked at.
"""

import os
from collections.abc import Iterator
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import pytest

from browser import Browser, start_browser
from builders import a_device_info
from etprof.app.history import write_history_page
from etprof.reports import FORMATS
from etprof.reports.combined import CombinedReport, render_html
from history_builder import SLOWER, STEADY, add_days
from parts import need
from report_builder import (
    HOSTILE,
    a_report,
    at_thread_counts,
    emulated,
    hostile,
    many_operators,
    one_variant,
    with_kernels,
    with_roofline,
)
from workload_builder import a_workload_run, analyze, with_samples

WIDTHS = (390, 1280, 1920)
SHOWN = "table.operators tbody tr:not(.detail):not([hidden]) button.unfold"
NAMES = f"[...document.querySelectorAll('{SHOWN}')].map(b => b.textContent)"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from start_browser(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    path = folder / "report.html"
    path.write_text(FORMATS["html"].render(with_kernels(a_report(folder))), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_opens_without_an_error_or_a_request(
    browser: Browser, page: Path, width: int, dark: bool, tmp_path: Path
) -> None:
    browser.requested_addresses()
    browser.open(page, width, dark=dark)
    assert browser.ask("document.querySelector('h1').textContent") == "A report"
    assert [address for address in browser.requested_addresses() if not address.startswith("data:")] == [page.as_uri()]
    assert browser.console_messages() == []
    assert browser.ask("document.documentElement.scrollWidth") <= width
    shown = "[...document.querySelectorAll('figure > .wide, figure > .narrow')].filter(d => d.offsetHeight)"
    assert browser.ask(f"{shown}.map(d => d.className)") == ["narrow" if width < 800 else "wide"] * 4
    kept = Path(os.environ.get("ETPROF_SCREENSHOTS", tmp_path))
    browser.screenshot(kept / f"report_{width}_{'dark' if dark else 'light'}.png")


# Text that is wider than where it stands; tables scroll on their own, and a box's name is whole in its hint.
_CUT_OFF = """[...document.querySelectorAll('main *, nav *')].filter((e) => e.clientWidth &&
    !e.closest('svg, .icicle, .js-only') && !['auto', 'scroll'].includes(getComputedStyle(e).overflowX) &&
    e.scrollWidth > e.clientWidth + 1).map((e) => `${e.tagName} ${e.className}: ${e.textContent.slice(0, 60)}`)"""
_WIDER_THAN_PARENT = """[...document.querySelectorAll('main *')].filter((e) =>
    !e.closest('svg, .icicle, .scroll, .sideways') && e.getBoundingClientRect().width >
    e.parentElement.getBoundingClientRect().width + 1).map((e) => `${e.tagName} ${e.className}`)"""


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With modules, ceilings and kernels."""
    folder = tmp_path_factory.mktemp("complete")
    path = folder / "report.html"
    path.write_text(FORMATS["html"].render(with_kernels(with_roofline(folder))), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_its_place_and_no_text_is_cut_off(browser: Browser, complete: Path, width: int) -> None:
    browser.open(complete, width)
    assert browser.ask(_WIDER_THAN_PARENT) == []
    assert browser.ask(_CUT_OFF) == []
    if width > 1000:
        tables = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        assert browser.ask(f"{tables}.map(e => e.closest('section').id)") == []
    browser.screenshot(Path(os.environ.get("ETPROF_SCREENSHOTS", complete.parent)) / f"complete_{width}.png")


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workload")
    path = folder / "report.html"
    run = with_samples(a_workload_run(folder, growth={"on": 0.2}))
    path.write_text(FORMATS["html"].render(analyze(run)), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", WIDTHS)
def test_the_phases_of_a_workload_fit_their_place(browser: Browser, workload: Path, width: int) -> None:
    browser.open(workload, width)
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask(_WIDER_THAN_PARENT) == []
    assert browser.ask(_CUT_OFF) == []
    assert browser.ask("document.querySelector('nav a[href=\"#phases\"]').textContent") == "Phases"
    shown = "[...document.querySelectorAll('#phases figure svg')].filter(d => d.getBoundingClientRect().height)"
    assert browser.ask(f"{shown}.length") == 2
    if width > 1000:
        tables = "[...document.querySelectorAll('#phases .scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        assert browser.ask(f"{tables}.length") == 0
        assert browser.ask("document.querySelector('#summary').getBoundingClientRect().bottom") <= 800
    assert browser.console_messages() == []
    kept = Path(os.environ.get("ETPROF_SCREENSHOTS", workload.parent))
    browser.screenshot(kept / f"phases_{width}.png", "#phases")


@pytest.mark.parametrize("width", WIDTHS)
def test_names_in_the_overview_of_several_runs_stay_whole(browser: Browser, tmp_path: Path, width: int) -> None:
    runs = ("edgetam_image_encoder/linux_avx512", "mobilenetv3smallwithalongnameandnoplacetobreak/run")
    path = tmp_path / "combined.html"
    page = CombinedReport("Two", tuple((run, a_report(tmp_path)) for run in runs))
    path.write_text(render_html(page), encoding="utf-8")
    browser.open(path, width)
    names = "[...document.querySelectorAll('.overview td.name')]"
    assert browser.ask(f"{names}.length") == 8
    broken = "getComputedStyle(e).overflowWrap !== 'normal' || e.scrollWidth > e.clientWidth + 1"
    assert browser.ask(f"{names}.filter(e => {broken}).map(e => e.textContent)") == []
    assert browser.ask("document.documentElement.scrollWidth") <= width


SAMPLES = sorted((Path(__file__).parents[2] / "docs/sample").glob("*/report.html"))


@pytest.mark.parametrize("width", [1280, 1920])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.parent.name)
def test_the_samples_fit_their_place(browser: Browser, sample: Path, width: int) -> None:
    """Made from real runs, with the names that users have."""
    browser.open(sample, width)
    assert browser.ask(_CUT_OFF) == []
    tables = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
    assert browser.ask(f"{tables}.map(e => e.closest('section').id)") == []
    assert browser.ask("document.querySelector('#summary').getBoundingClientRect().bottom") <= 800


def test_the_first_screen_needs_no_scrolling(browser: Browser, complete: Path) -> None:
    browser.open(complete, 1280)
    assert browser.ask("document.querySelector('#summary').getBoundingClientRect().bottom") <= 800
    browser.driver.execute_script("scrollTo(0, 3000)")
    contents = browser.ask("document.querySelector('nav').getBoundingClientRect().toJSON()")
    assert contents["top"] >= 0
    assert contents["bottom"] <= 900


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS[:2])
@pytest.mark.parametrize("page", ["complete", "workload"])
def test_everybody_can_use_the_page(
    browser: Browser, page: str, width: int, dark: bool, request: pytest.FixtureRequest
) -> None:
    """Checked by axe-core: contrast, headings in order, names of controls, keyboard."""
    need(find_spec("axe_core_python"), "axe-core-python is not installed")
    script = resources.files("axe_core_python") / "axe.min.js"
    browser.open(request.getfixturevalue(page), width, dark=dark)
    browser.driver.execute_script(script.read_text(encoding="utf-8"))
    browser.driver.set_script_timeout(60)
    found = browser.driver.execute_async_script("axe.run({resultTypes: ['violations']}).then(arguments[0])")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []


def test_a_click_on_a_module_shows_it_alone_and_on_the_top_everything(browser: Browser, complete: Path) -> None:
    browser.open(complete, 1280)
    shown = "[...document.querySelectorAll('.icicle button')].filter(b => !b.hidden).map(b => b.textContent)"
    shown += ".map(text => text.replace(/ [0-9]+ %$/, ''))"
    everything = browser.ask(shown)
    browser.driver.execute_script(
        "[...document.querySelectorAll('.icicle button')].find(b => b.textContent.startsWith('token ')).click()"
    )
    assert browser.ask(shown) == [everything[0], "stem", "token", "linear"]
    browser.click(".icicle button")
    assert browser.ask(shown) == everything
    colour = "getComputedStyle(document.querySelectorAll('.icicle button')[2]).backgroundColor"
    by_category = browser.ask(colour)
    browser.choose("select[name=colour]", "speedup")
    assert browser.ask(colour) != by_category
    assert browser.console_messages() == []


def test_a_row_unfolds_to_its_neighbours_and_the_rule_about_it(browser: Browser, complete: Path) -> None:
    browser.open(complete, 1280)
    browser.choose("input[type=search]", "transpose (nd, x32) #1")
    browser.click("table.operators tr:not([hidden]) button.unfold")
    browser.wait_for("document.querySelectorAll('tr.detail circle').length > 0")
    detail = browser.ask("document.querySelector('tr.detail').innerText")
    for part in ("Runs after", "Runs before", "Rule "):
        assert part in detail


def test_a_thousand_operators_are_one_small_page_that_paints_at_once(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "many.html"
    page.write_text(FORMATS["html"].render(many_operators(tmp_path, 1000)), encoding="utf-8")
    assert page.stat().st_size <= 1.5e6
    browser.open(page, 1280)
    paint = "performance.getEntriesByName('first-contentful-paint')[0]"
    browser.wait_for(paint)
    assert browser.ask(f"{paint}.startTime") < 1000


@pytest.mark.parametrize("width", WIDTHS)
def test_a_heading_sorts_the_table_both_ways(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width)
    values = "[...document.querySelectorAll('table.operators tbody tr')].map(r => Number(r.children[2].dataset.v))"
    browser.click("table.operators th:nth-child(3) button")
    down = browser.ask(values)
    assert down == sorted(down, reverse=True)
    assert len(set(down)) > 2
    browser.click("table.operators th:nth-child(3) button")
    assert browser.ask(values) == down[::-1]
    assert (
        browser.ask("document.querySelector('table.operators th:nth-child(3)').getAttribute('aria-sort')")
        == "ascending"
    )
    browser.click("table.operators th:nth-child(1) button")
    names = browser.ask(NAMES)
    assert [n.lower() for n in names] == sorted((n.lower() for n in names), reverse=True)


def test_filters_leave_what_fits(browser: Browser, page: Path) -> None:
    browser.open(page)
    everything = browser.ask(NAMES)
    browser.choose("select[name=category]", "Data Movement")
    moved = browser.ask(NAMES)
    assert 0 < len(moved) < len(everything)
    assert all(name.startswith(("Transpose", "native_call_upsample")) for name in moved)
    browser.choose("select[name=where]", "portable")
    assert browser.ask(NAMES) == ["native_call_upsample_nearest2d.vec_out"]
    assert browser.ask("document.querySelector('.tools output').textContent") == "1 of 7 operators"
    browser.choose("select[name=category]", "")
    browser.choose("select[name=where]", "")
    browser.choose("select[name=kernels]", "SME")
    assert browser.ask(NAMES) == ["Convolution (NHWC, F32) IGEMM #1"]
    browser.choose("select[name=kernels]", "")
    browser.choose("input[type=search]", "softmax")
    assert browser.ask(NAMES) == ["Softmax (NC, F32) #1"]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_unfolds_to_its_kernels_module_and_samples(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width)
    browser.choose("input[type=search]", "convolution")
    browser.click("table.operators tr:not([hidden]) button.unfold")
    browser.wait_for("document.querySelectorAll('tr.detail circle').length === 6")
    detail = browser.ask("document.querySelector('tr.detail').innerText")
    for part in ("kai_matmul_sme2_mopa", "NEON", "Module", "Identity", "3 inferences"):
        assert part in detail
    browser.click("table.operators tr:not([hidden]) button.unfold")
    assert browser.ask("document.querySelectorAll('tr.detail').length") == 0
    assert browser.console_messages() == []


def test_the_raw_data_can_be_downloaded(browser: Browser, page: Path, tmp_path: Path) -> None:
    browser.open(page)
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.click("#download")
    browser.driver.set_script_timeout(10)
    browser.driver.execute_async_script("setTimeout(arguments[0], 1500)")
    (saved,) = tmp_path.glob("*.json")
    assert saved.name == "analysis_summary.json"
    assert '"schema_version":3' in saved.read_text(encoding="utf-8")


def test_the_static_parts_need_no_javascript(browser: Browser, page: Path) -> None:
    browser.open(page, scripts=False)
    tree = browser.driver.page_source
    assert '<html lang="en">' in tree  # the script marks a page on which it runs
    assert "2.40x" in tree
    assert tree.count('<div class="wide"') == tree.count('<div class="narrow"') == 4
    assert tree.count("<svg") >= 8
    browser.open(page)


def test_a_hostile_name_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "hostile.html"
    page.write_text(FORMATS["html"].render(hostile(tmp_path)), encoding="utf-8")
    browser.open(page)
    assert browser.ask("document.querySelectorAll('script').length") == 2
    assert browser.console_messages() == []
    assert any("<script>alert(1)</script>" in name for name in browser.ask(NAMES))
    assert HOSTILE.split("|")[0] in browser.ask("document.title")
    browser.choose("input[type=search]", "alert")
    browser.click("table.operators tr:not([hidden]) button.unfold")
    browser.wait_for("document.querySelector('tr.detail dl') !== null")


@pytest.mark.parametrize("width", WIDTHS)
def test_other_kinds_of_report_open_too(browser: Browser, width: int, tmp_path: Path) -> None:
    pages = {
        "one_variant": FORMATS["html"].render(one_variant(tmp_path)),
        "emulated": FORMATS["html"].render(emulated(tmp_path)),
        "thread_counts": FORMATS["html"].render(at_thread_counts(tmp_path)),
    }
    pages["combined"] = render_html(CombinedReport("Two", (("a", a_report(tmp_path)), ("b", one_variant(tmp_path)))))
    for name, text in pages.items():
        path = tmp_path / f"{name}.html"
        path.write_text(text, encoding="utf-8")
        browser.open(path, width)
        assert browser.console_messages() == []
        assert browser.ask("document.documentElement.scrollWidth") <= width
        assert browser.ask(_WIDER_THAN_PARENT) == []
        assert browser.ask(_CUT_OFF) == []
        browser.screenshot(Path(os.environ.get("ETPROF_SCREENSHOTS", tmp_path)) / f"{name}_{width}.png")


def test_the_page_of_a_history_stands_alone_and_shows_the_step(tmp_path: Path, browser: Browser) -> None:
    pytest.importorskip("duckdb")
    file = tmp_path / "h.duckdb"
    add_days(file, STEADY + SLOWER, device=a_device_info(name=HOSTILE))
    page = write_history_page(file, tmp_path / "history.html")
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "8.0 % slower" in text
    for width in WIDTHS:
        browser.open(page, width)
        assert browser.ask("document.documentElement.scrollWidth") <= width
        assert browser.ask("document.querySelectorAll('figure svg circle').length") > 2 * len(STEADY)
        assert browser.console_messages() == []
