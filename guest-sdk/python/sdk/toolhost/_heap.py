"""The layout of the interpreter's memory in the component.

A component starts each call with the memory that the build left. The host resets every page that a call
wrote to, so that a call should write to few pages. Importing leaves free blocks everywhere between the objects
that stay, and the allocator would use these first: a call would write to nearly every page. So all free blocks
are filled, and calls get new blocks, which are adjacent.
"""

from typing import Any

# Free memory behind the objects that stay: a call that needs no more does not grow the memory.
_FREE = 1 << 20

# The allocator's blocks: their sizes are multiples of this, with the header.
_STEP = 16
_HEADER = 4

# Blocks up to this size are filled size by size, since there are many of each.
_SMALL = 1024

# Bytes of an empty `bytes`: its fields, and the zero after the text.
_BYTES = 17


def settle_heap() -> list[Any]:
    """Fills the free blocks of the memory, and puts free memory after them.

    Returns what fills them: it must be kept.
    """
    filling: list[Any] = []
    free = bytes(_FREE)
    size = _FREE // 2
    while size >= _STEP:
        block = _block(size)
        if id(block) < id(free):
            filling.append(block)
        else:
            # No free block of this size is left.
            size = size - _STEP if size <= _SMALL else size * 7 // 8 // _STEP * _STEP
        del block
    return filling


def _block(size: int) -> Any:
    """Returns an object in a block of a size; it contains zeros, which take no space in the component."""
    return bytes(size - _HEADER - _BYTES) if size > _STEP else object()
