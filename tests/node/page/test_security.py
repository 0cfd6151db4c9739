"""Nobody but the owner gets in, and nobody can make the owner's browser do something."""

import logging
import re

import pytest
from starlette.routing import Route
from tests.support.page_client import BASE, HOST, Page

from hetdp.core.errors import InvalidInput
from hetdp.node.page import serve
from hetdp.node.page.application import PAGES, make_application
from hetdp.node.page.owner_guard import Session, same

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def routes():
    found = make_application(None, Session(), None).routes
    return [(route.path, "POST" if "POST" in route.methods else "GET") for route in found if isinstance(route, Route)]


FORMS = [path for path, method in routes() if method == "POST"]


@pytest.fixture
def page(nodes):
    opened = Page(nodes.new())
    yield opened
    opened.close()


def test_the_token_buys_a_strict_cookie_and_leaves_the_address(page):
    answer = page.client.get("/", params={"token": page.session.token})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(r"hetdp_4321=[\w-]{43}; HttpOnly; Path=/; SameSite=strict", cookie)
    assert page.session.token not in cookie
    assert page.client.get("/").headers["location"] == "/items"
    assert page.client.get("/items").status_code == 200


def test_secrets_are_compared_and_the_token_buys_one_cookie():
    assert same("a", "a")
    assert not same("a", "b")
    session = Session()
    cookie = session.exchange(session.token)
    assert session.knows(cookie)
    assert not session.knows("guess")
    assert session.exchange(session.token) is None


def test_only_so_many_browsers_are_in_at_a_time():
    session = Session(admits="asked for".__eq__)
    cookies = [session.exchange("asked for") for _ in range(9)]
    assert len(set(cookies)) == 9
    assert [session.knows(cookie) for cookie in cookies] == [False] + 8 * [True]
    assert session.exchange("guessed") is None
    assert session.exchange(session.token) is not None, "the first address has not been used yet"


def test_the_token_works_once(page):
    page.enter()
    other = page.stranger().get("/", params={"token": page.session.token})
    assert other.status_code == 403
    assert "set-cookie" not in other.headers


def test_the_owner_may_open_the_same_address_again(page):
    page.enter()
    again = page.client.get("/", params={"token": page.session.token})
    assert (again.status_code, again.headers["location"]) == (303, "/")
    assert "set-cookie" not in again.headers


@pytest.mark.parametrize("token", ["", "wrong", "x" * 43, "\ud83d"])
@pytest.mark.parametrize("entered", [False, True])
def test_a_wrong_token_is_refused(page, token, entered):
    if entered:
        page.enter()
    answer = page.client.get("/?token=" + token.encode("utf-8", "surrogatepass").decode("latin-1"))
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    # A wrong guess must not use the token up.
    assert entered or page.stranger().get("/", params={"token": page.session.token}).status_code == 303


def test_a_token_is_not_taken_from_a_form(page):
    assert page.client.post(f"/?token={page.session.token}", headers={"Origin": BASE}).status_code == 405
    assert page.stranger().get("/", params={"token": page.session.token}).status_code == 303


@pytest.mark.parametrize("cookie", [None, "hetdp_4321=", "hetdp_4321=guess", "hetdp_1=guess", "\x7f;;=="])
def test_every_address_needs_the_cookie(page, cookie):
    page.enter()
    headers = {"Origin": BASE} | ({} if cookie is None else {"Cookie": cookie})
    for path, method in routes():
        answer = page.stranger().request(method, path, headers=headers, data={"form_token": page.session.form_token})
        assert (path, answer.status_code) == (path, 403)
        assert "Open the printed address" in answer.text, path


@pytest.mark.parametrize("others", ["{}", 'a b="; {}; x', "a[]={{}}; hetdp_4321=old; {}", "é=1; {}; ="])
def test_odd_cookies_of_other_servers_do_not_lock_the_owner_out(page, others):
    page.enter()
    cookies = others.format(f"hetdp_4321={page.session._cookies[0]}").encode()
    assert page.stranger().get("/items", headers={"Cookie": cookies}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:4321", "127.0.0.1", "127.0.0.1:80", "", "LOCALHOST:4321"]
)
def test_only_the_own_host_is_answered(page, host):
    page.enter()
    answer = page.client.get("/items", headers={"Host": host})
    assert answer.status_code == 421
    assert "My items" not in answer.text


def test_two_hosts_are_refused(page):
    page.enter()
    answer = page.client.get("/items", headers=[("Host", HOST), ("Host", "evil.example")])
    assert answer.status_code == 421


def test_localhost_has_its_own_origin(page):
    other = page.stranger()
    assert other.get("/", params={"token": page.session.token}, headers={"Host": "localhost:4321"}).status_code == 303
    form = {"form_token": page.session.form_token, "place": "3"}
    other.cookies.set("hetdp_4321", page.session._cookies[0])
    for origin, status in (("http://localhost:4321", 303), (BASE, 403)):
        answer = other.post("/items/add", data=form, headers={"Host": "localhost:4321", "Origin": origin})
        assert answer.status_code == status


FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "http://127.0.0.1:9999"},
    {"Origin": "https://127.0.0.1:4321"},
    {"Origin": "null"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "null", "Sec-Fetch-Site": "same-site"},
    {"Origin": "null", "Sec-Fetch-Site": "none"},
    {"Origin": BASE, "Sec-Fetch-Site": "cross-site"},
    {"Origin": BASE, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"},
    {"Origin": ""},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_forms_of_other_sites_are_refused(page, headers):
    page.enter()
    before = page.node.store.profile.version()
    fields = {"form_token": page.session.form_token, "place": "3", "dial": "50", "limit": "1"}
    for path in FORMS:
        answer = page.send(path, fields, **headers)
        assert (path, answer.status_code) == (path, 403)
        assert page.node.store.profile.version() == before, path
        assert page.node.store.profile.dismissed() == set(), path


def test_a_form_without_any_origin_is_refused(page):
    page.enter()
    answer = page.client.post("/items/add", data={"form_token": page.session.form_token, "place": "3"})
    assert answer.status_code == 403


def test_a_plain_form_of_this_page_is_taken_although_its_origin_is_hidden(page):
    page.enter()
    fields = {"form_token": page.session.form_token, "place": "3"}
    answer = page.send("/items/add", fields, Origin="null", **{"Sec-Fetch-Site": "same-origin"})
    assert answer.status_code == 303
    assert page.node.dials == {3: 100}


@pytest.mark.parametrize(("origin", "token"), [("http://evil.example", True), (BASE, False)])
def test_a_file_is_taken_from_this_page_only(page, origin, token):
    page.enter()
    fields = {"form_token": page.session.form_token if token else "guess"}
    file = {"file": ("list.csv", b"item\ni3\n", "text/csv")}
    assert page.client.post("/data/import", data=fields, files=file, headers={"Origin": origin}).status_code == 403
    assert page.node.dials == {}


@pytest.mark.parametrize("token", [None, "", "guess"])
def test_forms_need_their_token(page, token):
    page.enter()
    fields = {"place": "3", "dial": "50", "limit": "1"} | ({} if token is None else {"form_token": token})
    for path in FORMS:
        assert (path, page.send(path, fields).status_code) == (path, 403)
        assert page.node.store.profile.version() == 0, path


def test_nothing_is_changed_by_looking(page):
    page.enter()
    query = {"form_token": page.session.form_token, "place": "3", "dial": "50"}
    for path in FORMS:
        assert (path, page.client.get(path, params=query).status_code) == (path, 405)
        assert page.node.store.profile.version() == 0, path


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_are_refused_and_no_other_site_is_let_in(page, method):
    page.enter()
    answer = page.client.request(method, "/items", headers={"Origin": "http://evil.example"})
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_cannot_fetch_parts_of_the_page(page, site):
    page.enter()
    for path in ("/items", "/state", "/static/page.js"):
        answer = page.client.get(path, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"})
        assert answer.status_code == 403
    # Following a link to the page is fine; the cookie, which a browser would not send then, is asked for anyway.
    assert page.client.get("/items", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}).status_code == 200


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b'{"place": 3}', "application/json", 415),
        (b"place=3", "text/plain", 415),
        (b"place=3", "multipart/form-data; boundary=x", 400),
        (b"--x\r\n\r\n3\r\n--x--", "multipart/form-data; boundary=x", 400),
        (b'--x\r\nContent-Disposition: form-data; name="a"\r\n--x--', "multipart/form-data; boundary=x", 400),
        (b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n3\r\n', "multipart/form-data; boundary=x", 400),
        (
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\xff\r\n--x--',
            "multipart/form-data; boundary=x",
            400,
        ),
        (b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n3\r\n--x--', "multipart/form-data", 400),
        (
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n3\r\n' * 60 + b"--x--",
            "multipart/form-data; boundary=x",
            400,
        ),
        (b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n3\r\n--x--', "multipart/form-data; boundary=x", 403),
        (b"3" * (16 * 2**20 + 1), "multipart/form-data; boundary=x", 413),
        (b"place=" + b"3" * 70_000, "application/x-www-form-urlencoded", 413),
        (b"a=1&" * 60, "application/x-www-form-urlencoded", 400),
        (b"place=%ff\xff", "application/x-www-form-urlencoded", 400),
        (b"", "application/x-www-form-urlencoded", 403),
    ],
)
def test_odd_bodies_are_refused(page, content, kind, status):
    page.enter()
    answer = page.client.post("/items/add", content=content, headers={"Origin": BASE, "Content-Type": kind})
    assert answer.status_code == status


def every_kind_of_answer(page):
    yield page.stranger().get("/items")
    yield page.stranger().get("/?token=wrong")
    yield page.stranger().get("/items", headers={"Host": "evil.example"})
    yield page.client.get("/", params={"token": page.session.token})
    for path, method in routes():
        if method == "GET":
            yield page.client.get(path)
    yield page.client.get("/nowhere")
    yield page.send("/items/add", {"form_token": page.session.form_token, "place": "3"})
    page.node.store.profile = None  # something breaks
    yield page.client.get("/items")


def test_every_answer_has_strict_headers(page):
    statuses = set()
    for answer in every_kind_of_answer(page):
        statuses.add(answer.status_code)
        assert answer.headers["content-security-policy"] == CSP
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert "server" not in answer.headers
    assert statuses == {200, 303, 403, 404, 421, 500}


def test_pages_obey_their_own_policy(nodes):
    page = Page(nodes.lived_in()).enter()
    for path in ("/items", "/privacy", "/neighbours", "/network"):
        html = page.get(path)
        assert not re.search(r"\sstyle\s*=|\son\w+\s*=|javascript:|<style", html)
        assert re.findall(r"<script[^>]*>", html)[0] == '<script src="/static/page.js" defer>'
        assert set(re.findall(r"<script[^>]*>", html)[1:]) <= {'<script type="application/json" id="effects">'}
        loaded = re.findall(r'<(?:img|script|link)\b[^>]*(?:src|href)="([^"]+)"', html)
        assert all(address.startswith(("/static/", "data:image/png")) for address in loaded)
    page.close()


def test_an_error_is_logged_without_its_text(page, caplog):
    page.enter()

    def fails():
        raise RuntimeError("Green tea at dial 40")

    page.node.store.profile.counts = fails
    with caplog.at_level(logging.DEBUG):
        answer = page.client.get("/items")
    assert answer.status_code == 500
    assert "tea" not in answer.text
    assert "RuntimeError in fails" in caplog.text
    assert "tea" not in caplog.text


def test_logs_hold_no_item_no_weight_and_no_secret(page, caplog):
    with caplog.at_level(logging.DEBUG):
        page.enter()
        page.post("/items/search", text="amber jazz")
        page.post("/items/add", place="46")
        page.post("/items/dial", place="46", dial="37")
        page.post("/privacy/choose", place="46")
        page.post("/items/dial", place="46", dial="1000")
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx")]
    assert not [line for line in ours if re.search(r"jazz|37|46|1000", line)]
    assert page.session.token not in "".join(ours)


def test_titles_from_the_catalogue_cannot_become_markup(nodes):
    evil = "\"><script>alert(1)</script><b a='{{ 7 * 7 }}"
    node = nodes.lived_in(title=evil)
    page = Page(node).enter()
    page.post("/items/search", text="alert")
    page.post("/neighbours/dismiss", place="301")
    page.post("/items/remove", place="3")
    for path in ("/items", "/privacy", "/neighbours", "/network"):
        html = page.get(path)
        assert "<script>alert" not in html
        assert "49" not in re.findall(r"<h3>(.*?)</h3>", html)
    assert "&lt;script&gt;alert(1)" in page.get("/items")
    page.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.4", "::", "localhost", "example.org", ""])  # noqa: S104
def test_the_server_listens_on_loopback_only(host, nodes):
    with pytest.raises(InvalidInput, match=r"host must be a loopback address such as 127\.0\.0\.1 [(]got .*[)]\."):
        serve(nodes.new(), host=host)


def test_secrets_are_long_different_and_never_shown():
    first, second = Session(), Session()
    secrets = {first.token, first.form_token, second.token, second.form_token}
    assert len(secrets) == 4
    assert all(len(secret) == 43 for secret in secrets)
    assert first.token not in repr(first)
    for kind in PAGES:
        assert re.fullmatch(r"<hetdp\.node\.page\.\w+\.\w+ object at 0x[0-9a-f]+>", repr(kind(None)))
