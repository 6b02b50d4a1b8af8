"""Stands in for the module `ssl`: what libraries set is kept, and the host makes the connection.

The host verifies every certificate, by the roots of its own.
"""

import enum
import socket
import sys
from collections import namedtuple
from typing import Any

from toolhost._web.errors import refusal
from toolhost._web.request import handshake

OPENSSL_VERSION_INFO = (3, 0, 0, 0, 0)
OPENSSL_VERSION_NUMBER = 0x30000000
OPENSSL_VERSION = "OpenSSL 3.0.0 (TLS of the host)"
HAS_SNI = HAS_ALPN = HAS_ECDH = HAS_TLSv1_2 = HAS_TLSv1_3 = HAS_NEVER_CHECK_COMMON_NAME = True
HAS_NPN = HAS_SSLv2 = HAS_SSLv3 = HAS_TLSv1 = HAS_TLSv1_1 = HAS_PSK = HAS_PHA = False
CHANNEL_BINDING_TYPES: list[str] = []

# What is taken for a file or folder of certificates: the host's own.
HOST_ROOTS = "/"


class _SSLMethod(enum.IntEnum):
    PROTOCOL_TLS = PROTOCOL_SSLv23 = 2
    PROTOCOL_TLSv1 = 3
    PROTOCOL_TLSv1_1 = 4
    PROTOCOL_TLSv1_2 = 5
    PROTOCOL_TLS_CLIENT = 16
    PROTOCOL_TLS_SERVER = 17


class VerifyMode(enum.IntEnum):
    CERT_NONE = 0
    CERT_OPTIONAL = 1
    CERT_REQUIRED = 2


class VerifyFlags(enum.IntFlag):
    VERIFY_DEFAULT = 0
    VERIFY_CRL_CHECK_LEAF = 4
    VERIFY_CRL_CHECK_CHAIN = 12
    VERIFY_X509_STRICT = 32
    VERIFY_ALLOW_PROXY_CERTS = 64
    VERIFY_X509_TRUSTED_FIRST = 32768
    VERIFY_X509_PARTIAL_CHAIN = 524288


class Options(enum.IntFlag):
    OP_ENABLE_MIDDLEBOX_COMPAT = 1048576
    OP_IGNORE_UNEXPECTED_EOF = 128
    OP_NO_SSLv2 = 0
    OP_SINGLE_DH_USE = 0
    OP_SINGLE_ECDH_USE = 0
    OP_LEGACY_SERVER_CONNECT = 4
    OP_NO_TICKET = 16384
    OP_NO_COMPRESSION = 131072
    OP_CIPHER_SERVER_PREFERENCE = 4194304
    OP_NO_SSLv3 = 33554432
    OP_NO_TLSv1 = 67108864
    OP_NO_TLSv1_2 = 134217728
    OP_NO_TLSv1_1 = 268435456
    OP_NO_TLSv1_3 = 536870912
    OP_NO_RENEGOTIATION = 1073741824
    OP_ALL = 2147483728


class TLSVersion(enum.IntEnum):
    MINIMUM_SUPPORTED = -2
    SSLv3 = 768
    TLSv1 = 769
    TLSv1_1 = 770
    TLSv1_2 = 771
    TLSv1_3 = 772
    MAXIMUM_SUPPORTED = -1


class SSLErrorNumber(enum.IntEnum):
    SSL_ERROR_SSL = 1
    SSL_ERROR_WANT_READ = 2
    SSL_ERROR_WANT_WRITE = 3
    SSL_ERROR_WANT_X509_LOOKUP = 4
    SSL_ERROR_SYSCALL = 5
    SSL_ERROR_ZERO_RETURN = 6
    SSL_ERROR_WANT_CONNECT = 7
    SSL_ERROR_EOF = 8


class AlertDescription(enum.IntEnum):
    ALERT_DESCRIPTION_HANDSHAKE_FAILURE = 40
    ALERT_DESCRIPTION_UNKNOWN_CA = 48
    ALERT_DESCRIPTION_INTERNAL_ERROR = 80


for _names in (_SSLMethod, VerifyMode, VerifyFlags, Options, SSLErrorNumber, AlertDescription):
    globals().update(_names.__members__)


class Purpose(enum.Enum):
    SERVER_AUTH = "1.3.6.1.5.5.7.3.1"
    CLIENT_AUTH = "1.3.6.1.5.5.7.3.2"


class SSLError(OSError):
    reason: str | None = None
    library = "SSL"

    def __str__(self) -> str:
        return str(self.args[1] if len(self.args) > 1 else self.args[0] if self.args else "")


class SSLZeroReturnError(SSLError):
    pass


class SSLWantReadError(SSLError):
    pass


class SSLWantWriteError(SSLError):
    pass


class SSLSyscallError(SSLError):
    pass


class SSLEOFError(SSLError):
    pass


class SSLCertVerificationError(SSLError, ValueError):
    verify_code = 0
    verify_message = ""
    reason = "CERTIFICATE_VERIFY_FAILED"


CertificateError = SSLCertVerificationError
socket_error = OSError

DefaultVerifyPaths = namedtuple(
    "DefaultVerifyPaths", "cafile capath openssl_cafile_env openssl_cafile openssl_capath_env openssl_capath"
)


def get_default_verify_paths() -> DefaultVerifyPaths:
    return DefaultVerifyPaths(None, HOST_ROOTS, "SSL_CERT_FILE", HOST_ROOTS, "SSL_CERT_DIR", HOST_ROOTS)


class MemoryBIO:
    """Bytes on their way between a client and its connection."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._ends = False

    @property
    def pending(self) -> int:
        return len(self._data)

    @property
    def eof(self) -> bool:
        return self._ends and not self._data

    def read(self, n: int = -1) -> bytes:
        taken = bytes(self._data if n < 0 else self._data[:n])
        del self._data[: len(taken)]
        return taken

    def write(self, b: Any) -> int:
        self._data += b
        return len(b)

    def write_eof(self) -> None:
        self._ends = True


class _Session:
    """What both sides of `ssl` tell about a connection."""

    context: "SSLContext"
    server_hostname: str | None
    server_side = False
    session = None
    session_reused = False

    def do_handshake(self, block: bool = False) -> None:
        pass

    def getpeercert(self, binary_form: bool = False) -> Any:
        # The host has verified it.
        return None if binary_form else {}

    def selected_alpn_protocol(self) -> str | None:
        return "http/1.1" if "http/1.1" in self.context._protocols else None

    def selected_npn_protocol(self) -> None:
        return None

    def version(self) -> str:
        return "TLSv1.3"

    def cipher(self) -> tuple[str, str, int]:
        return ("TLS_AES_256_GCM_SHA384", "TLSv1.3", 256)

    def shared_ciphers(self) -> None:
        return None

    def compression(self) -> None:
        return None

    def get_channel_binding(self, cb_type: str = "tls-unique") -> None:
        return None

    def verify_client_post_handshake(self) -> None:
        raise SSLError("the host has no certificate of a client")


class SSLSocket(_Session, socket.socket):
    """A socket whose request goes over TLS."""

    @property
    def _sslobj(self) -> "SSLSocket":
        # httpcore asks this one for the protocol.
        return self

    def connect(self, address: Any) -> None:
        super().connect(address)
        self._wire.secure(self.server_hostname)

    def read(self, len: int = 1024, buffer: Any = None) -> Any:
        return self.recv(len) if buffer is None else self.recv_into(buffer, len)

    def write(self, data: Any) -> int:
        return self.send(data)

    def pending(self) -> int:
        return 0

    def unwrap(self) -> Any:
        return self


class SSLObject(_Session):
    """TLS between two `MemoryBIO`: the bytes pass as they are, after a record that asks the connection for TLS."""

    _incoming: MemoryBIO
    _outgoing: MemoryBIO
    _has_asked = False

    def do_handshake(self) -> None:
        if not self._has_asked:
            self._has_asked = True
            self._outgoing.write(handshake(self.server_hostname))

    def read(self, len: int = 1024, buffer: Any = None) -> Any:
        if not self._incoming.pending and not self._incoming.eof:
            raise SSLWantReadError(2, "The operation did not complete (read)")
        data = self._incoming.read(len)
        if buffer is None:
            return data
        buffer[: data.__len__()] = data
        return data.__len__()

    def write(self, data: Any) -> int:
        return self._outgoing.write(data)

    def pending(self) -> int:
        return self._incoming.pending

    def unwrap(self) -> None:
        pass


class SSLContext:
    """Settings of TLS. Those that would need another TLS than the host's are refused."""

    sslsocket_class = SSLSocket
    sslobject_class = SSLObject

    def __init__(self, protocol: int = PROTOCOL_TLS_CLIENT) -> None:  # noqa: F821
        self.protocol = _SSLMethod(protocol)
        is_client = self.protocol is _SSLMethod.PROTOCOL_TLS_CLIENT
        self.check_hostname = is_client
        self.verify_mode = VerifyMode.CERT_REQUIRED if is_client else VerifyMode.CERT_NONE
        self.verify_flags = VerifyFlags.VERIFY_X509_TRUSTED_FIRST
        self.options = Options.OP_ALL | Options.OP_NO_SSLv3
        self.minimum_version = TLSVersion.TLSv1_2
        self.maximum_version = TLSVersion.MAXIMUM_SUPPORTED
        self.post_handshake_auth = False
        self.hostname_checks_common_name = False
        self.keylog_filename: str | None = None
        self.sni_callback = None
        self.num_tickets = 2
        self.security_level = 2
        self._protocols: tuple[str, ...] = ()

    def load_verify_locations(self, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
        if cadata or cafile not in (None, HOST_ROOTS) or capath not in (None, HOST_ROOTS):
            raise SSLError(1, "the host verifies certificates, by its own roots: a tool cannot name others")

    def load_default_certs(self, purpose: Purpose = Purpose.SERVER_AUTH) -> None:
        pass

    set_default_verify_paths = load_default_certs

    def load_cert_chain(self, certfile: Any, keyfile: Any = None, password: Any = None) -> None:
        raise SSLError(1, "the host makes the connection: a tool has no certificate of a client")

    def set_ciphers(self, ciphers: str) -> None:
        pass

    set_ecdh_curve = set_groups = set_ciphersuites = set_ciphers

    def set_alpn_protocols(self, protocols: Any) -> None:
        self._protocols = tuple(protocols)

    def get_ciphers(self) -> list[Any]:
        return []

    def get_ca_certs(self, binary_form: bool = False) -> list[Any]:
        return []

    def cert_store_stats(self) -> dict[str, int]:
        return {"x509": 0, "crl": 0, "x509_ca": 0}

    def session_stats(self) -> dict[str, int]:
        return {}

    def wrap_socket(
        self,
        sock: Any,
        server_side: bool = False,
        do_handshake_on_connect: bool = True,
        suppress_ragged_eofs: bool = True,
        server_hostname: str | None = None,
        session: Any = None,
    ) -> SSLSocket:
        wrapped = self.sslsocket_class()
        wrapped.context, wrapped.server_hostname = self, self._name(server_side, server_hostname)
        wrapped._timeout, wrapped._peer, wrapped._wire = sock._timeout, sock._peer, sock._wire
        sock.detach()
        if wrapped._wire is not None:
            wrapped._wire.secure(wrapped.server_hostname)
        return wrapped

    def wrap_bio(
        self,
        incoming: MemoryBIO,
        outgoing: MemoryBIO,
        server_side: bool = False,
        server_hostname: str | None = None,
        session: Any = None,
    ) -> SSLObject:
        wrapped = self.sslobject_class()
        wrapped.context, wrapped.server_hostname = self, self._name(server_side, server_hostname)
        wrapped._incoming, wrapped._outgoing = incoming, outgoing
        return wrapped

    def _name(self, server_side: bool, server_hostname: str | bytes | None) -> str | None:
        """Returns the name of the server, where a client has one."""
        if server_side:
            raise refusal("a tool cannot be a server")
        if self.check_hostname and not server_hostname:
            raise ValueError("check_hostname requires server_hostname")
        return server_hostname.decode("ascii") if isinstance(server_hostname, bytes) else server_hostname


def create_default_context(
    purpose: Purpose = Purpose.SERVER_AUTH, *, cafile: Any = None, capath: Any = None, cadata: Any = None
) -> SSLContext:
    context = SSLContext(PROTOCOL_TLS_CLIENT)  # noqa: F821
    if cafile or capath or cadata:
        context.load_verify_locations(cafile, capath, cadata)
    return context


def _create_unverified_context(*_: Any, **__: Any) -> SSLContext:
    """The host verifies certificates nevertheless."""
    context = SSLContext(PROTOCOL_TLS_CLIENT)  # noqa: F821
    context.check_hostname = False
    context.verify_mode = VerifyMode.CERT_NONE
    return context


_create_default_https_context = create_default_context
_create_stdlib_context = _create_unverified_context


def match_hostname(cert: Any, hostname: str) -> None:
    """The host has compared them."""


def RAND_bytes(n: int) -> bytes:
    return sys.modules["os"].urandom(n)


def RAND_status() -> bool:
    return True


def RAND_add(*_: Any) -> None:
    pass


def cert_time_to_seconds(cert_time: str) -> int:
    from calendar import timegm
    from time import strptime

    return timegm(strptime(cert_time, "%b %d %H:%M:%S %Y GMT"))


def get_server_certificate(*_: Any, **__: Any) -> str:
    raise refusal("the host has the certificates")


PEM_HEADER = "-----BEGIN CERTIFICATE-----"
PEM_FOOTER = "-----END CERTIFICATE-----"


def DER_cert_to_PEM_cert(der_cert_bytes: bytes) -> str:
    import base64
    import textwrap

    body = textwrap.wrap(base64.b64encode(der_cert_bytes).decode(), 64)
    return "\n".join([PEM_HEADER, *body, PEM_FOOTER, ""])


def PEM_cert_to_DER_cert(pem_cert_string: str) -> bytes:
    import base64

    return base64.b64decode(pem_cert_string.strip().removeprefix(PEM_HEADER).removesuffix(PEM_FOOTER))
