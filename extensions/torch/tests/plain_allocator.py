"""A second implementation of torch's caching allocator, written from its rules with plain lists, and its snapshots."""

from typing import Any

MIB = 1 << 20


class PlainAllocator:
    """An allocator whose segments are (address, key, pieces), where a piece is [size, name or None].

    A key is (stream, is small, private pool).
    """

    def __init__(
        self,
        capacity: int | None = None,
        largest_split: int | None = None,
        parts: int = 0,
        large_segment: int = 20 * MIB,
    ) -> None:
        self.large_segment = large_segment
        self.capacity, self.largest_split, self.parts = capacity, largest_split, parts
        self.segments: list[tuple[int, Any, list[list[Any]]]] = []
        self.trace: list[dict[str, Any]] = []
        self.end, self.most, self.label = 1 << 40, 0, ""

    def total(self) -> int:
        return sum(piece[0] for _, _, pieces in self.segments for piece in pieces)

    def round_size(self, size: int) -> int:
        power = 1
        while power * 2 <= size:
            power *= 2
        if self.parts > 1 and size > 512 * self.parts:
            while power < size:
                power += (1 << (size.bit_length() - 1)) // self.parts
            return power
        return -(-size // 512) * 512

    def event(self, action: str, address: int, size: int, stream: int) -> None:
        row = {"action": action, "addr": address, "size": size, "stream": stream, "frames": []}
        row |= {"user_metadata": self.label} if self.label else {}
        self.trace.append(row)

    def place(self, name: Any, asked: int, stream: int = 0, private: tuple[int, int] | None = None) -> bool:
        size = self.round_size(asked)
        key, barrier = (stream, size <= MIB, private), self.largest_split or 1 << 62
        for is_last in (False, True):
            free = [
                (piece[0], address + sum(row[0] for row in pieces[:i]), k, i)
                for k, (address, own, pieces) in enumerate(self.segments)
                for i, piece in enumerate(pieces)
                if own == key and piece[1] is None and piece[0] >= size
            ]
            best = min(free, default=None)
            if best and best[0] >= (barrier if size < barrier else size + self.large_segment):
                best = None
            if best is None:
                length = (
                    2 * MIB if key[1] else self.large_segment if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
                )
                if self.capacity is not None and self.total() + length > self.capacity:
                    if not is_last:
                        self.empty_cache()
                    continue
                best = length, self.end, len(self.segments), 0
                self.segments.append((self.end, key, [[length, None]]))
                self.event("segment_alloc", self.end, length, stream)
                self.end += length
                self.most = max(self.most, self.total())
            _, address, k, i = best
            pieces = self.segments[k][2]
            rest = pieces[i][0] - size
            if rest >= 512 if key[1] else rest > MIB and size < barrier:
                pieces[i : i + 1] = [[size, name], [rest, None]]
            else:
                pieces[i][1] = name
            self.event("alloc", address, asked, stream)
            return True
        return False

    def free_block(self, name: Any) -> None:
        for address, (stream, *_), pieces in self.segments:
            for i, piece in enumerate(pieces):
                if piece[1] == name:
                    place = address + sum(row[0] for row in pieces[:i])
                    for action in ("free_requested", "free_completed"):
                        self.event(action, place, piece[0], stream)
                    low = i - 1 if i and pieces[i - 1][1] is None else i
                    high = i + 2 if i + 1 < len(pieces) and pieces[i + 1][1] is None else i + 1
                    pieces[low:high] = [[sum(each[0] for each in pieces[low:high]), None]]
                    return

    def empty_cache(self) -> None:
        for row in list(self.segments):
            address, (stream, _, private), pieces = row
            if private is None and len(pieces) == 1 and pieces[0][1] is None:
                self.segments.remove(row)
                self.event("segment_free", address, pieces[0][0], stream)

    def snapshot(self, settings: dict[str, Any], cut: int = 0) -> dict[str, Any]:
        """Return a snapshot of the current segments, with the events from position `cut`."""
        segments = [
            {
                "device": 0,
                "address": address,
                "total_size": sum(piece[0] for piece in pieces),
                "stream": stream,
                "segment_type": "small" if is_small else "large",
                "segment_pool_id": private or (0, 0),
                "blocks": [
                    {"size": size, "state": "inactive" if name is None else "active_allocated"} for size, name in pieces
                ],
            }
            for address, (stream, is_small, private), pieces in self.segments
        ]
        return {"segments": segments, "device_traces": [self.trace[cut:]], "allocator_settings": settings}
