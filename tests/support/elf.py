"""A reader of little-endian ELF files of 32 or 64 bits: symbols, and bytes by address."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

_WITH_BYTES, _SYMBOLS = 1, 2


@dataclass(frozen=True)
class Section:
    """A section header; `link` is the position of the section with the names of a symbol table."""

    kind: int
    address: int
    offset: int
    size: int
    link: int


class Elf:
    """A linked file; `pointer_size` is the bytes of a pointer on its machine."""

    def __init__(self, data: bytes) -> None:
        assert data[:4] == b"\x7fELF"
        assert data[5] == 1, "little-endian"
        self.data = data
        self.is_64 = data[4] == 2
        self.pointer_size = 8 if self.is_64 else 4
        table = self._word(40 if self.is_64 else 32)
        entry, count = struct.unpack_from("<HH", data, 58 if self.is_64 else 46)
        self.sections = [self._section(table + k * entry) for k in range(count)]
        self.symbols = self._symbols()

    def pointer(self, name: str) -> int:
        address = self.symbols[name]
        for section in self.sections:
            if section.kind == _WITH_BYTES and 0 < section.address <= address < section.address + section.size:
                return self._word(section.offset + address - section.address)
        raise AssertionError(f"{name} has no bytes")

    def _word(self, at: int) -> int:
        return int(struct.unpack_from("<Q" if self.is_64 else "<I", self.data, at)[0])

    def _section(self, at: int) -> Section:
        fields = struct.unpack_from("<IIQQQQI" if self.is_64 else "<7I", self.data, at)
        return Section(fields[1], *fields[3:])

    def _symbols(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for section in self.sections:
            if section.kind != _SYMBOLS:
                continue
            names = self.sections[section.link].offset
            for at in range(section.offset, section.offset + section.size, 24 if self.is_64 else 16):
                start = names + struct.unpack_from("<I", self.data, at)[0]
                name = self.data[start : self.data.index(b"\0", start)].decode()
                found[name] = self._word(at + (8 if self.is_64 else 4))
        return found
