"""Stands in for the package `certifi`: the host has the certificates, and `ssl` takes this path for them."""

import ssl

__version__ = "2099.1.1"


def where() -> str:
    return ssl.HOST_ROOTS


def contents() -> str:
    return ""
