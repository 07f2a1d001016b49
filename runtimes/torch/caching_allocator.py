"""A simulation of torch's caching allocator for CUDA, which predicts the memory that a step requests from the driver.

Sizes are rounded to 512 bytes. Requests of at most 1 MiB are served from segments of 2 MiB, larger ones from segments
of 20 MiB by default; from 10 MiB on, a request gets a segment of its size, rounded to 2 MiB. The allocator takes the
best-fitting free block of the stream, and splits it if enough is left; a freed block is merged with free neighbours.
Segments stay reserved until the driver has no memory left. Then all free segments are returned to it, except those of
private pools, which CUDA graphs use. With expandable segments, blocks grow into pages that are mapped when needed. The
settings are described in `allocator_settings`.
Source: torch 2.13, c10/cuda/CUDACachingAllocator.cpp.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from memplan.planner.errors import MemplanError
from memplan.runtimes.torch.allocator_settings import ROUNDING, AllocatorSettings

MIB = 1 << 20
SMALL, SMALL_SEGMENT = MIB, 2 * MIB
"""The largest request in bytes that small segments serve, and the size of a small segment."""
OWN_SEGMENT, OWN_ROUNDING = 10 * MIB, 2 * MIB
"""The bytes of the smallest request with a separate segment, and the rounding of that segment."""
_FIRST_ADDRESS, _ADDRESS_SPACE = 1 << 50, 1 << 44
"""The first simulated address, above all addresses of drivers, and the maximum size of an expandable segment."""


class OutOfMemoryError(MemplanError):
    """No free block fits the request, and a new segment would exceed the capacity."""


@dataclass(slots=True, eq=False)
class Block:
    """A range of bytes in the segment at address `base`, linked to its neighbours; an unmapped block uses no memory."""

    address: int
    size: int
    pool: BlockPool
    base: int
    previous: Block | None = None
    next: Block | None = None
    is_free: bool = True
    is_mapped: bool = True
    freed_at: int = 0


@dataclass(slots=True, eq=False)
class BlockPool:
    """The free blocks of a stream for small or large requests: mapped blocks by size, unmapped blocks by address."""

    is_small: bool
    is_private: bool = False
    free: list[tuple[int, int]] = field(default_factory=list)
    at: dict[int, Block] = field(default_factory=dict)
    unmapped: dict[int, Block] = field(default_factory=dict)

    def add(self, block: Block) -> None:
        """Make a block available to requests."""
        block.is_free = True
        if block.is_mapped:
            self.at[block.address] = block
            insort(self.free, (block.size, block.address))
        else:
            self.unmapped[block.address] = block

    def remove(self, block: Block) -> None:
        """Make a block unavailable to requests."""
        if block.is_mapped:
            del self.free[bisect_left(self.free, (block.size, block.address))]
            del self.at[block.address]
        else:
            del self.unmapped[block.address]


class CachingAllocator:
    """A simulation of torch's caching allocator, optionally limited to a capacity in bytes.

    `reserved` is the current sum of segment sizes, and `peak` its maximum so far; `segments` maps the address of each
    non-expandable segment to its size. `driver` returns the address of a new segment of a given size; if it returns
    None, segments are placed one after another.
    """

    def __init__(
        self,
        capacity: int | None = None,
        settings: AllocatorSettings | None = None,
        driver: Callable[[int], int | None] = lambda size: None,
    ) -> None:
        """Start without segments; `driver` returns the address of a new segment, or None for the next free one."""
        self.capacity, self.settings = capacity, settings or AllocatorSettings()
        self.expandable, self._unsplit = self.settings.expandable, self.settings.max_split_size or 1 << 63
        self.reserved = self.peak = 0
        self.segments: dict[int, int] = {}
        self._rounding = self.settings.non_split_rounding or self.settings.large_segment
        self._page = {True: SMALL_SEGMENT, False: self.settings.large_segment}
        self._driver, self._end = driver, _FIRST_ADDRESS
        self._pools: dict[tuple[int, bool, Hashable], BlockPool] = {}
        self._searches = 0

    def malloc(self, size: int, stream: int = 0, private: Hashable = None) -> Block:
        """Return a new block of `size` bytes, from pool `private` if given; OutOfMemoryError: above the capacity."""
        rounded = self.settings.round_size(size)
        pool = self.pool(stream, rounded <= SMALL, private)
        self._searches += not pool.is_small and not pool.is_private
        block = self._take_best_block(pool, rounded)
        if block is None:
            self._release_old_segments()
            block = self._request_segment(pool, rounded)
        if block is None and self._release_unsplit(pool, rounded):
            block = self._request_segment(pool, rounded)
        if block is None:
            self.release_free()
            block = self._request_segment(pool, rounded)
        if block is None:
            raise OutOfMemoryError(
                f"capacity: must be enough for {rounded} bytes in addition to {self.reserved} reserved"
            )
        if self._is_split_off(pool, rounded, block.size - rounded):
            self._make_available(_split_block(block, rounded))
        block.is_free = False
        return block

    def _is_split_off(self, pool: BlockPool, size: int, rest: int) -> bool:
        if pool.is_small or self.expandable:
            return rest >= ROUNDING
        return rest > SMALL and size < self._unsplit

    def _make_available(self, block: Block) -> None:
        block.freed_at = self._searches
        block.pool.add(block)

    def free_block(self, block: Block) -> None:
        """Free a block; later requests of the same stream may reuse it immediately."""
        self._make_available(_merge_block(block))

    def adopt(self, address: int, size: int, pool: BlockPool, given: Sequence[tuple[int, int]]) -> list[Block]:
        """Add an existing segment and its allocated blocks, given as (address, size) pairs; return these blocks.

        A gap that is too small to be split off belongs to the block before it.
        """
        rest, blocks = self._add_segment(address, size, pool), list[Block]()
        rows = sorted(given)
        ends = [start for start, _ in [*rows[1:], (address + size, 0)]]
        for (start, asked), end in zip(rows, ends[: len(rows)], strict=True):
            length = asked if self._is_split_off(pool, asked, end - start - asked) else max(asked, end - start)
            if start > rest.address:
                gap, rest = rest, _split_block(rest, start - rest.address)
                self._make_available(gap)
            blocks.append(rest)
            rest.is_free = False
            if length < rest.size:
                rest = _split_block(rest, length)
        if rest.is_free:
            self._make_available(rest)
        return blocks

    def pool(self, stream: int, is_small: bool, private: Hashable = None) -> BlockPool:
        """Return the pool for small or large requests of a stream; create it if it does not exist."""
        key = stream, is_small, private
        return self._pools.setdefault(key, BlockPool(is_small, is_private=private is not None))

    def release_free(self) -> None:
        """Release all free segments and the free pages of expandable segments to the driver, as `empty_cache` does."""
        for pool in self._pools.values():
            for block in [] if pool.is_private else list(pool.at.values()):
                if self.expandable:
                    self._unmap_pages(pool, block)
                elif block.previous is None and block.next is None:
                    self._release_segment(block)

    def _release_segment(self, block: Block) -> None:
        block.pool.remove(block)
        self.reserved -= self.segments.pop(block.address)

    def _release_unsplit(self, pool: BlockPool, size: int) -> bool:
        """Release unsplit free blocks to the driver: one of at least `size` bytes or, without one, the largest blocks.

        Return False, without releasing any block, if all of them together are too small.
        """
        wanted = max(size, self._unsplit)
        rows = pool.free[bisect_left(pool.free, (self._unsplit, 0)) :]
        if self.settings.max_split_size is None or self.expandable or sum(length for length, _ in rows) < wanted:
            return False
        enough = bisect_left(rows, (wanted, 0))
        for length, address in rows[enough : enough + 1] or reversed(rows):
            self._release_segment(pool.at[address])
            wanted -= length
            if wanted <= 0:
                break
        return True

    def _release_old_segments(self) -> None:
        """Release free segments of at least average age to the driver while more than the threshold is reserved."""
        wanted = self.reserved - int(self.settings.threshold * (self.capacity or 0))
        if self.capacity is None or not self.settings.threshold or self.expandable:
            return
        pools = [pool for pool in self._pools.values() if not pool.is_small and not pool.is_private]
        free = [block for pool in pools for block in pool.at.values() if block.previous is None and block.next is None]
        while wanted > 0 and free:
            mean = sum(self._searches - block.freed_at for block in free) / len(free)
            old = [block for block in free if self._searches - block.freed_at >= mean]
            free = [block for block in free if self._searches - block.freed_at < mean]
            for block in old:
                wanted -= block.size
                self._release_segment(block)

    def _take_best_block(self, pool: BlockPool, size: int) -> Block | None:
        """Remove the smallest sufficient free block, the lowest of equal ones, from a pool and return it, or None.

        Of expandable blocks, the block that can grow to the fewest bytes is taken.
        """
        k = bisect_left(pool.free, (size, 0))
        if k == len(pool.free):
            return None
        if self.expandable:
            while k + 1 < len(pool.free) and _growable_bytes(pool.at[pool.free[k + 1][1]]) < _growable_bytes(
                pool.at[pool.free[k][1]]
            ):
                k += 1
        length, address = pool.free[k]
        if length >= (self._unsplit if size < self._unsplit else size + self._rounding):
            # To waste few bytes, a block that cannot be split serves only requests of nearly the block's size.
            return None
        block = pool.at[address]
        pool.remove(block)
        return block

    def _request_segment(self, pool: BlockPool, size: int) -> Block | None:
        """Return a block from a new segment, or None if the segment would exceed the capacity."""
        if self.expandable:
            return self._grow_segment(pool, size)
        length = self._page[pool.is_small]
        if size >= OWN_SEGMENT:
            length = _round_up(size, OWN_ROUNDING)
        return self._add_segment(self._new_address(length), length, pool) if self._is_within_capacity(length) else None

    def _is_within_capacity(self, length: int) -> bool:
        return self.capacity is None or self.reserved + length <= self.capacity

    def _add_segment(self, address: int, length: int, pool: BlockPool) -> Block:
        self.segments[address] = length
        self._add_reserved(length)
        return Block(address, length, pool, address)

    def _add_reserved(self, length: int) -> None:
        self.reserved += length
        self.peak = max(self.peak, self.reserved)

    def _new_address(self, length: int) -> int:
        """Return the address of a new segment: the driver's or, if that is None, the next one after all segments."""
        if (address := self._driver(length)) is None:
            address, self._end = self._end, self._end + _round_up(length, OWN_ROUNDING)
        return address

    def _grow_segment(self, pool: BlockPool, size: int) -> Block | None:
        """Return a block of at least `size` bytes, after mapping pages in the lowest sufficient range of free bytes.

        Return None if the mapped pages would exceed the capacity.
        """
        ends = (_first_free_before(pool.unmapped[address]) for address in sorted(pool.unmapped))
        block = next((block for block in ends if _free_bytes_from(block) >= size), None)
        if block is None:
            base = self._new_address(_ADDRESS_SPACE)
            block = Block(base, _ADDRESS_SPACE, pool, base, is_mapped=False)
            pool.add(block)
        while not block.is_mapped or block.size < size:
            hole = block.next if block.is_mapped else block
            # The range was chosen because free bytes follow the block, so there must be a hole.
            assert hole is not None
            wanted = size - (block.size if block.is_mapped else 0)
            length = min(hole.size, _round_up(wanted, self._page[pool.is_small]))
            if not self._is_within_capacity(length):
                return None
            pool.remove(hole)
            if length < hole.size:
                pool.add(_split_block(hole, length))
            hole.is_mapped = True
            self._add_reserved(length)
            block = _merge_block(hole)
            pool.add(block)
        pool.remove(block)
        return block

    def _unmap_pages(self, pool: BlockPool, block: Block) -> None:
        """Unmap the pages that lie entirely inside a free block."""
        page = self._page[pool.is_small]
        first = block.base + _round_up(block.address - block.base, page)
        last = block.base + (block.address + block.size - block.base) // page * page
        if first >= last:
            return
        pool.remove(block)
        if first > block.address:
            before, block = block, _split_block(block, first - block.address)
            pool.add(before)
        if last < block.address + block.size:
            pool.add(_split_block(block, last - block.address))
        block.is_mapped = False
        self.reserved -= block.size
        pool.add(_merge_block(block))


def _round_up(size: int, step: int) -> int:
    return -(-size // step) * step


def _split_block(block: Block, size: int) -> Block:
    rest = Block(
        block.address + size, block.size - size, block.pool, block.base, block, block.next, is_mapped=block.is_mapped
    )
    if rest.next is not None:
        rest.next.previous = rest
    block.size, block.next = size, rest
    return rest


def _merge_block(block: Block) -> Block:
    """Merge a block that is not in a pool with its free neighbours of the same state, mapped or unmapped."""
    before, after = block.previous, block.next
    if before is not None and before.is_free and before.is_mapped == block.is_mapped:
        block.pool.remove(before)
        block.address, block.size, block.previous = before.address, block.size + before.size, before.previous
        if block.previous is not None:
            block.previous.next = block
    if after is not None and after.is_free and after.is_mapped == block.is_mapped:
        block.pool.remove(after)
        block.size, block.next = block.size + after.size, after.next
        if block.next is not None:
            block.next.previous = block
    return block


def _growable_bytes(block: Block) -> int:
    return block.size + (block.next.size if block.next is not None and not block.next.is_mapped else 0)


def _first_free_before(block: Block) -> Block:
    before = block.previous
    return before if before is not None and before.is_free else block


def _free_bytes_from(block: Block | None) -> int:
    total = 0
    while block is not None and block.is_free:
        total, block = total + block.size, block.next
    return total
