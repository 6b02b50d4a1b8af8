"""One request and its response, through `wasi:http`. Nothing here waits: `waits_for` says for what to wait."""

import contextlib
from typing import Any

from componentize_py_types import Err
from wit_world.imports import outgoing_handler
from wit_world.imports import wasi_http_types as http
from wit_world.imports.streams import StreamError_Closed

from .._pollables import nanoseconds
from .errors import exception_of, refusal
from .request import Head

_METHODS = {
    "GET": http.Method_Get,
    "HEAD": http.Method_Head,
    "POST": http.Method_Post,
    "PUT": http.Method_Put,
    "DELETE": http.Method_Delete,
    "OPTIONS": http.Method_Options,
    "TRACE": http.Method_Trace,
    "PATCH": http.Method_Patch,
}

# Headers of the connection, which is the host's.
_OF_THE_CONNECTION = frozenset(
    ("connection", "expect", "host", "http2-settings", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade")
)

# Parts of texts that an engine gives instead of codes.
_TEXTS = {
    "incomplete": "HttpResponseIncomplete",
    "terminated": "ConnectionTerminated",
    "timeout": "ConnectionReadTimeout",
    "response body size": "HttpResponseBodySize",
}

_READ_MAX = 64 << 10

# A handle that Python drops as garbage may be dropped before those that were made of it, which traps.
_open: set["Exchange"] = set()


class Exchange:
    """A request that the host sends, and its response."""

    def __init__(self, head: Head, scheme: str, authority: str, path: str, connect_timeout: float | None) -> None:
        self._place = authority
        self._response: Any = None
        self._upload: Any = None
        self._upload_body: Any = None
        self._download: Any = None
        # The download and what it was made from.
        self._handles: list[Any] = []
        self._pollables: dict[int, Any] = {}
        request = http.OutgoingRequest(_fields(head))
        try:
            request.set_method(_METHODS[head.method]() if head.method in _METHODS else http.Method_Other(head.method))
            request.set_scheme(http.Scheme_Https() if scheme == "https" else http.Scheme_Http())
            request.set_authority(authority)
            request.set_path_with_query(path)
        except Err:
            raise refusal(f"{head.method} {scheme}://{authority}{path[:200]} is no valid request") from None
        if head.length != 0:
            self._upload_body = request.body()
            self._upload = self._upload_body.write()
        options = None
        if connect_timeout is not None:
            options = http.RequestOptions()
            options.set_connect_timeout(nanoseconds(connect_timeout))
        try:
            self._response = outgoing_handler.handle(request, options)
            _open.add(self)
        except Err as error:
            self.close()
            raise self._exception(error.value) from None

    def write(self, data: memoryview) -> int:
        """Writes what the host takes at once; returns how many bytes these are."""
        if self._upload is None:
            return len(data)
        try:
            size = min(self._upload.check_write(), len(data))
            if size:
                self._upload.write(bytes(data[:size]))
        except Err:
            # The server wants no more, or the request has failed. The response says which.
            self._end_upload()
            return len(data)
        return size

    def finish(self) -> None:
        """Ends the body of the request."""
        if self._upload is None:
            return
        body, self._upload_body = self._upload_body, None
        self._end_upload()
        with contextlib.suppress(Err):
            http.OutgoingBody.finish(body, None)

    def response(self) -> tuple[int, list[tuple[str, bytes]]] | None:
        """Returns the status and headers of the response, once, when they are there.

        Raises the exception for the error that came instead.
        """
        result = self._response.get()
        if result is None:
            return None
        result = result.value
        if isinstance(result, Err):
            raise self._exception(result.value)
        response = result.value
        with response.headers() as fields:
            headers = fields.entries()
        body = response.consume()
        self._download = body.stream()
        self._handles = [response, body, self._download]
        return response.status(), headers

    def read(self, size: int) -> bytes | None:
        """Returns bytes of the body that are there; None at its end.

        Raises the exception for the error that came instead of the end.
        """
        try:
            return self._download.read(min(size, _READ_MAX))
        except Err as error:
            if isinstance(error.value, StreamError_Closed):
                return None
            with error.value.value as reason:
                code, text = http.http_error_code(reason), reason.to_debug_string()
            raise (self._exception(code) if code else self._exception_of_text(text)) from None

    def waits_for(self, writes: bool) -> Any:
        """Returns a pollable, which remains the exchange's: of the upload, the response, or its body."""
        handle = self._upload if writes and self._upload is not None else self._download or self._response
        pollable = self._pollables.get(id(handle))
        if pollable is None:
            pollable = self._pollables[id(handle)] = handle.subscribe()
        return pollable

    def close(self) -> None:
        """Drops the request and its response."""
        self._end_upload()
        for handle in (*reversed(self._handles), self._response):
            self._drop(handle)
        self._handles, self._download, self._response = [], None, None
        _open.discard(self)

    def _end_upload(self) -> None:
        self._drop(self._upload)
        self._drop(self._upload_body)
        self._upload = self._upload_body = None

    def _drop(self, handle: Any) -> None:
        """Drops a handle, after the pollable that was made of it."""
        for each in (self._pollables.pop(id(handle), None), handle):
            if each is not None:
                each.__exit__(None, None, None)

    def _exception(self, code: Any) -> OSError:
        return exception_of(type(code).__name__.removeprefix("ErrorCode_"), getattr(code, "value", None), self._place)

    def _exception_of_text(self, text: str) -> OSError:
        # An engine may give the error of a body only as a text.
        text = text.partition("\n")[0]
        code = next((code for part, code in _TEXTS.items() if part in text), "InternalError")
        return exception_of(code, text, self._place)


def _fields(head: Head) -> Any:
    entries = []
    for name, value in head.headers:
        lower = name.lower()
        if lower == "upgrade":
            raise refusal("the connection cannot be upgraded to another protocol")
        if lower in _OF_THE_CONNECTION or lower.startswith("proxy-"):
            continue
        entries.append((name, value))
    try:
        return http.Fields.from_list(entries)
    except Err:
        pass
    for name, value in entries:
        try:
            http.Fields.from_list([(name, value)])
        except Err:
            raise refusal(f"the host does not let a tool set the header {name!r}, or not to this value") from None
    raise refusal("the headers of the request are too large")
