"""What a program prints, with a bound."""

import io

# Bytes that are kept of a stream: even if each becomes `\u0001` in JSON, two of them are below the 1 MiB that the
# host lets a result have.
KEPT = 64 << 10


class Output(io.TextIOBase):
    """Text of which the beginning, three quarters of what is kept, and the end are kept."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, kept: int = KEPT) -> None:
        self.kept = kept
        self.kept_tail = kept // 4
        self.head = bytearray()
        self.tail = bytearray()
        self.left_out = 0

    @property
    def buffer(self) -> "Bytes":
        return Bytes(self)

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.push(text.encode("utf-8", "replace"))
        return len(text)

    def push(self, data: bytes) -> None:
        room = self.kept - self.kept_tail - len(self.head)
        self.head += data[:room]
        self.tail += data[room:]
        # Twice as much before it is cut, so that many short pieces are not moved each time.
        if len(self.tail) > 2 * self.kept_tail:
            self.cut()

    def cut(self) -> None:
        surplus = max(0, len(self.tail) - self.kept_tail)
        del self.tail[:surplus]
        self.left_out += surplus

    @property
    def is_cut(self) -> bool:
        return len(self.head) + len(self.tail) + self.left_out > self.kept

    def text(self) -> str:
        self.cut()
        head, tail = (part.decode("utf-8", "replace") for part in (self.head, self.tail))
        if not self.left_out:
            return (self.head + self.tail).decode("utf-8", "replace")
        note = f"[… {self.left_out} bytes left out: write to a file, then read parts of it …]"
        return f"{head}\n{note}\n{tail}"


class Bytes(io.RawIOBase):
    """`sys.stdout.buffer`."""

    def __init__(self, output: Output) -> None:
        self.output = output

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:
        self.output.push(bytes(data))
        return len(data)
