"""Parser of MLIR text into statements with regions, and functions for text in brackets."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from memplan.planner.errors import CUT_OFF, FormatError

# Retrying an unclosed string at each quote would take quadratic time, so such a string ends with its line.
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*"?)|//[^\n]*')
NAME = r"%[\w$.-]+(?::\d{1,4})?"
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.?)*(?:"|\Z)|\b(?:dense|dense_resource)<[^"<>]*(?:"[^"]*"[^"<>]*)*>|->|(?P<open>[(\[{<])|(?P<close>[)\]}>])'
    r"|(?P<line>\n\s*"
    rf'|(?<![,=\s])[ \t]+(?={NAME}(?:\s*,\s*{NAME})*\s*=|"?(?:func\.|stablehlo\.)?return\b))'
)
_START = re.compile(
    rf'{NAME}(?:\s*,\s*{NAME})*\s*=|"[\w.$]+"\s*\(|\^|[a-z_]\w*(?:\.\w+)+(?=[\s({{<@])|[#!][\w.]+ ='
    r"|(?:return|call|module|func|constant)\b"
)
"""Matches the start of a statement; all other text continues the previous statement."""
_REGION = re.compile(
    rf'\s*(?:\^|{NAME}[\s,=]|"[\w.$]+"\s*\(|[a-z_]\w*(?:\.\w+)+[ \t]+(?:[%@:"(^]|(?:public|private|mutable|ins)\b)|'
    r"(?:[a-z_]\w*\.)?(?:return|func|call|module)\b(?!\s*=))"
)
_MARK = re.compile(rf"(?P<mark>,|(?:(?<!\s)\s+)?:(?=[\s(!a-z])|\sloc(?=\())|{_TOKEN.pattern}|(?P<space>\s)")
_DEEPEST = 200


@dataclass
class Statement:
    """A statement: its text without regions, its position in the file, and its regions (lists of statements)."""

    text: str
    at: int
    regions: "list[list[Statement]]"


class Statements:
    """A splitter of text into statements; each ends at the next statement or at its block's closing brace."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.depth = text, _TOKEN.finditer(text), 0
        self.at = 0

    def block(self, ending: str = "") -> list[Statement]:
        """Return the statements up to the bracket `ending`, which closes the block.

        If `ending` is empty, the block ends with the text. Raises FormatError for brackets that do not match.
        """
        self.depth += 1
        if self.depth > _DEEPEST:
            raise FormatError(f"regions: must be at most {_DEEPEST} deep, got more")
        text, statements = self.text, list[Statement]()
        pieces, regions, depth, start = list[str](), list[list[Statement]](), 0, self.at
        for token in self.tokens:
            if token["open"]:
                if token["open"] == "{" and _REGION.match(text, token.end()):
                    pieces.append(text[self.at : token.start()])
                    self.at = token.end()
                    regions.append(self.block("}"))
                else:
                    depth += 1
            elif token["close"] and depth:
                depth -= 1
            elif token["close"] or (token["line"] and not depth and _START.match(text, token.end())):
                pieces.append(text[self.at : token.start()])
                block_text = "".join(pieces)
                if block_text.strip() or regions:
                    statements.append(
                        Statement(block_text.strip(), start + len(block_text) - len(block_text.lstrip()), regions)
                    )
                self.at = start = token.end()
                pieces, regions = [], []
                if token["close"]:
                    if token["close"] != ending:
                        line = text.count("\n", 0, token.start()) + 1
                        raise FormatError(f"line {line}: must open each bracket that it closes, got {token[0]}")
                    self.depth -= 1
                    return statements
        if ending:
            raise FormatError("must close each open brace, got the end of the text", way=CUT_OFF)
        if block_text := "".join([*pieces, text[self.at :]]).strip():
            statements.append(Statement(block_text, start, regions))
        return statements


def separators(text: str, at: int = 0) -> Iterator[re.Match[str]]:
    """Yield the commas, colons, arrows and spaces outside of brackets, up to the first unmatched closing bracket."""
    depth = 0
    for token in _MARK.finditer(text, at):
        depth += bool(token["open"]) - bool(token["close"])
        if depth < 0:
            return
        if not depth and (token["mark"] or token["space"] or token["line"] or token[0] == "->"):
            yield token


def bracket_content(text: str, at: int) -> str:
    """Return the text inside the bracket that opens at position `at`."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        depth += bool(token["open"]) - bool(token["close"])
        if not depth:
            return text[at + 1 : token.start()]
    return text[at + 1 :]


def split_at_commas(text: str) -> list[str]:
    """Return the stripped parts of a text between the commas that are outside of brackets."""
    places = [-1, *(mark.start() for mark in separators(text) if mark[0] == ","), len(text)]
    parts = [text[low + 1 : high].strip() for low, high in pairwise(places)]
    return parts if parts != [""] else []
