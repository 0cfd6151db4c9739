"""Every page passes axe, the checker of accessibility, at both widths, in light and dark, with everything open."""

from pathlib import Path

import pytest
from tests.support.page_browser import browser, needs_chromium, opened, served

pytest.importorskip("playwright", reason="playwright is not installed: pip install --group test")
axe = pytest.importorskip("axe_core_python", reason="axe is not installed: pip install --group test")
pytestmark = [needs_chromium, pytest.mark.browser]

AXE = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
PAGES = ("items", "privacy", "neighbours", "network", "data", "leave", "nowhere")


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing(chromium, nodes, width, scheme):
    node = nodes.lived_in()
    node.hide(node.neighbors()[-1].key_hex)
    node.import_items(b"Amber jazz\nno such title\n", kind="titles")
    node.pause()
    found, size = {}, {"width": width, "height": 900}
    with served(node) as address, opened(chromium, address, viewport=size, color_scheme=scheme) as tab:
        tab.page.locator("#open-all").click()
        tab.page.locator("#open-all", has_text="Close all").wait_for()
        for path in PAGES:
            tab.page.goto(f"{tab.origin}/{path}")
            tab.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            tab.page.evaluate(AXE)
            for problem in tab.page.evaluate("axe.run().then(found => found.violations)"):
                found[path, problem["id"]] = [spot["html"][:150] for spot in problem["nodes"][:3]]
    assert found == {}
