"""The site: it builds without a warning, notebooks run, links lead somewhere, and all that is public is listed."""

import importlib
import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.support.public import PUBLIC

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TUTORIALS = ("analyst", "engineer", "person", "researcher")
#: Elements for which a browser fetches something, and the attribute that says what.
FETCHED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(HTMLParser):
    """What a page links to, what can be linked to in it, and what a browser would fetch for it."""

    def __init__(self, path):
        super().__init__()
        self.path, self.links, self.anchors, self.fetched = path, [], {""}, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in FETCHED and given.get(FETCHED[tag]) and given.get("rel") not in ("canonical", "search"):
            self.fetched.append(given[FETCHED[tag]])


def built(out):
    """Return the pages of the site by path, built as `make docs` builds it."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", out / "trees", DOCS, out]
    quiet = {**os.environ, "PYTHONWARNINGS": "default"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet)
    assert done.returncode == 0, done.stderr[-5000:]
    return {path: Page(path) for path in out.rglob("*.html")}


@pytest.mark.slow
@pytest.mark.first
@pytest.mark.timeout(1800)
def test_the_site_builds_without_a_warning_and_holds_together(tmp_path):
    """One test, because the site takes a minute to build: notebooks, links, anchors, and nothing from elsewhere."""
    site = built(tmp_path.resolve())
    tutorials = {path.stem: page for path, page in site.items() if path.parent.name == "tutorials"}
    assert set(tutorials) == {"index", *TUTORIALS}
    for name in TUTORIALS:
        shown = tutorials[name].path.read_text(encoding="utf-8")
        assert 'class="cell_output' in shown, f"{name} shows no output"
        assert any(".svg" in link or ".png" in link for link in tutorials[name].fetched), f"{name} shows no picture"
    broken = [
        f"{path.stem}: {link}" for path, page in site.items() for link in page.links if not leads(site, path, link)
    ]
    assert not broken
    for path, page in site.items():
        assert not [link for link in page.fetched if urlsplit(link).netloc], path.name
        assert not re.search(r"@import|url\([\"']?https?:", path.read_text(encoding="utf-8")), path.name


def leads(site, path, link):
    """Return whether a link of a page leads to a page and an anchor that are there, or out of the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    return target.exists() and (target not in site or unquote(parts.fragment) in site[target].anchors)


def documented():
    """Everything that the reference lists, by the name it lists it under."""
    for page in (DOCS / "reference" / "api").glob("*.md"):
        for block in re.findall(r"```{eval-rst}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
            yield from re.findall(r"^   (hetdp[\w.]*)$", block, flags=re.MULTILINE)


def thing(name):
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def test_the_reference_lists_every_public_name_and_no_other():
    listed = list(documented())
    assert len(listed) == len(set(listed))
    public = {f"{module}.{name}" for module in PUBLIC for name in importlib.import_module(module).__all__}
    assert set(listed) <= public
    shown = {id(thing(name)) for name in listed}
    missing = {
        name
        for name in public
        if not name.endswith("__version__") and not inspect.ismodule(thing(name)) and id(thing(name)) not in shown
    }
    assert not missing


def test_every_page_has_a_place_in_the_site():
    indexes = [page for page in DOCS.rglob("*.md") if "{toctree}" in page.read_text(encoding="utf-8")]
    placed = {DOCS / "index.md"}
    for index in indexes:
        for block in re.findall(r"```{toctree}\n(.*?)```", index.read_text(encoding="utf-8"), flags=re.DOTALL):
            names = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
            placed.update((index.parent / f"{name}.md").resolve() for name in names)
    assert set(DOCS.rglob("*.md")) == placed


def test_every_concept_has_a_picture():
    pages = [page for page in (DOCS / "concepts").glob("*.md") if page.stem != "index"]
    assert pages
    for page in pages:
        pictures = re.findall(r"!\[[^\]]{20,}\]\((\.\./pictures/[\w.]+)\)", page.read_text(encoding="utf-8"))
        assert pictures, f"{page.name} has no picture with words for those who cannot see it"
        assert all((page.parent / picture).exists() for picture in pictures), page.name


def test_links_between_documents_of_the_repository_lead_somewhere():
    for page in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            parts = urlsplit(link)
            if not parts.scheme and parts.path:
                assert (page.parent / parts.path).exists(), f"{page.name} links to {link}"
