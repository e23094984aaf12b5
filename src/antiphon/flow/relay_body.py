"""The body of a relayed request: where it says what we act on, and how it gets to the upstream."""

from __future__ import annotations

import asyncio
import json
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec

from antiphon.chat.bounds import JsonBounds
from antiphon.chat.checks import KnownNames, RequestFault
from antiphon.chat.request import decode, refusal, refuse_model
from antiphon.errors import AntiphonError, OverloadError, RequestError
from antiphon.flow.form import Field, FormReader
from antiphon.flow.ports import RelayCall, Upload

REPLAYABLE: Final = 1024 * 1024  # bytes of an upload that are kept for another target
PIECE: Final = 256 * 1024  # bytes written at once
CODES: Final = {408: "timeout", 413: "request_too_large"}
MULTIPART: Final = b"multipart/form-data"

_raw: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encode: Final = msgspec.json.Encoder().encode


class PlainBody:
    """Nothing in it concerns us."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    async def find(self, names: Collection[str]) -> Mapping[str, object]:
        """The values of these parameters, as far as they are there."""
        return {}

    def readdress(self, model: str) -> None:
        """Another model in the place of the client's."""

    is_replayable = True


class JsonBody(PlainBody):
    def __init__(self, data: bytes, bounds: JsonBounds, names: Collection[str]) -> None:
        """`names`: the parameters that are acted on. Raises RequestError."""
        self._document = decode(data, bounds)
        try:
            KnownNames(names).refuse_look_alikes(self._document)
        except RequestFault as fault:
            raise refusal(fault) from None
        self._original = _once(data) if _repeats(data, names) else data
        super().__init__(self._original)

    async def find(self, names: Collection[str]) -> Mapping[str, object]:
        return {name: self._document[name] for name in names if name in self._document}

    def readdress(self, model: str) -> None:
        if model == self._document["model"]:
            self.data = self._original
            return
        rows = _raw.decode(self._original.removeprefix(BOM_UTF8))
        rows["model"] = msgspec.Raw(_encode(model))
        self.data = _encode(rows)


class FormBody(PlainBody):
    """A form that has arrived."""

    def __init__(self, data: bytes, content_type: bytes, names: Collection[str]) -> None:
        super().__init__(data)
        self._reader = FormReader(content_type, names)
        self._reader.feed(data)
        self._reader.close()
        self._original = data

    async def find(self, names: Collection[str]) -> Mapping[str, object]:
        return _texts(self._reader.fields, names)

    def readdress(self, model: str) -> None:
        field = self._reader.fields["model"]
        self.data = self._original[: field.start] + model.encode() + self._original[field.end :]


class UploadBody:
    """A body that is still arriving. What is held of it can be sent again, until some of it is dropped."""

    def __init__(self, upload: Upload, most_held: int, form: FormReader | None) -> None:
        """`form`: looks for fields; None: nothing in the body concerns us."""
        self.upload = upload
        self.error: RequestError | None = None
        self._form = form
        self._most_held = most_held
        self._waiter: asyncio.Future[None] | None = None
        self._model: tuple[int, int] | None = None  # where the model stands in what is held
        upload.on_change = self._wake
        if form is not None:
            self._watch(bytes(upload.data))
            upload.watch = self._watch

    @property
    def is_replayable(self) -> bool:
        return self.upload.dropped == 0

    @property
    def length(self) -> int | None:
        """Of what is sent."""
        length, form, model = self.upload.length, self._form, self._model
        if length is None or form is None or model is None:
            return length
        field = form.fields["model"]
        return length + (model[1] - model[0]) - (field.end - field.start)

    async def find(self, names: Collection[str]) -> Mapping[str, object]:
        """Waits for these fields, or the end of the form. Raises RequestError."""
        form, upload = self._form, self.upload
        if form is None:
            return {}
        upload.widen(self._most_held)
        while not form.ended and not form.fields.keys() >= set(names):
            self.check()
            if upload.complete:
                form.close()
            if len(upload.data) >= self._most_held:
                raise _too_late(next(name for name in names if name not in form.fields), self._most_held)
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        self.check()
        upload.widen(REPLAYABLE)
        return _texts(form.fields, names)

    def readdress(self, model: str) -> None:
        assert self._form is not None
        field = self._form.fields["model"]
        start, end = self._model or (field.start, field.end)
        name = model.encode()
        self.upload.replace(start, end, name)
        self._model = (start, start + len(name))

    def check(self) -> None:
        """Raises what is wrong with the body, as far as it has arrived."""
        if self.error is not None:
            raise self.error
        refused = self.upload.refusal
        if refused is not None and refused.status == 503:
            raise OverloadError(refused.reason, retry_after=1)
        if refused is not None:
            raise RequestError(refused.reason, status=refused.status, code=CODES.get(refused.status))

    def _watch(self, data: bytes) -> None:
        assert self._form is not None
        try:
            self._form.feed(data)
        except RequestError as error:
            self.error = error
            self.upload.watch = _ignore

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Sending:
    """One attempt to send an upload: pieces go to the upstream as fast as it takes them."""

    def __init__(self, body: UploadBody, fail: Callable[[AntiphonError], None]) -> None:
        self.call: RelayCall | None = None
        self._body = body
        self._fail = fail
        self._sent = 0  # bytes of what is held
        body.upload.on_change = self._send

    def on_writable(self) -> None:
        self._send()

    def stop(self) -> None:
        self._body.upload.on_change = _nothing
        self.call = None

    def _send(self) -> None:
        call, upload = self.call, self._body.upload
        if call is None:
            return
        try:
            self._body.check()
        except AntiphonError as error:
            self._fail(error)
            return
        while self._sent < len(upload.data) and not call.is_full:
            piece = bytes(upload.data[self._sent : self._sent + PIECE])
            self._sent += len(piece)
            call.write(piece)
        if self._sent and (upload.dropped or len(upload.data) >= REPLAYABLE):
            sent, self._sent = self._sent, 0
            upload.drop(sent)
        if upload.complete and self._sent == len(upload.data) and not call.is_full:
            self.call = None
            call.end_body()


def is_form(content_type: bytes) -> bool:
    return content_type[: len(MULTIPART)].lower() == MULTIPART


def read_model(value: object) -> str:
    """Of a parameter that may be left out."""
    if value is None:
        return ""
    if type(value) is not str or not value:
        raise refuse_model(value)
    return value


def _texts(fields: Mapping[str, Field], names: Collection[str]) -> Mapping[str, object]:
    return {name: fields[name].text for name in names if name in fields}


def _repeats(data: bytes, names: Collection[str]) -> bool:
    """Does a parameter stand twice? Then readers could differ in which one counts. Mostly a quick look is enough."""
    if b"\\u00" not in data and not any(data.count(b'"%b"' % name.encode()) > 1 for name in names):
        return False
    repeated = False

    def look(pairs: list[tuple[str, object]]) -> None:
        nonlocal repeated
        repeated = repeated or len({name for name, _ in pairs}) < len(pairs)

    json.loads(data.removeprefix(BOM_UTF8), object_pairs_hook=look, parse_int=str, parse_float=str)
    return repeated


def _once(data: bytes) -> bytes:
    """Each parameter once, the last one; the values as they were sent."""
    return _encode(_raw.decode(data.removeprefix(BOM_UTF8)))


def _too_late(name: str, most: int) -> RequestError:
    text = f"The field '{name}' was not found in the first {most} bytes of the form. Please send it before the files."
    return RequestError(text, param=name, code="missing_required_parameter")


def _ignore(_: bytes) -> None:
    """Nobody looks any more."""


def _nothing() -> None:
    """Nobody waits any more."""
