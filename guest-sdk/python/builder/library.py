"""The standard library of the interpreter inside the component."""

import sys

# Names of modules that can be imported. The interpreter has no processes, TLS, terminals or dynamic libraries, and
# so not all of Python 3.14's. test_component.py compares them with a component's.
LIBRARY = frozenset(
    """
    __future__ _abc _aix_support _android_support _apple_support _ast _ast_unparse _asyncio _bisect _blake2
    _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _collections
    _collections_abc _colorize _compat_pickle _contextvars _csv _datetime _decimal _elementtree
    _frozen_importlib _frozen_importlib_external _functools _heapq _hmac _imp _io _ios_support _json _locale
    _lsprof _markupbase _md5 _multibytecodec _opcode _opcode_metadata _operator _osx_support _pickle _py_abc
    _py_warnings _pydatetime _pydecimal _pyio _pylong _pyrepl _queue _random _sha1 _sha2 _sha3 _signal
    _sitebuiltins _socket _sqlite3 _sre _stat _statistics _string _strptime _struct _suggestions _symtable
    _sysconfig _thread _threading_local _tokenize _tracemalloc _types _typing _warnings _weakref _weakrefset
    _zoneinfo abc annotationlib antigravity argparse array ast asyncio atexit base64 bdb binascii bisect
    builtins cProfile calendar cmath cmd code codecs codeop collections colorsys compileall compression
    concurrent configparser contextlib contextvars copy copyreg csv dataclasses datetime dbm decimal difflib
    dis doctest email encodings ensurepip enum errno faulthandler filecmp fileinput fnmatch fractions ftplib
    functools gc genericpath getopt getpass gettext glob graphlib gzip hashlib heapq hmac html http idlelib
    imaplib importlib inspect io ipaddress itertools json keyword linecache locale logging mailbox marshal
    math mimetypes modulefinder multiprocessing netrc ntpath nturl2path numbers opcode operator optparse os
    pathlib pdb pickle pickletools pkgutil platform plistlib poplib posix posixpath pprint profile pstats
    py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re reprlib rlcompleter runpy sched
    secrets select selectors shelve shlex shutil signal site smtplib socket socketserver sqlite3 sre_compile
    sre_constants sre_parse stat statistics string stringprep struct subprocess symtable sys sysconfig
    tabnanny tarfile tempfile textwrap this threading time timeit token tokenize tomllib trace traceback
    tracemalloc turtledemo types typing unicodedata unittest urllib uuid venv warnings wave weakref
    webbrowser wsgiref xml xmlrpc zipapp zipfile zipimport zlib zoneinfo
    """.split()
)

# Modules of the SDK, and of componentize-py.
OF_THE_COMPONENT = frozenset(
    {
        "componentize_py_async_support",
        "componentize_py_runtime",
        "componentize_py_types",
        "poll_loop",
        # Of a tool that speaks HTTP, as each does that imports it.
        "ssl",
        "toolhost",
        "toolhost_component",
        "wit_world",
    }
)

# Modules that Python has, or had, and the component has not.
_REMOVED = """
    _bootsubprocess _compression _crypt _msi _sha256 _sha512 aifc asynchat asyncore audioop bz2 cgi cgitb chunk crypt
    ctypes curses distutils fcntl grp imghdr imp lib2to3 lzma mailcap mmap msilib msvcrt nis nntplib nt ossaudiodev
    pipes pty pwd readline resource smtpd sndhdr spwd ssl sunau syslog telnetlib termios tkinter tty turtle uu winreg
    winsound xdrlib
"""
ABSENT = (sys.stdlib_module_names | set(_REMOVED.split())) - LIBRARY
