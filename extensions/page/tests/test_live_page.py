"""Tests of the service's page in a real browser: dropped files, plans, running and stopped jobs, and old jobs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memplan.api.settings import Settings
from memplan.extensions.page.tests.browser import DROP, Tab, tab, wait_until
from memplan.questions import question_rows
from tests.support.server import RunningServer, run_server
from tests.support.values import buffer_rows

pytestmark = pytest.mark.slow
MODELS, EXAMPLES = Path(__file__).parents[3] / "tests" / "models", Path(__file__).parents[3] / "examples"
HARD = EXAMPLES / "problems" / "minimalloc" / "J.1048576.csv"
ROWS = buffer_rows(conv1=(64, 0, 3), conv2=(48, 2, 5), conv3=(32, 4, 6))
SMALL: dict[str, Any] = {"buffers": ROWS, "pools": [{"name": "sram", "size": 256}]}
KEY = "a-key-of-an-operator-that-is-long-enough"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with run_server(Settings(max_jobs=50)) as found:
        yield found


@pytest.fixture
def opened_tab(browser: Any, server: RunningServer) -> Iterator[Tab]:
    with tab(browser) as found:
        found.page.goto(f"http://127.0.0.1:{server.port}/")
        yield found
        assert (found.errors, found.policy_breaks) == ([], [])
        assert all(url.startswith((f"http://127.0.0.1:{server.port}/", "blob:", "data:")) for url in found.requests)


def give(found: Tab, name: str, content: bytes) -> None:
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    found.page.set_input_files("header input[type=file]", file)


def wait_for_text(found: Tab, text: str) -> None:
    found.page.wait_for_function("text => document.querySelector('.said').textContent.includes(text)", arg=text)


def plan_file(found: Tab, name: str, content: bytes | dict[str, Any] = SMALL) -> None:
    give(found, name, content if isinstance(content, bytes) else json.dumps(content).encode())
    wait_for_text(found, "planned in")


def wait_for_alarm(found: Tab, sentence: str = "") -> None:
    found.page.locator("[role=alert]:has(li)", has_text=sentence).wait_for()
    assert sentence in found.page.inner_text("[role=alert]")  # The locator ignores case.


def test_the_start_screen_offers_an_example(opened_tab: Tab) -> None:
    opened_tab.page.set_viewport_size({"width": 390, "height": 844})
    opened_tab.page.click("text=Try an example")
    opened_tab.page.dblclick(".service button.primary:enabled")
    wait_for_text(opened_tab, "planned in")
    jobs = opened_tab.page.evaluate("fetch('/v1/jobs?kind=plan').then((answer) => answer.json())")["jobs"]
    assert sum(job["name"] == "mobilenet_v2.csv" for job in jobs) == 2  # Two calls: opened, then double-clicked.
    assert opened_tab.page.locator(".watch").count() == 0
    assert opened_tab.page.evaluate("document.querySelector('.picture').clientHeight") > 300
    assert opened_tab.page.evaluate("document.documentElement.scrollWidth") == 390
    opened_tab.page.goto(opened_tab.page.url.partition("?")[0])
    opened_tab.page.click("text=Jobs")


def test_a_mended_file_that_is_opened_again_under_its_name_is_read_again(opened_tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    for size in ("eight", "8"):
        path.write_text(f"id,lower,upper,size\na,0,2,{size}\n")
        opened_tab.page.set_input_files("header input[type=file]", path)
        wait_for_text(opened_tab, "planned in") if size == "8" else wait_for_alarm(opened_tab)
        # A browser reports only another name, so the field must have forgotten this one.
        assert opened_tab.page.input_value("header input[type=file]") == ""


def focused_name(found: Tab) -> str:
    return found.page.evaluate("(({ ariaLabel, textContent }) => ariaLabel ?? textContent)(document.activeElement)")


def wait_for_focus(found: Tab, name: str) -> None:
    """Wait until the element with this end of a name has the focus, which follows a key only in a later frame."""
    for _ in range(600):
        if focused_name(found).endswith(name):
            return
        found.page.wait_for_timeout(50)
    assert focused_name(found) == name


def tab_to(found: Tab, name: str) -> None:
    for _ in range(40):
        found.page.keyboard.press("Tab")
        if focused_name(found) == name:
            return
    raise AssertionError(f"must be reached by Tab: {name}")


def test_jobs_can_be_renamed_searched_and_deleted_by_keyboard_alone(opened_tab: Tab) -> None:
    press = opened_tab.page.keyboard.press
    for name in ("first", "second"):
        opened_tab.page.evaluate(DROP, [f"{name}.json", json.dumps(SMALL | {"name": f"nightly {name}"})])
        wait_for_text(opened_tab, "planned in")
    tab_to(opened_tab, "Jobs")
    press("Enter")
    wait_for_focus(opened_tab, "search jobs")
    opened_tab.page.keyboard.type("nightly")
    wait_until(opened_tab, "document.querySelector('dialog [role=status]')?.textContent === '2 jobs'")
    press("ArrowDown")
    press("ArrowDown")
    wait_for_focus(opened_tab, "nightly first")
    press("ArrowUp")
    tab_to(opened_tab, "Rename nightly second")
    press("Enter")
    wait_for_focus(opened_tab, "new name")
    press("Escape")  # This leaves the name field but not the dialog.
    wait_for_focus(opened_tab, "Rename nightly second")
    press("Enter")
    press("ControlOrMeta+a")
    opened_tab.page.keyboard.type("Nightly <b>Lauf</b> 100%")
    press("Enter")
    wait_until(opened_tab, "document.activeElement.ariaLabel === 'Rename Nightly <b>Lauf</b> 100%'")
    for left, name in ((1, "Delete nightly first"), (0, "search jobs")):
        if left:
            press("Tab")
        press("Enter")
        wait_for_focus(opened_tab, " for good")
        press("Enter")
        wait_until(opened_tab, f"document.querySelectorAll('dialog tbody button').length === {3 * left}")
        wait_until(opened_tab, f"document.activeElement.ariaLabel === '{name}'")
    assert opened_tab.serious_violations() == []
    assert opened_tab.page.evaluate("fetch('/v1/jobs?search=nightly').then((answer) => answer.json())")["jobs"] == []
    press("Escape")  # The first Escape only clears the search text.
    press("Escape")
    wait_for_focus(opened_tab, "Jobs")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(opened_tab: Tab, scheme: str) -> None:
    opened_tab.page.emulate_media(color_scheme=scheme)
    assert opened_tab.serious_violations() == []
    give(opened_tab, "small.json", json.dumps({**SMALL, "pools": [{"size": 100}]}).encode())
    wait_for_alarm(opened_tab)
    opened_tab.page.click("text=Jobs")
    opened_tab.page.wait_for_selector("dialog.jobs")
    assert opened_tab.serious_violations() == []


def test_a_job_can_be_found_by_its_address_and_in_the_list(opened_tab: Tab) -> None:
    plan_file(opened_tab, "again.json")
    address = opened_tab.page.url
    assert "?job=" in address
    opened_tab.page.goto(address)
    wait_for_text(opened_tab, "planned in")
    opened_tab.page.click("text=Jobs")
    opened_tab.page.click("dialog tbody button:has-text('again') >> nth=0")
    wait_for_text(opened_tab, "planned in")
    opened_tab.page.wait_for_selector("dialog", state="detached")


def badge(found: Tab, text: str) -> None:
    found.page.wait_for_function("text => document.querySelector('.badge')?.textContent.startsWith(text)", arg=text)


def test_opened_plans_are_verified_and_restored_by_back_and_forward(opened_tab: Tab) -> None:
    opened_tab.page.evaluate(DROP, ["one.json", json.dumps(SMALL)])
    wait_for_text(opened_tab, "planned in")
    badge(opened_tab, "valid: checked")
    assert "112 B, proved to be the least" in opened_tab.page.inner_text(".sentences")
    assert (opened_tab.page.locator(".picture canvas").count(), opened_tab.page.title()) == (2, "one - memplan")
    opened_tab.page.fill("label:has-text('capacity') input", "100 B")
    opened_tab.page.click(".service button.primary")
    wait_for_text(opened_tab, "does not fit")
    opened_tab.page.fill("label:has-text('capacity') input", "")
    opened_tab.page.click(".service button.primary")
    wait_for_text(opened_tab, "planned in")  # The field is empty, so the problem's capacity applies.
    rows = [{"id": row["id"], "pool": "sram", "offset": 0} for row in SMALL["buffers"]]
    wrong = json.dumps({"status": "optimal", "peak": 64, "placements": rows}).encode()
    for _ in range(2):  # Opening the same file twice must work.
        give(opened_tab, "plan.json", wrong)
        badge(opened_tab, "not valid")
    larger = [{**row, "size": row["size"] + 16} for row in SMALL["buffers"]]
    plan_file(opened_tab, "two.json", {**SMALL, "buffers": larger})
    opened_tab.page.go_back()
    badge(opened_tab, "not valid")
    opened_tab.page.go_back()
    opened_tab.page.go_back()
    badge(opened_tab, "valid: checked")
    opened_tab.page.go_forward()
    badge(opened_tab, "not valid")


def test_a_comparison_shows_two_opened_plans_and_is_closed_by_its_button(opened_tab: Tab) -> None:
    plan_file(opened_tab, "build 1.json")
    larger = [{**row, "size": row["size"] + 16} for row in SMALL["buffers"]]
    plan_file(opened_tab, "build 2.json", {**SMALL, "buffers": larger})
    opened_tab.page.click("text=Compare")
    opened_tab.page.wait_for_selector(".causes")
    heads = opened_tab.page.locator("main .bar >> nth=0").locator("button").all_inner_texts()
    assert heads == ["before: build 1", "after: build 2", "Plan with the old addresses kept"]
    badge(opened_tab, "valid: checked")
    opened_tab.page.click("text=Back to the plan")
    badge(opened_tab, "valid: checked")
    assert opened_tab.page.locator(".causes").count() == 0
    assert "by=moved" not in opened_tab.page.url
    opened_tab.page.click("text=Compare")
    opened_tab.page.click("text=Plan with the old addresses kept")
    wait_for_text(opened_tab, "planned in")
    opened_tab.page.click("text=Compare")
    opened_tab.page.wait_for_selector("button:text-is('before: build 1')")  # "before" must stay the first plan.


def test_the_page_reports_a_lost_connection_and_its_return(opened_tab: Tab, server: RunningServer) -> None:
    plan_file(opened_tab, "first.json")
    opened_tab.page.route("**/events", lambda route: route.abort())
    opened_tab.page.fill("label:has-text('seconds') input", "60")
    give(opened_tab, HARD.name, HARD.read_bytes().replace(b"\r", b""))
    wait_for_text(opened_tab, "connection lost, trying again")
    opened_tab.page.unroute("**/events")
    wait_for_text(opened_tab, "searching")
    opened_tab.page.click("text=Stop", force=True)  # A slow machine has too few frames to wait for a click.
    opened_tab.page.wait_for_function("() => /stopped|planned|done/.test(document.querySelector('.said').textContent)")


def test_a_dropped_model_is_planned_with_the_names_of_its_operations(opened_tab: Tab) -> None:
    plan_file(opened_tab, "choice.tflite", (MODELS / "choice.tflite").read_bytes())
    assert "peak 48 B" in opened_tab.page.inner_text("main .facts")
    opened_tab.page.goto(opened_tab.page.url)  # Opening the link must show the names, too.
    wait_for_text(opened_tab, "planned in")
    opened_tab.page.select_option("main select", "operation")
    assert "SOFTMAX" in opened_tab.page.inner_text(".legend")


def test_the_page_requests_the_free_dimensions_of_a_model(opened_tab: Tab) -> None:
    give(opened_tab, "exported.pt2", (MODELS / "exported.pt2").read_bytes())
    assert "give it, for example: dims=s77=1" in opened_tab.page.inner_text("dialog .alarm")
    assert opened_tab.page.input_value("[data-option=dims] input") == "s77=1"
    opened_tab.page.fill("[data-option=dims] input", "s77=3")
    opened_tab.page.click("dialog .primary")
    badge(opened_tab, "valid: checked")
    opened_tab.page.select_option("main select", "operation")


def lines(found: Tab) -> str:
    """Return the answer on the page as the text that the command line would print."""
    found.page.click("summary:text-is('As the command writes it')")
    return found.page.inner_text("pre.lines")


def question(found: Tab, kind: str, **options: str | bool) -> None:
    """Choose a question in the menu, fill in its options, and submit the form with its default inputs."""
    found.page.click("text=More…")
    found.page.locator("dialog .menu button", has=found.page.locator(f"b:text-is('{kind}')")).click()
    for name, value in options.items():
        if isinstance(value, bool):
            found.page.set_checked(f"[data-option={name}] input", value)
        else:
            found.page.fill(f"[data-option={name}] input", value)
    found.page.click("dialog .primary")
    found.page.wait_for_selector("dialog", state="detached")


def test_the_menu_has_every_question_and_shows_answers_about_a_dropped_model(opened_tab: Tab) -> None:
    plan_file(opened_tab, "view.tflite", (MODELS / "view.tflite").read_bytes())
    opened_tab.page.click("text=More…")
    opened_tab.page.wait_for_selector("dialog .menu b")
    assert sorted(opened_tab.page.locator("dialog .menu b").all_inner_texts()) == sorted(question_rows())
    assert opened_tab.serious_violations() == []
    opened_tab.page.click("dialog >> text=Close")
    opened_tab.page.click("text=More…")
    opened_tab.page.locator("dialog .menu button", has=opened_tab.page.locator("b:text-is('convert')")).click()
    opened_tab.page.select_option("[data-option=to] select", "tflite")
    opened_tab.page.click("dialog .primary")
    wait_for_text(opened_tab, "done in")
    assert "TFLite Micro's whole arena takes" in lines(opened_tab)
    for kind, line in (("check", "bytes"), ("verify", "valid")):
        question(opened_tab, kind)
        wait_for_text(opened_tab, "done in")
        assert line in lines(opened_tab)
    badge(opened_tab, "valid: checked")
    assert opened_tab.serious_violations() == []
    opened_tab.page.reload()
    wait_for_text(opened_tab, "done in")
    assert "proved to be the least" in opened_tab.page.inner_text(".outcome")
    badge(opened_tab, "valid: checked")
    question(opened_tab, "sweep")  # Its example names buffers of the shown problem, so it must work.
    wait_for_text(opened_tab, "done in")
    question(opened_tab, "shapes")
    opened_tab.page.click("text=over n")
    assert "n (b=64)" in opened_tab.page.inner_text(".chart")
    question(opened_tab, "shapes", limits=True, within="100000")
    opened_tab.page.wait_for_selector(".points button:has-text('b=1, n=')")


def test_a_dropped_file_opens_the_form_of_its_question(opened_tab: Tab) -> None:
    for name, kind in (
        ("schedules/gap8_like.json", "schedule"),
        ("graphs/synth_intree100_s0.json", "order"),
        ("networks/two_convolutions.json", "order"),
        ("symbolic/bert_4l.json", "shapes"),
    ):
        give(opened_tab, name, (EXAMPLES / name).read_bytes())
        opened_tab.page.wait_for_selector(f"dialog .menu [aria-pressed=true] b:text-is('{kind}')")
        if name == "schedules/gap8_like.json":  # A target needs a network, so the form asks for one.
            shown = "(one) => one.selectedOptions[0].text"
            assert opened_tab.page.eval_on_selector("[data-input=problem] select", shown) == "a file…"
            assert "problem: which one is gap8-like for? Choose its file." in opened_tab.page.inner_text(
                "dialog .alarm"
            )
            network = EXAMPLES / "networks" / "two_convolutions.json"
            opened_tab.page.set_input_files("dialog input[type=file]:visible", network)
            opened_tab.page.click("dialog .primary")
            badge(opened_tab, "valid: checked")
            jobs = opened_tab.page.evaluate("fetch('/v1/jobs?kind=schedule').then((answer) => answer.json())")["jobs"]
            assert opened_tab.page.inner_text("h1") == f"schedule of {jobs[0]['name']}"
        else:
            opened_tab.page.click("dialog >> text=Close")
    for name in ("operations.json", "two_memories.json", "cmake/memory.json"):
        with opened_tab.page.expect_response(lambda answer: answer.request.method == "POST"):
            give(opened_tab, name, (EXAMPLES / name).read_bytes())
        badge(opened_tab, "valid: checked")  # The badge of the file before is there until the answer comes.
    give(opened_tab, "index.json", (EXAMPLES / "graphs" / "index.json").read_bytes())
    wait_for_alarm(opened_tab, "must be")


def test_a_wrong_file_is_sent_only_once_and_replaced_by_its_correction(opened_tab: Tab) -> None:
    sent: list[str] = []
    opened_tab.page.on("request", lambda request: sent.append(request.method) if "convert" in request.url else None)
    give(opened_tab, "notes.txt", b"what is this")
    wait_for_alarm(opened_tab, "file: must be of a known format")
    assert sent == ["POST"]
    for _ in range(2):  # Each round gives a wrong file, then its correction, so both must work twice.
        give(opened_tab, "small.json", json.dumps({**SMALL, "buffers": [{"id": 1, "size": 1.5}]}).encode())
        wait_for_alarm(opened_tab)
        plan_file(opened_tab, "small.json")
        assert opened_tab.page.locator("[role=alert] li").count() == 0


def test_links_appear_only_for_questions_in_the_openapi_schema(opened_tab: Tab) -> None:
    def is_offered() -> bool:
        opened_tab.page.goto(opened_tab.page.url.partition("?")[0])
        opened_tab.page.click("text=Try an example")
        badge(opened_tab, "valid: checked")
        return opened_tab.page.locator("text=Make a certificate").count() > 0

    def drop_one(route: Any) -> None:
        answer = route.fetch()
        described = answer.json()
        del described["paths"]["/v1/certify"]
        route.fulfill(response=answer, json=described)

    assert is_offered()
    opened_tab.page.route("**/openapi.json", drop_one)
    assert not is_offered()
    opened_tab.page.unroute("**/openapi.json")


def test_a_saved_page_opens_without_the_service(opened_tab: Tab, browser: Any, tmp_path: Path) -> None:
    opened_tab.page.click("text=Try an example")
    badge(opened_tab, "valid: checked")
    with opened_tab.page.expect_download() as download:
        opened_tab.page.click("text=Save page")
    (tmp_path / "saved.html").write_bytes(Path(download.value.path()).read_bytes())
    with tab(browser) as alone:
        alone.page.goto((tmp_path / "saved.html").as_uri())
        alone.page.wait_for_selector(".picture canvas")
        assert (alone.page.inner_text(".badge"), alone.page.title()) == ("valid: checked", "mobilenet_v2.csv")
        assert (alone.errors, alone.policy_breaks) == ([], [])


def test_plans_in_tables_of_answers_can_be_opened(opened_tab: Tab) -> None:
    give(opened_tab, "tight.json", json.dumps({**SMALL, "pools": [{"size": 100}]}).encode())
    wait_for_text(opened_tab, "does not fit")
    opened_tab.page.click("text=What would make it fit?")
    assert opened_tab.page.input_value("[data-option=repairs] input") == "3"
    opened_tab.page.click("dialog .primary")
    opened_tab.page.wait_for_selector(".outcome button:text-is('open')", timeout=60_000)
    assert "It fits with 1 change: no fewer would do." in opened_tab.page.inner_text(".outcome")
    assert "conv" in opened_tab.page.inner_text(".outcome table:has(th:text-is('bytes moved')) tbody tr >> nth=0")
    opened_tab.page.click(".outcome button:text-is('open') >> nth=0")
    badge(opened_tab, "valid: checked")
    give(opened_tab, "small.json", json.dumps(SMALL).encode())
    badge(opened_tab, "valid: checked")
    question(opened_tab, "explain", what_if=True, shrunk_to="0.5")
    opened_tab.page.wait_for_selector(".outcome th:text-is('gain if shrunk')")
    heads = opened_tab.page.locator(".outcome table:has(th:text-is('gain if shrunk')) th").all_inner_texts()
    rows = [row.split("\t") for row in opened_tab.page.locator(".outcome table tbody tr").all_inner_texts()]
    gains = {row[0].strip(): row[heads.index("gain if shrunk")] for row in rows if len(row) == len(heads)}
    assert gains["conv1"] == "32 B"  # If conv1 shrinks, the peak falls from 112 to 80 B.
    plan_file(opened_tab, "again.json")
    badge(opened_tab, "valid: checked")
    question(opened_tab, "sweep")
    opened_tab.page.wait_for_selector("circle.point.optimal")
    badge(opened_tab, "valid: checked")


def test_the_page_discards_the_data_of_old_entries_stored_as_jobs(opened_tab: Tab) -> None:
    script = """async () => { const { EMPTY, next } = await import("/static/live/state.js"); let state = EMPTY;
      for (let k = 0; k < 9; k++) {
        const entry = { name: `n${k}`, problem: {}, plan: {}, job: k % 2 ? `j${k}` : null };
        state = next(state, { kind: "opened", entry });
      }
      return state.entries.map(({ problem }) => problem !== null); }"""
    assert opened_tab.page.evaluate(script) == [True, False, True, True, True, True, True, True, True]


def test_answers_of_order_and_cascade_open_as_charts(opened_tab: Tab) -> None:
    plan_file(opened_tab, "view.tflite", (MODELS / "view.tflite").read_bytes())
    for kind, points in (("order", 0), ("cascade", 1)):
        opened_tab.page.click("text=More…")
        opened_tab.page.locator("dialog .menu button", has=opened_tab.page.locator(f"b:text-is('{kind}')")).click()
        opened_tab.page.select_option("dialog .field select >> nth=0", label="an example, written here")
        opened_tab.page.click("dialog .primary")
        wait_for_text(opened_tab, "done in")
        badge(opened_tab, "valid: checked")
        assert opened_tab.page.locator("circle.point").count() >= points
        assert kind == "cascade" or ", operation " in opened_tab.page.inner_text("aside.side h2:has-text('Alive at')")
        assert opened_tab.serious_violations() == []
    opened_tab.page.click(".bar button:text-is('stripes')")
    assert "step 0" in (opened_tab.page.text_content(".stripes svg") or "")


def test_each_model_of_an_application_has_its_own_colour(opened_tab: Tab) -> None:
    plan_file(opened_tab, "camera.json", (EXAMPLES / "application.json").read_bytes())
    assert {"capture", "detect", "network"} <= set(opened_tab.page.inner_text(".legend").split())


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("plan.json", b'{"status": "feasible", "placements": [], "peak": 3}', "open the problem that it is for first"),
        ("<img src=x onerror=alert(1)>.json", b"", "<img src=x onerror=alert(1)>.json: must not be empty"),
    ],
)
def test_errors_with_markup_are_shown_as_text(opened_tab: Tab, name: str, content: bytes, sentence: str) -> None:
    give(opened_tab, name, content)
    wait_for_alarm(opened_tab, sentence)
    assert opened_tab.page.locator("img").count() == 0


def test_a_stopped_search_keeps_its_best_plan(opened_tab: Tab) -> None:
    plan_file(opened_tab, "first.json")
    opened_tab.page.fill("label:has-text('seconds') input", "60")
    give(opened_tab, HARD.name, HARD.read_bytes().replace(b"\r", b""))
    opened_tab.page.wait_for_function("() => !document.querySelectorAll('.service button')[2].disabled")
    most = "[...document.querySelectorAll('[data-fact=peak], main .facts b')].slice(0, 2).map((one) => one.textContent)"
    opened_tab.page.wait_for_function(f"() => {most}[1]?.includes('iB)')", timeout=60_000)
    assert len(set(opened_tab.page.evaluate(most))) == 1  # The strip and the picture must show the same plan.
    opened_tab.page.click("text=Stop", force=True)
    opened_tab.page.wait_for_function("() => /stopped|planned|done/.test(document.querySelector('.said').textContent)")
    assert opened_tab.page.locator(".picture canvas").count() == 2
    question(opened_tab, "explain", time_limit_s="60", study_s="60")
    wait_for_text(opened_tab, "searching")
    opened_tab.page.click("text=Stop", force=True)
    opened_tab.page.wait_for_function("() => /stopped|planned|done/.test(document.querySelector('.said').textContent)")


def test_names_with_markup_are_shown_as_text(opened_tab: Tab) -> None:
    names = ["<script>document.title='taken'</script>", "\u202egnp.exe", "x" * 10_000]
    rows = [{"id": name, "size": 8, "start": 0, "end": 2} for name in names]
    plan_file(opened_tab, "hostile.json", {"name": names[0], "buffers": rows})
    assert "taken" not in opened_tab.page.title().replace(names[0], "")
    opened_tab.page.click("text=Jobs")
    opened_tab.page.wait_for_selector("dialog tbody tr")
    assert opened_tab.page.locator("dialog tbody").inner_text().startswith(names[0])


def test_an_api_key_can_be_entered_by_keyboard_and_is_stored_in_the_tab_only(browser: Any) -> None:
    with run_server(Settings(require_keys=True, admin_key=KEY)) as server, tab(browser) as found:
        found.page.goto(f"http://127.0.0.1:{server.port}/")
        tab_to(found, "Jobs")
        for key, note in (("", "It is kept in this tab"), ("wrong", "The key was refused.")):
            found.page.keyboard.press("Enter")
            found.page.wait_for_selector(f"text={note}")
            wait_until(found, "document.activeElement.id === 'key'")
            described = "document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent"
            assert found.page.evaluate(described).startswith(note)
            assert found.serious_violations() == []
            found.page.keyboard.type(key or "wrong")
        found.page.keyboard.press("Escape")  # The jobs dialog reports a missing key, so close it.
        found.page.wait_for_selector("dialog.jobs [role=alert] li")
        found.page.keyboard.press("Escape")
        wait_until(found, "document.querySelector('dialog[open]') === null")
        wait_for_focus(found, "Jobs")
        found.page.keyboard.press("Enter")
        found.page.wait_for_selector("#key")
        found.page.keyboard.type(KEY)
        found.page.keyboard.press("Enter")
        wait_until(found, "document.querySelector('dialog [role=status]')?.textContent === '0 jobs'")
        found.page.keyboard.press("Escape")
        question(found, "explain")
        wait_for_text(found, "does not fit")
        assert found.page.evaluate("[sessionStorage.length, localStorage.length]") == [1, 0]
        assert found.page.evaluate("document.cookie") == ""
        assert found.errors == []


def test_the_docs_page_shows_the_types_of_request_bodies(browser: Any, server: RunningServer) -> None:
    with tab(browser) as found:
        found.page.goto(f"http://127.0.0.1:{server.port}/docs")
        found.page.click("summary:has-text('/v1/convert')")
        found.page.wait_for_selector("details[open] pre")
        assert '"violations"?: [string, …]' in found.page.inner_text("details[open]")
        assert (found.serious_violations(), found.errors, found.policy_breaks) == ([], [], [])


def test_pages_are_served_with_a_security_policy_and_an_etag(server: RunningServer) -> None:
    answer = server.client.get("/")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert server.client.get("/", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    assert server.client.get("/static/dom.js").headers["content-type"] == "text/javascript; charset=utf-8"
    for path in ("/static/..%2fdocument.py", "/static/../document.py", "/static/vendor", "/static/live/none.js"):
        assert server.client.get(path).status_code == 404
