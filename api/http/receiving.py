"""Receiving of a request: its media type is checked, and its body read within limits on size, time and memory.

The memory that parsing needs is estimated while the body arrives. JSON such as `[{},{},...]`, which takes little space
but much memory, is therefore refused before it is parsed.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from io import BytesIO

import anyio
import numpy as np
from starlette.requests import Request

from memplan.api.http.auth import caller_of
from memplan.api.refusals import FullError, TooSlowError
from memplan.api.request_bodies import BYTES, CSV, FORM, JSON, LARGE_BYTES, MediaTypeError, TooLargeError
from memplan.api.requests import MOST_BUFFERS
from memplan.planner.errors import excerpt

BODY_S = 30.0
"""The maximum seconds for receiving a body."""
BODIES_HELD = 16
"""How many bodies of the maximum size the server may hold at one time; a single key may hold half of them."""
SMALL_BYTES = 32 * 2**10
"""The size in bytes up to which a body is parsed on the event loop, which is faster than handing it to a thread."""
_DRAIN_S = 0.4
_BYTES_OF = ((b"{", 200), (b"[", 88), (b",", 64))
"""The estimated bytes of memory per JSON character: `{` begins a small object, `[` a list, and `,` a further item."""
_URL_FORM = "application/x-www-form-urlencoded"
_CHARSET = re.compile(r"""charset\s*=\s*"?([^";\s]*)""", re.IGNORECASE)
_MORE = " (the server's MEMPLAN_MAX_BODY_BYTES sets this limit)"
_HOW = f"`curl --json @FILE`; a table `curl -H 'content-type: {CSV}' --data-binary @FILE`, a model as {BYTES}"


@dataclass
class HeldBytes:
    """The bytes of bodies whose requests are unanswered, in total and per key; for one event loop."""

    most: int
    most_grown: int = 2**62
    """The maximum memory, in bytes, of one parsed body."""
    held: int = 0
    of_key: Counter[str | None] = field(default_factory=Counter)


@dataclass
class HeldShare:
    """One request's part of the bytes of unanswered bodies: `count` bytes within the total `whole`."""

    whole: HeldBytes
    key_id: str | None = None
    count: int = 0

    def take(self, count: int) -> None:
        """Count more bytes as held until the request is answered; raises FullError above the total or key limit."""
        whole = self.whole
        is_over_half = self.key_id is not None and whole.of_key[self.key_id] + count > whole.most // 2
        if whole.held + count > whole.most or is_over_half:
            raise FullError(f"memplan: unanswered requests already hold {whole.held} bytes")
        self.count += count
        whole.held += count
        whole.of_key[self.key_id] += count

    def release(self) -> None:
        """Release all bytes that this request holds."""
        self.whole.held -= self.count
        self.whole.of_key[self.key_id] -= self.count
        if not self.whole.of_key[self.key_id]:
            del self.whole.of_key[self.key_id]
        self.count = 0


@dataclass
class JsonGrowth:
    """Counts the objects and lists in arriving JSON, and estimates the memory of the parsed value, in bytes."""

    n_openings: int = 0
    n_bytes: int = 0

    def add(self, text: bytes, most_bytes: int) -> None:
        """Count a body's next chunk; raises TooLargeError for too many objects or a parsed size above `most_bytes`."""
        counts = _character_counts(text)
        self.n_openings += counts[0] + counts[1]
        self.n_bytes += len(text) + sum(count * size for count, (_, size) in zip(counts, _BYTES_OF, strict=True))
        if self.n_openings > MOST_BUFFERS:
            raise TooLargeError(f"body: must have at most {MOST_BUFFERS} objects and lists, got more")
        if self.n_bytes > most_bytes:
            raise TooLargeError(f"body: must be parsed within {most_bytes} bytes of memory, got more")


def _character_counts(text: bytes) -> list[int]:
    codes = np.frombuffer(text, np.uint8)
    return [int(np.count_nonzero(codes == character[0])) for character, _ in _BYTES_OF]


def media_type(request: Request, *known: str) -> str:
    """Return the media type of a request's body, by default JSON; raises MediaTypeError if it is not in `known`.

    If `known` is empty, a body may be any file, and only curl's default form type is refused.
    """
    header = request.headers.get("content-type")
    if header is None or header == JSON:
        kind, header = JSON, JSON
    else:
        kind = header.partition(";")[0].strip().lower()
    if kind == _URL_FORM or "/" not in kind or (known and kind not in known):
        wanted = " or ".join(known) or f"{JSON}, {CSV}, {FORM} or that of a file"
        raise MediaTypeError(f"content-type: must be {wanted}, got {excerpt(header)}: write {_HOW}")
    charset = _CHARSET.search(header)
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        raise MediaTypeError(f"content-type: charset must be utf-8, got {excerpt(charset[1])}")
    if (coding := request.headers.get("content-encoding", "identity")) != "identity":
        raise MediaTypeError(f"content-encoding: must be identity, got {excerpt(coding)}: send the body uncompressed")
    return header if kind == FORM else kind


async def read_body(request: Request, limit: int, media: str = "") -> bytes:
    """Return the bytes of a request's body of at most `limit` bytes.

    Raises TooLargeError for a longer body, and for JSON as soon as its parsed value would need too much memory. Raises
    TooSlowError if the body does not arrive in time, and FullError if the server holds too many bytes of bodies; the
    parsed value counts among them if this process parses the body.
    """
    announced = request.headers.get("content-length", "")
    stream, share, grown = request.stream(), request.state.body_share, JsonGrowth()
    # A BytesIO returns its bytes without copying them, so collect the parts of the body in a BytesIO.
    share.key_id, body = caller_of(request).key_id, BytesIO()
    try:
        if announced.isdecimal() and int(announced) > limit:
            raise TooLargeError(f"body: must be at most {limit} bytes, got {announced}{_MORE}")
        async with asyncio.timeout(BODY_S):
            async for chunk in stream:
                if body.tell() + len(chunk) > limit:
                    raise TooLargeError(f"body: must be at most {limit} bytes, got more{_MORE}")
                share.take(len(chunk))
                body.write(chunk)
                if body.tell() > SMALL_BYTES and "json" in media:
                    grown.add(chunk if grown.n_bytes else body.getvalue(), share.whole.most_grown)
            if body.tell() <= LARGE_BYTES:
                share.take(max(0, grown.n_bytes - body.tell()))
    except TimeoutError:
        raise TooSlowError(f"body: must arrive within {BODY_S:g} s") from None
    except (TooLargeError, FullError):
        body.close()
        share.release()
        await _discard_rest(stream)
        raise
    return body.getvalue()


async def _discard_rest(stream: AsyncIterator[bytes]) -> None:
    with anyio.move_on_after(_DRAIN_S):
        async for _ in stream:
            pass
