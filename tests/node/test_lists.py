"""Lists of people as they come: files of browsers and spreadsheets, and files that mean harm."""

import pytest

from hetdp.core.errors import DataError, InvalidInput
from hetdp.node.lists import MOST_BYTES, canonical_link, canonical_text, cleaned, list_file, read_own_list

FIREFOX = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<!-- This is an automatically generated file. -->
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks Menu</H1>
<DL><p>
    <DT><A HREF="https://tea.example/green" ADD_DATE="1" ICON="data:image/png;base64,AA>A=" TAGS="a">Green &amp; tea</A>
    <DT><A HREF="place:sort=8&maxResults=10">Most visited</A>
    <DT><H3 ADD_DATE="1">A folder</H3>
    <DL><p>
        <DT><A HREF="https://jazz.example/" SHORTCUTURL="j">Jazz</A>
        <DD>A description &lt;A HREF="https://not.one/"&gt;
        <DT><A HREF="javascript:alert(1)">Bookmarklet</A>
    </DL><p>
</DL>
"""
CHROME = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
    <DT><H3 PERSONAL_TOOLBAR_FOLDER="true">Bookmarks bar</H3>
    <DL><p>
        <DT><A HREF="https://tea.example/green" ADD_DATE="13" ICON="data:image/png;base64,iVBO">Green tea</A>
    </DL><p>
</DL><p>
"""
SAFARI = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
\t<HTML>
\t<H1>Bookmarks</H1>
\t<DT><H3 FOLDED id="com.apple.ReadingList">Reading List</H3>
\t<DL><p>
\t\t<DT><A HREF="https://tea.example/green">Green tea</A>
\t</DL><p>
\t</HTML>
"""


def links(text):
    found = read_own_list(text.encode())
    assert found.kind == "bookmarks"
    return [(row.number, row.link, row.title) for row in found.rows]


def test_bookmarks_of_browsers():
    green = "https://tea.example/green"
    assert links(FIREFOX) == [(1, green, "Green & tea"), (3, "https://jazz.example/", "Jazz")]
    assert links(CHROME) == links(SAFARI) == [(1, green, "Green tea")]
    assert links(CHROME.lower())[0][1] == green
    assert links("<dl><a href=https://x.example/1>x</a><a class='a' href='https://x.example/2'>y<b>z</b></a>") == [
        (1, "https://x.example/1", "x"),
        (2, "https://x.example/2", "y"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "<a " * 200_000,
        "<dl>" + '<a href="' * 200_000,
        "<dl>" * 300_000 + '<a href="https://x.example/">deep',
        "<a href='https://x.example/" + "x" * 2_000_000 + "'>long</a>",
        "<dl><a " + "href=" * 200_000 + ">x",
        "<a\t" + " " * 1_000_000,
    ],
    ids=["begun", "quotes", "deep", "long", "href", "blank"],
)
def test_hostile_bookmarks_end_in_words_or_in_rows(text):
    """Any way to read them twice from each link would take hours."""
    try:
        found = read_own_list(text.encode())
    except DataError as error:
        assert "must end" in str(error)  # noqa: PT017  (either is fine)
    else:
        assert len(found.rows) + len(found.odd) <= 1


def test_tables_of_spreadsheets():
    for raw in (
        b'\xef\xbb\xbfTitle;Weight;Note\r\nGreen tea;0.5;"two\r\nlines"\r\n\r\nJazz\r\n',
        "Title\tWeight\tNote\nGreen tea\t0.5\tx\nJazz\n".encode("utf-16"),
        b'\n"Note","Title","Weight"\n"x","Green tea","0.5"\n,Jazz\n',
    ):
        found = read_own_list(raw)
        assert found.kind == "csv"
        assert [(row.number, row.title, row.weight) for row in found.rows] == [(1, "Green tea", "0.5"), (2, "Jazz", "")]
        assert found.odd == ()


def test_cells_without_end_and_rows_of_another_length_are_odd_and_the_others_are_read():
    raw = b'item,weight\ni1,1\n"' + b"x" * 300_000 + b"\ni2,1\ni3,1,1\n,\ni4,1\n"
    found = read_own_list(raw)
    assert [row.item for row in found.rows][:1] == ["i1"]
    assert found.odd
    found = read_own_list(b"item,weight\ni3,1,1\n,\ni4,1\n")
    assert ([row.number for row in found.rows], found.odd) == ([3], (1, 2))


def test_what_is_no_text_or_too_much_of_it_is_refused(tmp_path):
    for raw in (b"\x89PNG\r\n\x1a\n\0\0", b"caf\xe9\n", b"\xff\xfe\x00", b"ok\0"):
        with pytest.raises(DataError, match="UTF-8"):
            read_own_list(raw)
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(MOST_BYTES + 2)
    raw, kind = list_file(tmp_path / "huge.txt")
    assert (len(raw), kind) == (MOST_BYTES + 1, "auto")
    with pytest.raises(DataError, match="at most 64 MiB"):
        read_own_list(raw)
    with pytest.raises(DataError, match="readable file"):
        list_file(tmp_path)
    with pytest.raises(InvalidInput, match="kind must be"):
        read_own_list(b"", kind="xml")


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr("hetdp.node.lists.MOST_ROWS", 3)
    with pytest.raises(DataError, match="at most 3 rows"):
        read_own_list(b"a\nb\nc\nd\n")


def test_endings_tell_the_kind(tmp_path):
    kinds = {}
    for name in ("a.csv", "a.TSV", "a.html", "a.txt"):
        (tmp_path / name).write_bytes(b"x")
        kinds[name] = list_file(tmp_path / name)[1]
    assert kinds == {"a.csv": "csv", "a.TSV": "csv", "a.html": "bookmarks", "a.txt": "auto"}


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("http://www.example.org", "https://EXAMPLE.org:443/"),
        ("https://example.org/a/#part", "https://example.org/a"),
        ("https://example.org/%7Ea%20b", "https://example.org/~a b"),
        ("https://example.org/?b=2&a=1", "https://example.org?a=1&b=2&utm_campaign=x&fbclid=1"),
        ("https://b\u00fccher.example/", "https://xn--bcher-kva.example"),
        ("https://me:secret@example.org/", "https://example.org"),
    ],
)
def test_links_to_one_page_have_one_form(one, two):
    assert canonical_link(one) == canonical_link(two) is not None


def test_links_to_other_pages_and_what_is_none():
    pages = ["https://e.org/a", "https://e.org/A", "https://e.org:8080/a", "https://e.org/a?x=1", "https://x.e.org/a"]
    assert len({canonical_link(page) for page in pages}) == len(pages)
    for odd in (
        "",
        "ftp://e.org/",
        "https://",
        "http://[::1",
        "https://e.org:x/",
        "https://" + "\u00fc" * 300 + ".org",
    ):
        assert canonical_link(odd) is None
    assert canonical_link("https://e.org/?" + "&".join("a" * 200)) is not None


def test_titles_have_one_form_and_are_safe_to_show():
    assert canonical_text("Stra\u00dfe") == canonical_text("STRASSE")
    assert canonical_text("\ufb01lm\u200b \u2167") == canonical_text("FILM VIII")
    assert cleaned("a\u202eb\x07\x1b[31mc\u200d") == "ab [31mc"


def test_where_semicolons_separate_commas_are_decimal():
    rows = read_own_list(b"title;weight\nTea;0,2\nJazz;0.5\n").rows
    assert [row.weight for row in rows] == ["0.2", "0.5"]
    assert [row.weight for row in read_own_list(b'title,weight\nTea,"0,2"\n').rows] == ["0,2"]
