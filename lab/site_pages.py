"""Hooks for `mkdocs build`, which generate or change pages of the documentation site."""

from __future__ import annotations

import inspect
import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, get_type_hints

import memplan

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page python.md to the site: a reference of memplan's public names, generated from docstrings."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "python.md", content=python_reference()))
    return files


def python_reference() -> str:
    """Return the Markdown page of all public functions, values and errors, with their docstrings and fields."""
    parts = ["# Python", "> For people who call memplan from Python: every name of `memplan`, with its docstring."]
    values = {name: getattr(memplan, name) for name in dir(memplan) if not name.startswith("_")}
    for title, names in (
        ("Functions", [name for name, value in values.items() if not isinstance(value, type)]),
        ("Values", [name for name, value in values.items() if isinstance(value, type) and "Error" not in name]),
        ("Errors", [name for name in values if name.endswith("Error")]),
    ):
        parts += [f"## {title}", *(part for name in names for part in _name_section(name, values[name]))]
    return "\n\n".join(parts) + "\n"


def _name_section(name: str, value: Any) -> Iterator[str]:
    """Yield the Markdown of one public name: heading, signature, docstring and the table of a model's fields."""
    yield f"### {name}"
    fields = getattr(value, "model_fields", {})
    if not fields and not issubclass(value if isinstance(value, type) else object, Exception):
        called = re.sub(", (?=[*]{0,2}[a-z_]+[:,=)])", ",\n    ", f"{name}{inspect.signature(value)}")
        yield f"```python\n{called}\n```"
    text = re.sub(r":\n    (?=\w+: )", ":\n\n    ", inspect.getdoc(value) or "")
    yield re.sub(r"^    (\w+): ", r"- `\1`: ", text, flags=re.MULTILINE)
    if fields:
        types = {field: _type_text(each) for field, each in get_type_hints(value).items() if field in fields}
        rows = (f"| `{field}` | `{types[field]}` | {each.description or ''} |" for field, each in fields.items())
        yield "\n".join(("| field | type | meaning |", "|---|---|---|", *(row.replace("\n", " ") for row in rows)))


def _type_text(annotation: Any) -> str:
    """Return the source text of a type annotation without module names, escaped for a Markdown table cell."""
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", inspect.formatannotation(annotation)).replace("|", "\\|")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the Markdown of a page after changing links to files outside docs/ to the repository's web page."""
    folder = posixpath.dirname(page.file.src_uri)

    def link(found: re.Match[str]) -> str:
        """Return a link's target, changed to the repository's web page if it is outside of docs/."""
        target = posixpath.normpath(posixpath.join("docs", folder, found[1]))
        return found[0] if target.startswith("docs/") else f"]({config.repo_url}/blob/main/{target})"

    return re.sub(r"\]\((\.\./[^)\s]+)\)", link, markdown)
