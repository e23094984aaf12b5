"""Fields of a form, however its bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import RequestError
from antiphon.flow.form import MOST_HEADERS, MOST_PARTS, MOST_VALUE, FormReader
from tests.support.relay import form

KIND = b'multipart/form-data; charset=utf-8; boundary="b0undary"'
CONTENT = st.binary(max_size=40).filter(lambda data: b"--b0undary" not in data)
NEAR = st.sampled_from([b"\r\n--b0undar", b"\r\n", b"--", b"\r", b"\r\n--b0undarx\r\n\r\n", b"--b0undar--"])


def read(body: bytes, *cuts: int, kind: bytes = KIND) -> FormReader:
    reader = FormReader(kind, ("model", "prompt"))
    for start, end in zip((0, *cuts), (*cuts, len(body)), strict=True):
        reader.feed(body[start:end])
    reader.close()
    return reader


@given(st.lists(st.one_of(CONTENT, NEAR), max_size=4), st.text(max_size=20), st.data())
def test_fields_are_found_wherever_the_body_is_cut(files: list[bytes], model: str, data: st.DataObject) -> None:
    parts = [("file", content, "f") for content in files]
    at = data.draw(st.integers(0, len(parts)))
    body = form(*parts[:at], ("model", model.encode()), *parts[at:], ("prompt", b"x"))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    fields = read(body, *cuts).fields
    assert (fields["model"].text, fields["prompt"].text) == (model, "x")
    assert body[fields["model"].start : fields["model"].end].decode() == model


def test_byte_by_byte() -> None:
    body = (
        b"\r\n" + form(("file", b"a\r\n--b0undar", "f"), ("model", b"m"), ("other", b""), ("prompt", b"")) + b"epilogue"
    )
    fields = read(body, *range(1, len(body))).fields
    assert {name: field.text for name, field in fields.items()} == {"model": "m", "prompt": ""}


@pytest.mark.parametrize(
    "disposition",
    [
        b'Content-Disposition: form-data; name="model"',
        b"content-disposition:form-data;name=model",
        b'CONTENT-DISPOSITION: form-data ; NAME = "mod\\el" ;',
        b'x: y\r\ncontent-disposition: form-data; name="model"\r\ncontent-type: text/plain',
    ],
)
def test_spellings_of_a_name(disposition: bytes) -> None:
    body = b"--b0undary \t\r\n" + disposition + b"\r\n\r\nm\r\n--b0undary--"
    assert read(body).fields["model"].text == "m"


@pytest.mark.parametrize(
    "disposition",
    [
        b'content-disposition: form-data; name="file"; filename="; name=\\"model\\""',
        b'content-disposition: form-data; filename="model"',
        b"content-type: text/plain",
    ],
)
def test_what_is_no_name(disposition: bytes) -> None:
    assert not read(b"--b0undary\r\n" + disposition + b"\r\n\r\nm\r\n--b0undary--").fields


HEAD = b'--b0undary\r\ncontent-disposition: form-data; name="model"\r\n'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--",
        b"--b0undary",
        b"--b0undaryx\r\n",
        b"x--b0undary\r\n",
        HEAD + b"\r\nm",
        HEAD + b"\r\nm\r\n--b0undaryx\r\n",
        HEAD + b'content-disposition: form-data; name="other"\r\n\r\nm\r\n--b0undary--',
        HEAD + b"content-transfer-encoding: base64\r\n\r\nbQ==\r\n--b0undary--",
        b"--b0undary\r\ncontent-disposition: form-data; name*=utf-8''model\r\n\r\nm\r\n--b0undary--",
        b'--b0undary\r\ncontent-disposition: form-data; name="x"; name="model"\r\n\r\nm\r\n--b0undary--',
        b'--b0undary\r\ncontent-disposition: form-data; name="model\r\n\r\nm\r\n--b0undary--',
        form(("model", b"m"), ("model", b"m")),
        form(("model", b"m" * (MOST_VALUE + 1))),
        form(*[("x", b"")] * (MOST_PARTS + 1)),
        b"--b0undary\r\nx: " + b"y" * MOST_HEADERS + b"\r\n\r\nm\r\n--b0undary--",
    ],
)
def test_forms_that_others_could_read_otherwise_are_refused(body: bytes) -> None:
    with pytest.raises(RequestError):
        read(body)
    with pytest.raises(RequestError):
        read(body, *range(1, len(body), 97))


@pytest.mark.parametrize("kind", [b"multipart/form-data", b"multipart/form-data; boundary=", b"multipart/form-data; x"])
def test_a_boundary_is_needed(kind: bytes) -> None:
    with pytest.raises(RequestError):
        read(b"--\r\n", kind=kind)
