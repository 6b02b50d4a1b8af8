"""Makes one module of the modules that componentize-py links as shared libraries.

A component with CPython has eleven modules with one memory and one table: libc, libpython and others. Each imports the
table and fills a part of it, 5,700 functions in all. A host does this in each instantiation, function by
function, which takes longer than a short call. The table of a module itself, with the functions of that module, is part
of what the host compiles, and an element is made when it is first used.

The functions of the modules stay as they are, in the same slots of the table. What linking has settled is
written into them: calls to another module become calls within the module, and globals that hold an address
become constants. Functions that neither an export nor the table leads to are left out.
"""

from builder.merge.binary import NotMergeable
from builder.merge.rewrite import merged

__all__ = ["NotMergeable", "merged"]
