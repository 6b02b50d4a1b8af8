"""The exceptions that Python's libraries know, for the error codes of `wasi:http`."""

import errno
import os
import socket

from .._closed import SandboxError

_AS_ERRNO = {
    "ConnectionRefused": errno.ECONNREFUSED,
    "DestinationIpUnroutable": errno.ENETUNREACH,
    "DestinationUnavailable": errno.EHOSTUNREACH,
}

# The host has recorded what it denied, and tells the model which line of a policy allows it.
_DENIED = ("DestinationIpProhibited", "HttpRequestDenied")

_NAMES = ("DnsTimeout", "DnsError", "DestinationNotFound")
_TIMEOUTS = ("ConnectionTimeout", "ConnectionReadTimeout", "ConnectionWriteTimeout", "HttpResponseTimeout")
_TLS = ("TlsProtocolError", "TlsAlertReceived")
_OF_CONNECTING = {*_DENIED, *_NAMES, *_TLS, *_AS_ERRNO, "TlsCertificateError", "ConnectionTimeout"}

_TEXTS = {
    "ConnectionLimitReached": "too many requests are open at once",
    "HttpProtocolError": "the server's answer is not HTTP",
    "HttpRequestBodySize": "the body of the request is larger than a tool may send, or than its Content-Length",
    "HttpRequestHeaderSectionSize": "the headers of the request are larger than a tool may send",
    "HttpRequestMethodInvalid": "the host does not send requests with this method",
    "HttpRequestUriInvalid": "the URL is not valid",
    "HttpRequestUriTooLong": "the URL is too long",
    "HttpResponseBodySize": "the response is larger than a tool may receive",
    "HttpResponseHeaderSectionSize": "the headers of the response are too large",
    "ConfigurationError": "the host has no TLS",
}

_ENDS = ("ConnectionTerminated", "HttpResponseIncomplete")


class EndedEarly(ConnectionResetError):
    """The server ended the connection before the response was complete.

    Libraries have errors of their own for it, such as IncompleteRead and RemoteDisconnected.
    """


def exception_of(code: str, payload: object, place: str) -> OSError:
    """Returns the exception for an error code, by its name; `place` is the host and port."""
    error = _exception_of(code, payload, place)
    error.is_of_connecting = code in _OF_CONNECTING
    return error


def _exception_of(code: str, payload: object, place: str) -> OSError:
    import ssl

    if code in _NAMES:
        return socket.gaierror(socket.EAI_NONAME, f"Name or service not known: {place}")
    if code in _ENDS:
        return EndedEarly(errno.ECONNRESET, f"{place} ended the connection")
    if code in _DENIED:
        return PermissionError(errno.EACCES, f"the host does not allow this request to {place}")
    if code in _TIMEOUTS:
        return TimeoutError("timed out")
    if code == "TlsCertificateError":
        message = f"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: the host does not trust that of {place}"
        return ssl.SSLCertVerificationError(1, message)
    if code in _TLS:
        return ssl.SSLError(1, f"[SSL] the TLS handshake with {place} failed")
    if number := _AS_ERRNO.get(code):
        return OSError(number, f"{os.strerror(number)}: {place}")
    text = _TEXTS.get(code) or (payload if isinstance(payload, str) else f"the request failed ({code})")
    return OSError(errno.EIO, f"{text}: {place}")


def refusal(message: str) -> SandboxError:
    """Returns the error for what connections of a tool cannot do."""
    return SandboxError(
        f"a tool reaches the network by HTTP requests only: {message}",
        code="NO_NETWORK",
        suggestion="do not try again; say that this tool cannot do this",
    )
