from collections.abc import Awaitable, Callable
from typing import Any, Literal, Never, NotRequired, TypedDict


class FileSystemReadBase(TypedDict):
    """#/definitions/base of file-system__read"""

    id: str


class FileSystemReadEither(TypedDict):
    at: float


class FileSystemReadBoth(FileSystemReadBase):
    """Both"""

    extra: NotRequired[bool]


class FileSystemReadMixed(TypedDict):
    """
    additionalProperties: {"type":"string"}
    It may have other fields.
    """

    a: NotRequired[float]


class FileSystemReadOpen(TypedDict):
    """It may have other fields."""

    a: NotRequired[float]


# dependentRequired: {"offset":["path"]}
# # of file-system__read
FileSystemReadInput = TypedDict(
    "FileSystemReadInput",
    {
        # Relative to the workdir.
        # pattern: "^[a-z/*]+$"
        "path": str,
        # default: 1; minimum: 1
        "offset": NotRequired[int],
        # Mode
        # How it
        # is read.
        # one of "text", "base64", null, 3, {"deep":[true]}
        "mode": NotRequired[Literal["text", "base64", None, 3] | dict[str, Any]],
        "kind": NotRequired[Literal["file"]],
        # exclusiveMinimum: 0
        "size": NotRequired[int | None],
        # oneOf: exactly one of these
        # str: format: "date-time"
        "either": NotRequired[str | FileSystemReadEither],
        "both": NotRequired[FileSystemReadBoth],
        # minItems: 1
        # items in order: str, Literal[1, 2]; at least 1; no more
        "pair": NotRequired[list[str | Literal[1, 2]]],
        # items in order: str, int; at least 0; more: bool
        "old_pair": NotRequired[list[str | int | bool]],
        # str: maxLength: 9
        "labels": NotRequired[dict[str, str]],
        "mixed": NotRequired[FileSystemReadMixed],
        "open": NotRequired[FileSystemReadOpen],
        # patternProperties: {"^x-":{"type":"string"}}
        "by_pattern": NotRequired[dict[str, str]],
        "nothing": NotRequired[Never],
        "anything": NotRequired[Any],
        "empty": NotRequired[dict[str, Never]],
        # uniqueItems: true
        # int: maximum: 5
        "list": NotRequired[list[list[int]]],
        # not: {"const":"*/ no"}; if: {"minLength":2}; then: {"maxLength":4}
        "conditional": NotRequired[str],
        "__proto__": NotRequired[str],
        "a-b \"c\"": NotRequired[str],
        "whole": NotRequired[FileSystemReadInput],
        # $ref: "https://example.com/schema"
        "unknown": NotRequired[Any],
        "missing": Any,
    },
)


class FileSystemReadNode(TypedDict):
    """
    A part of the tree.
    #/$defs/node of file-system__read
    """

    # minLength: 1
    name: str
    # maxItems: 9
    children: NotRequired[list[FileSystemReadNode]]
    parent: NotRequired[FileSystemReadNode | None]


class FileSystemReadEither2(TypedDict):
    at: float


class FileSystemReadBoth2(FileSystemReadBase):
    """Both"""

    extra: NotRequired[bool]


class FileSystemReadMixed2(TypedDict):
    """
    additionalProperties: {"type":"string"}
    It may have other fields.
    """

    a: NotRequired[float]


class FileSystemReadOpen2(TypedDict):
    """It may have other fields."""

    a: NotRequired[float]


# dependentRequired: {"offset":["path"]}
FileSystemReadInput2 = TypedDict(
    "FileSystemReadInput2",
    {
        # Relative to the workdir.
        # pattern: "^[a-z/*]+$"
        "path": str,
        # default: 1; minimum: 1
        "offset": NotRequired[int],
        # Mode
        # How it
        # is read.
        # one of "text", "base64", null, 3, {"deep":[true]}
        "mode": NotRequired[Literal["text", "base64", None, 3] | dict[str, Any]],
        "kind": NotRequired[Literal["file"]],
        # exclusiveMinimum: 0
        "size": NotRequired[int | None],
        # oneOf: exactly one of these
        # str: format: "date-time"
        "either": NotRequired[str | FileSystemReadEither2],
        "both": NotRequired[FileSystemReadBoth2],
        # minItems: 1
        # items in order: str, Literal[1, 2]; at least 1; no more
        "pair": NotRequired[list[str | Literal[1, 2]]],
        # items in order: str, int; at least 0; more: bool
        "old_pair": NotRequired[list[str | int | bool]],
        # str: maxLength: 9
        "labels": NotRequired[dict[str, str]],
        "mixed": NotRequired[FileSystemReadMixed2],
        "open": NotRequired[FileSystemReadOpen2],
        # patternProperties: {"^x-":{"type":"string"}}
        "by_pattern": NotRequired[dict[str, str]],
        "nothing": NotRequired[Never],
        "anything": NotRequired[Any],
        "empty": NotRequired[dict[str, Never]],
        # uniqueItems: true
        # int: maximum: 5
        "list": NotRequired[list[list[int]]],
        # not: {"const":"*/ no"}; if: {"minLength":2}; then: {"maxLength":4}
        "conditional": NotRequired[str],
        "__proto__": NotRequired[str],
        "a-b \"c\"": NotRequired[str],
        "whole": NotRequired[FileSystemReadInput],
        # $ref: "https://example.com/schema"
        "unknown": NotRequired[Any],
        "missing": Any,
    },
)


class FileSystemReadOutput(TypedDict):
    root: FileSystemReadNode


class FileSystem:
    # tools["file-system__read"]
    async def read(self, arguments: FileSystemReadInput2, /) -> FileSystemReadOutput:
        """
        Reads a file.

        Never ends a comment: */ declare const x: 1;
        dependentRequired: {"offset":["path"]}
        """


class TreeWalkNode(TypedDict):
    """
    A part of the tree.
    #/$defs/node of tree__walk
    """

    # minLength: 1
    name: str
    # maxItems: 9
    children: NotRequired[list[TreeWalkNode]]
    parent: NotRequired[TreeWalkNode | None]


class Tree:
    # tools["tree__walk"]
    async def walk(self, *, root: TreeWalkNode) -> Any:
        """Walks a tree."""


class Either:
    # tools["either__one"]
    async def one(self, *, a: str = ..., b: str = ...) -> dict[str, Any]:
        """anyOf: [{"required":["a"]},{"required":["b"]}]"""


class Clock:
    # tools["clock__now"]
    async def now(self, **arguments: Any) -> Any:
        """Tells the time."""


class Tools:
    file_system: FileSystem
    tree: Tree
    either: Either
    clock: Clock
    def __getitem__(self, name: str) -> Callable[..., Awaitable[Any]]: ...


tools: Tools
