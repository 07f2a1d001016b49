"""Pages of the site that differ from the documents in the tree: hooks of `mkdocs build`."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

import memplan

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

PYTHON = "python.md"
"""The reference of Python's names, which is made of docstrings and in no folder."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference of all public names."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, PYTHON, content=python_reference()))
    return files


def python_reference() -> str:
    """Return the page of all public names: functions, then values, then errors, each as its module defines it."""
    homes = {name: module for name, module in memplan._MODULES.items() if not name.startswith("_")}
    errors = {name for name in homes if name.endswith("Error")}
    functions = {name for name in homes if name[0].islower()}
    parts = ["# Python", "> For people who call memplan from Python: every name of `memplan`, with its docstring."]
    for title, names in (("Functions", functions), ("Values", homes.keys() - functions - errors), ("Errors", errors)):
        parts += [f"## {title}", *(f"::: {homes[name]}.{name}" for name in sorted(names))]
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links to files beside the folder of documents lead to the repository."""
    folder = posixpath.dirname(page.file.src_uri)

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", folder, found[1]))
        return found[0] if target.startswith("docs/") else f"]({config.repo_url}/blob/main/{target})"

    return re.sub(r"\]\((\.\./[^)\s]+)\)", link, markdown)
