"""Fields of forms, as the pages read them."""

import pytest

from hetdp.core.errors import InvalidInput
from hetdp.node.page.base_page import amount_in, bytes_in, text_in, whole_in


def test_fields_are_read():
    assert whole_in({"place": "17"}, "place") == 17
    assert amount_in({"limit": "4.5"}, "limit") == 4.5
    assert amount_in({"limit": " "}, "limit") is None
    assert text_in({"text": "  green   tea "}, "text") == "green tea"


@pytest.mark.parametrize("text", ["", "-1", "1.5", "²", "1234567890", "tea"])
def test_what_is_no_place_is_refused(text):
    with pytest.raises(InvalidInput, match="place must be a whole number"):
        whole_in({"place": text}, "place")


@pytest.mark.parametrize("text", ["-1", "inf", "nan", "tea"])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(InvalidInput, match="limit must be a number"):
        amount_in({"limit": text}, "limit")


def test_a_file_comes_out_as_it_went_in():
    raw = bytes(range(256))
    assert bytes_in({"file": raw.decode(errors="surrogateescape")}, "file") == raw
    assert bytes_in({}, "file") == b""
