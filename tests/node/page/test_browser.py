"""The page in a real browser, on a real node."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.support.page_browser import browser, needs_chromium, opened, opened_in, served

pytest.importorskip("playwright", reason="playwright is not installed: pip install --group test")
pytestmark = [needs_chromium, pytest.mark.browser]


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def blank(chromium):
    """Return a tab for the tests that need no profile of their own."""
    return chromium.new_context().new_page()


@pytest.fixture
def node(nodes):
    return nodes.lived_in()


def wait_until(tab, check):
    """Wait until something holds in this process, letting the browser go on."""
    for _ in range(200):
        if check():
            return
        tab.page.wait_for_timeout(50)
    pytest.fail("waited in vain")


def test_first_run(blank, nodes):
    node = nodes.new(items=5000, most_items=5000)
    with served(node) as address, opened_in(blank, address) as tab:
        page = tab.page
        assert page.url == f"{tab.origin}/items", "the token has left the address"
        assert page.locator("h2", has_text="Three steps").is_visible()
        page.locator("#search").press_sequentially("amber jaz")
        page.locator("#add-46").click()
        page.locator("#dial-46").wait_for()
        assert node.dials == {46: 100}
        assert "Amber jazz is on your list." in page.locator("#status").inner_text()
        page.reload()
        assert page.locator("#dial-46").input_value() == "100"
        assert page.url == f"{tab.origin}/items"
        tab.check()


def open_all(tab):
    """Open the groups of the list."""
    tab.page.locator("#open-all").click()
    tab.page.locator("#open-all", has_text="Close all").wait_for()


def test_a_slider_moves_with_the_keyboard_and_keeps_the_focus(blank, node):
    with served(node) as address, opened_in(blank, address) as tab:
        open_all(tab)
        slider = tab.page.locator("#dial-0")
        slider.focus()
        for _ in range(7):
            tab.page.keyboard.press("PageDown")
        assert tab.page.locator("#name-0").inner_text() == "A little", "words follow at once"
        wait_until(tab, lambda: node.dials[0] == 30)
        tab.page.get_by_text("Green tea: a little from the next sketch.").wait_for()
        assert tab.page.evaluate("document.activeElement.id") == "dial-0"
        assert slider.get_attribute("aria-valuetext") == "30: A little"
        assert "from the next sketch" in tab.page.locator("#item-0").inner_text()
        tab.page.locator("#more-0 > summary").click()
        assert "its dial is 100 in the sketch that is out" in tab.page.locator("#more-0").inner_text()
        slider.focus()
        tab.page.keyboard.press("Control+z")
        wait_until(tab, lambda: node.dials[0] == 100)
        assert node.store.database.one("SELECT count(DISTINCT step) FROM edits") == 3, (
            "seven steps of the slider were one edit"
        )
        tab.check()


def test_a_slider_moves_with_the_mouse(blank, node):
    with served(node) as address, opened_in(blank, address) as tab:
        open_all(tab)
        slider = tab.page.locator("#dial-0")
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        middle = box["y"] + box["height"] / 2
        tab.page.mouse.move(box["x"] + box["width"] - 12, middle)
        tab.page.mouse.down()
        tab.page.mouse.move(box["x"] + 2, middle, steps=8)
        assert tab.page.locator("#name-0").inner_text() == "Hidden"
        assert node.dials[0] == 100, "nothing is saved while the slider is held"
        tab.page.mouse.up()
        wait_until(tab, lambda: node.dials[0] == 0)
        tab.check()


def test_search_follows_the_typing_and_keeps_the_caret(blank, node):
    with served(node) as address, opened_in(blank, address) as tab:
        tab.page.locator("#search").press_sequentially("wild sl", delay=40)
        tab.page.locator(".found li", has_text="Wild sleep").first.wait_for()
        tab.page.keyboard.type("eep 2")
        tab.page.locator(".found li").nth(1).wait_for(state="detached")
        assert tab.page.locator("#search").input_value() == "wild sleep 2"
        assert tab.page.evaluate("document.activeElement.id") == "search"
        assert "sleep" not in tab.page.url
        tab.check()


@contextmanager
def script_on_its_way(tab, path):
    """Open a page whose script arrives only when the block ends."""
    held = []

    def hold(route):
        held.append(route)

    tab.page.route("**/static/page.js", hold)
    tab.page.goto(f"{tab.origin}/{path}", wait_until="commit")
    tab.page.locator("footer").wait_for()
    yield
    wait_until(tab, lambda: held)
    held[0].continue_()
    tab.page.unroute("**/static/page.js")


def test_what_was_entered_before_the_script_came_is_sent(blank, node):
    with served(node) as address, opened_in(blank, address) as tab:
        with script_on_its_way(tab, "items"):
            tab.page.locator("#search").fill("amber jazz")
        tab.page.locator("#add-46").wait_for()
        assert tab.page.locator("#search").input_value() == "amber jazz"
        tab.page.locator("#search").fill("green tea")
        tab.page.locator("#dial-0").wait_for()
        with script_on_its_way(tab, "items"):
            tab.page.locator("#dial-0").fill("30")
        wait_until(tab, lambda: node.dials[0] == 30)
        with script_on_its_way(tab, "privacy"):
            tab.page.locator("#choose").select_option(label="Northern tea")
        tab.page.get_by_text("no influence at all").wait_for()
        tab.check()


def test_what_was_entered_survives_what_is_done_at_once_elsewhere(blank, node):
    with served(node) as address, opened_in(blank, address) as tab:
        page = tab.page
        open_all(tab)
        both = (
            "for (const [place, dial] of [[0, 30], [1, 40]]) {const slider = document.getElementById(`dial-${place}`); "
        )
        both += "slider.value = dial; for (const name of ['input', 'change']) "
        page.evaluate(both + "slider.dispatchEvent(new Event(name, {bubbles: true}))}")
        wait_until(tab, lambda: (node.dials[0], node.dials[1]) == (30, 40))

        page.locator("#search").fill("amber ja")
        page.locator("#add-46").wait_for()
        typed = "const field = document.getElementById('search'); field.value = 'amber jazz'; "
        typed += "field.dispatchEvent(new Event('input', {bubbles: true})); document.getElementById('add-46').click()"
        page.evaluate(f"() => {{{typed}}}")
        page.get_by_text("Amber jazz is on your list.").wait_for()
        page.locator("#fitting", has_text="amber jazz").wait_for()
        assert page.locator("#search").input_value() == "amber jazz"

        turned = "const slider = document.getElementById('dial-46'); slider.value = 0; "
        turned += "slider.dispatchEvent(new Event('change', {bubbles: true})); location.href = '/network'"
        page.evaluate(f"() => {{{turned}}}")
        page.locator("h1", has_text="Network").wait_for()
        wait_until(tab, lambda: node.dials[46] == 0)
        tab.check()


def test_recommendations_appear_by_themselves(blank, nodes):
    node = nodes.new()
    node.store.profile.set_dials(dict.fromkeys(range(20), 100))
    with served(node) as address, opened_in(blank, address) as tab:
        tab.page.get_by_role("link", name="Neighbours").click()
        assert "Waiting for the first sketches" in tab.page.locator("#advice").inner_text()
        node.meet(30)
        tab.page.locator("#add-301").wait_for()
        tab.page.locator("#add-301").click()
        wait_until(tab, lambda: node.dials.get(301) == 100)
        tab.page.locator("#dismiss-305").click()
        wait_until(tab, lambda: node.store.profile.dismissed() == {305})
        tab.page.locator("#dismissed summary").click()
        tab.page.locator("#undismiss-305").click()
        tab.page.locator("#dismiss-305").wait_for()
        tab.check()


def test_a_new_epoch_shows_by_itself(blank, node):
    with served(node) as address, opened_in(blank, address) as tab:
        assert "Epoch 5" in tab.page.locator("#epoch").inner_text()
        node.now_s += node.network.epoch_length_s
        node.pass_epochs(1)
        tab.page.locator("#epoch", has_text="Epoch 6").wait_for()
        tab.check()


def test_the_chosen_item_is_explained(blank, node):
    with served(node) as address, opened_in(blank, address) as tab:
        tab.page.get_by_role("navigation").get_by_role("link", name="My privacy").click()
        tab.page.locator("#choose").select_option(label="Northern tea")
        tab.page.get_by_text("no influence at all").wait_for()
        tab.page.wait_for_function("document.querySelector('.sketch img').naturalWidth > 0")
        tab.check()


def test_the_keyboard_reaches_everything(blank, node):
    with served(node) as address, opened_in(blank, address) as tab:
        tab.page.keyboard.press("Tab")
        assert tab.page.evaluate("document.activeElement.className") == "skip"
        tab.page.keyboard.press("Enter")
        reached = set()
        for _ in range(120):
            tab.page.keyboard.press("Tab")
            reached.add(tab.page.evaluate("document.activeElement.id"))
            if tab.page.evaluate("document.activeElement.id") == "open-4" and not tab.page.locator("#dial-0").count():
                tab.page.keyboard.press("Enter")
                tab.page.locator("#dial-0").wait_for()
                assert tab.page.evaluate("document.activeElement.id") == "open-4"
            if tab.page.evaluate("document.activeElement.parentElement?.id") == "more-0":
                tab.page.keyboard.press("Enter")
        assert {"search", "search-go", "undo", "open-all", "dial-0", "remove-0"} <= reached
        tab.check()


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (390, "dark"), (1280, "light")])
def test_pages_fit_the_screen_in_light_and_dark(chromium, node, scheme, width):
    size = {"width": width, "height": 800}
    with served(node) as address, opened(chromium, address, viewport=size, color_scheme=scheme) as tab:
        shades = set()
        open_all(tab)
        for path in ("items", "privacy", "neighbours", "network", "data", "leave"):
            tab.page.goto(f"{tab.origin}/{path}")
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= width, path
            shades.add(tab.page.evaluate("getComputedStyle(document.body).backgroundColor"))
            small = tab.page.evaluate(
                "[...document.querySelectorAll('main button, nav a')].filter(e => e.offsetParent && "
                "e.getBoundingClientRect().height < 30).map(e => e.outerHTML)"
            )
            assert small == [], "large enough for a thumb"
        assert shades == {"rgb(246, 245, 241)" if scheme == "light" else "rgb(20, 25, 26)"}
        tab.check()


def test_forms_work_without_javascript(chromium, node):
    with served(node) as address, opened(chromium, address, java_script_enabled=False) as tab:
        page = tab.page
        page.locator("#search").fill("amber jazz")
        page.locator("#search-go").click()
        page.locator("#add-46").click()
        page.locator("#dial-46").wait_for()
        assert node.dials[46] == 100
        page.locator("#dial-46").focus()
        page.keyboard.press("Home")
        page.locator("#item-46 button", has_text="Set").click()
        wait_until(tab, lambda: node.dials[46] == 0)
        page.locator("#more-46 > summary").click()
        page.locator("#remove-46").click()
        wait_until(tab, lambda: 46 not in node.dials)
        page.locator("#undo-message").click()
        wait_until(tab, lambda: node.dials.get(46) == 0)
        page.goto(f"{tab.origin}/privacy")
        page.locator("#choose").select_option(label="Northern tea")
        page.locator("#told button", has_text="Show").click()
        page.get_by_text("no influence at all").wait_for()
        tab.check()


@pytest.mark.parametrize("script", [True, False])
def test_a_file_is_brought_in_and_a_copy_taken_out(chromium, node, script, tmp_path):
    with served(node) as address, opened(chromium, address, java_script_enabled=script) as tab:
        page = tab.page
        page.get_by_role("link", name="Bring it in").click()
        page.wait_for_url(f"{tab.origin}/data#bring")
        page.locator("#file").set_input_files(
            {"name": "liked.txt", "mimeType": "text/plain", "buffer": "Amber jazz\nTänze\n".encode()}
        )
        page.locator("#import").click()
        page.locator("#result").wait_for()
        assert node.dials[46] == 100
        assert "1 is not in the catalogue and is kept for later." in page.locator("#result").inner_text()
        page.locator("#unknown summary").click()
        assert page.locator("#unknown li").inner_text() == "Tänze"
        with page.expect_download() as download:
            page.get_by_role("link", name="Your list as a table").click()
        download.value.save_as(tmp_path / "list.csv")
        assert "Amber jazz" in (tmp_path / "list.csv").read_text()
        assert "liked" not in page.url
        page.locator("#undo-message").click()
        wait_until(tab, lambda: 46 not in node.dials)
        tab.check()


def test_what_was_entered_is_not_lost_when_the_node_has_news(blank, node):
    """The page shows the new epoch, so it was loaded again; nothing that was entered was sent or focused."""
    with served(node) as address, opened_in(blank, address) as tab:
        tab.page.goto(f"{tab.origin}/data")
        tab.page.locator("#text").fill("Amber jazz")
        tab.page.locator("#kind").select_option("titles")
        tab.page.locator("#file").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"Oolong"})
        tab.page.locator("#page").focus()
        node.now_s += node.network.epoch_length_s
        node.pass_epochs(1)
        tab.page.locator("#epoch", has_text="Epoch 6").wait_for()
        assert tab.page.locator("#text").input_value() == "Amber jazz"
        assert tab.page.locator("#kind").input_value() == "titles"
        assert tab.page.evaluate("document.getElementById('file').files[0].name") == "a.txt"
        tab.check()


@pytest.mark.parametrize("script", [True, False])
def test_leaving_ends_with_a_last_page(chromium, node, script):
    with served(node) as address, opened(chromium, address, java_script_enabled=script) as tab:
        page = tab.page
        if script:
            page.clock.install()
        page.goto(f"{tab.origin}/leave")
        page.locator("#leave").click()
        assert node.mode() == "open", "the browser asks for the tick"
        page.locator("#sure").check()
        page.locator("#leave").click()
        page.get_by_text("Your node has left the network and stops now").wait_for()
        assert node.mode() == "closed"
        if script:
            page.clock.run_for(20_000)
        assert "does not answer" not in page.locator("body").inner_text(), "nobody is asked any more"


def test_a_neighbour_is_hidden(blank, node):
    with served(node) as address, opened_in(blank, address) as tab:
        page, first = tab.page, node.neighbors()[0]
        page.goto(f"{tab.origin}/neighbours")
        page.get_by_role("button", name=f"Hide {first.name}").click()
        page.locator("#hidden summary").click()
        page.get_by_role("button", name=f"Show {first.name} again").click()
        page.get_by_role("button", name=f"Hide {first.name}").wait_for()
        tab.check()


def test_wrong_and_used_addresses_are_refused(chromium, node):
    with served(node) as address:
        wrong = address[:-4] + "AAAA"
        with opened(chromium, wrong) as tab:
            assert "This address does not work" in tab.page.locator("body").inner_text()
        with opened(chromium, address) as tab:
            assert tab.page.locator("#list").is_visible()
        with opened(chromium, address) as tab:
            assert "This address does not work" in tab.page.locator("body").inner_text()
        with opened(chromium, address.partition("?")[0]) as tab:
            assert "Open the printed address" in tab.page.locator("body").inner_text()


@contextmanager
def another_site(html):
    """Serve one page from another port, the nearest an attacker can get: browsers ignore ports in cookies."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_another_site_can_neither_read_nor_write_nor_frame(blank, node):
    with served(node) as address, opened_in(blank, address) as tab:
        before = dict(node.dials)
        fields = '<input name="dial" value="0"><button>Go</button>'
        html = f"""<!doctype html><iframe src="{tab.origin}/items"></iframe>
            <form method="post" action="{tab.origin}/items/group">{fields}</form>"""
        with another_site(html) as evil:
            attacker = tab.context.new_page()
            attacker.goto(evil)
            for path, options in (
                ("/items", "{credentials: 'include'}"),
                ("/items", "{credentials: 'include', mode: 'no-cors'}"),
                ("/items/group", "{credentials: 'include', method: 'POST', body: new URLSearchParams({dial: 0})}"),
            ):
                seen = attacker.evaluate(
                    f"fetch('{tab.origin}{path}', {options}).then(a => a.text()).catch(() => 'refused')"
                )
                assert seen in {"", "refused"}
            assert "My items" not in attacker.frames[1].content()
            attacker.locator("button").click()
            attacker.get_by_text("Not from there").wait_for()
        assert node.dials == before
        assert tab.page.locator("#list").is_visible()


def test_a_stopped_node_is_noticed(blank, node):
    with served(node) as address, opened_in(blank, address) as tab:
        node.stopping.set()
        tab.page.get_by_text("The node does not answer.").wait_for(timeout=20_000)


def test_a_page_without_its_node_stops_asking_until_it_is_told_to(chromium, node):
    """Whoever takes the port later would be sent the cookie; after a few failures a click is needed."""
    with served(node) as address, opened(chromium, address) as tab:
        page = tab.page
        page.clock.install()
        page.reload()
        asked = []
        page.route("**/state", lambda route: (asked.append(1), route.abort()))
        page.route("**/items", lambda route: (asked.append(1), route.abort()))
        for _ in range(40):
            page.clock.run_for(3000)
            page.wait_for_timeout(20)
            if page.locator("#ask-again").count():
                break
        before = len(asked)
        assert before == 5
        for _ in range(10):
            page.clock.run_for(3000)
            page.wait_for_timeout(20)
        assert len(asked) == before
        page.unroute("**/state")
        page.unroute("**/items")
        page.locator("#ask-again").click()
        page.locator("#ask-again").wait_for(state="detached")
