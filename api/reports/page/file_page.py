"""The file page: one HTML file with the page's modules, its styles and a page document, which needs no network."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from importlib.resources import files
from importlib.resources.abc import Traversable

from memplan.api.reports.page.document import PageDocument
from memplan.api.reports.page.plan_view import add_plan
from memplan.capabilities.files.program_names import NO_NAMES, ProgramNames
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

STATIC: Traversable = files("memplan.api.reports.page") / "static"
"""The folder of the page's modules, styles and template."""
MAIN = "main.js"
_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(
    r"^export (?=(?:async )?(?:const|function|class) (\w+)|(?:async )?function\*? (\w+))", re.MULTILINE
)
_EXPORT_LIST = re.compile(r"export ?\{([^}]*)\};?\s*\Z")


def plan_page(problem: Problem, plan: Plan, *, title: str = "", names: ProgramNames = NO_NAMES) -> bytes:
    """Return the file page of one plan."""
    document = PageDocument(title or problem.name or "plan")
    add_plan(document, problem, plan, names=names)
    return file_page(document)


def file_page(document: PageDocument) -> bytes:
    """Return the file page of a document: HTML whose policy allows its own script and style alone."""
    style = _text("page.css") + _text("studies.css")
    script = bundle(MAIN)
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    data = base64.b64encode(document.packed()).decode()
    page = _text("index.html")
    for mark, put in (
        ("<!-- policy -->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        ("<title>memplan</title>", f"<title>{html.escape(document.title)}</title>"),
        ('<link rel="stylesheet" href="page.css">', f"<style>{style}</style>"),
        (
            f'<script type="module" src="{MAIN}"></script>',
            f'<script type="application/octet-stream" id="document">{data}</script>\n'
            f'<script type="module">{script}</script>',
        ),
    ):
        before, found, after = page.partition(mark)
        if not found:
            raise ValueError(f"index.html: must contain {mark}")
        page = f"{before}{put}{after}"
    return page.encode()


def bundle(main: str) -> str:
    """Return a module and all that it imports as one script: each module is a function that returns its exports.

    The modules keep to three forms: `import { a, b as c } from "./x.js";`, `export` before a const, function or class,
    and one list of exports at the very end.
    """
    parts: dict[str, str] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in parts:
            return
        if name in above:
            raise ValueError(f"{name}: must not import itself, through {' -> '.join(above)}")
        source = _text(name)
        for found in _IMPORT.finditer(source):
            visit(_resolved(name, found[2]), (*above, name))
        parts[name] = _as_function(name, source)

    visit(main, ())
    script = "".join(parts.values())
    if "</script" in script.lower() or "<!--" in script:
        raise ValueError("modules: must not contain an end of a script, or the start of a comment, of HTML")
    return script


def _as_function(name: str, source: str) -> str:
    """Return a module as a constant: the call of a function that holds the module and returns its exports."""

    def taken(found: re.Match[str]) -> str:
        names = re.sub(r"\s+as\s+", ": ", found[1].strip())
        return f"const {{{names}}} = {_constant(_resolved(name, found[2]))};\n"

    exported = [f"{match[1] or match[2]}" for match in _EXPORT.finditer(source)]
    body = _EXPORT.sub("", source)
    if (listed := _EXPORT_LIST.search(body)) is not None:
        body = body[: listed.start()]
        pairs = [entry.strip().split(" as ") for entry in listed[1].split(",") if entry.strip()]
        exported += [f"{pair[-1]}: {pair[0]}" for pair in pairs]
    body = _IMPORT.sub(taken, body)
    if re.search(r"^(import|export)\b", body, re.MULTILINE):
        raise ValueError(f"{name}: must import and export in the forms that a file page can take")
    return f"const {_constant(name)} = (() => {{\n{body}\nreturn {{{', '.join(exported)}}};\n}})();\n"


def _resolved(importer: str, path: str) -> str:
    """Return the name of an imported module, as a path in the folder of modules."""
    folder = importer.split("/")[:-1]
    for part in path.split("/"):
        if part == "..":
            folder.pop()
        elif part != ".":
            folder.append(part)
    return "/".join(folder)


def _constant(name: str) -> str:
    return f"module_{re.sub(r'[^a-z0-9]', '_', name.lower())}"


def _text(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
