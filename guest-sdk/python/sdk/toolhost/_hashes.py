"""What Python's `hashlib` has from OpenSSL only."""

from types import ModuleType
from typing import Any


def settle_hashlib(hashlib: ModuleType) -> None:
    """Gives `hashlib` a `pbkdf2_hmac`."""
    if not hasattr(hashlib, "pbkdf2_hmac"):
        hashlib.pbkdf2_hmac = pbkdf2_hmac


def pbkdf2_hmac(hash_name: str, password: Any, salt: Any, iterations: int, dklen: int | None = None) -> bytes:
    """Derives a key from a password, as RFC 8018 says: PBKDF2 with HMAC."""
    import hashlib
    import hmac

    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    if dklen is not None and dklen < 1:
        raise ValueError("key length must be greater than 0.")
    password, salt = bytes(password), bytes(salt)
    kind = hashlib.new(hash_name)
    if len(password) > kind.block_size:
        password = hashlib.new(hash_name, password).digest()
    size = kind.digest_size
    length = size if dklen is None else dklen
    # The fastest of the ways: one call of C for each step.
    digest = hmac.digest
    from_bytes = int.from_bytes
    derived = b""
    for number in range(1, -(-length // size) + 1):
        block = digest(password, salt + number.to_bytes(4, "big"), hash_name)
        sum = from_bytes(block, "big")
        for _ in range(iterations - 1):
            block = digest(password, block, hash_name)
            sum ^= from_bytes(block, "big")
        derived += sum.to_bytes(size, "big")
    return derived[:length]
