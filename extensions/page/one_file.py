"""Writer of a page as one HTML file with all scripts, styles and data, whose security policy allows no others.

This module needs only the standard library, because a release makes a page where no other package is installed.
"""

import base64
import hashlib
import html
import zlib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

STATIC: Traversable = files("memplan.extensions.page") / "static"
"""The folder of the page's modules, styles and template."""
_LOADER = """\
const frame = document.body.appendChild(document.createElement("iframe"));
[frame.id, frame.hidden] = ["frame", true];
frame.contentDocument?.open(); // The load event waits for this frame until the page is drawn, and so do screenshots.
setTimeout(() => frame.remove(), 5000);
const packed = document.getElementById("script");
const bytes = Uint8Array.from(atob(packed.textContent), (sign) => sign.charCodeAt(0));
packed.remove();
const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
const texts = (await new Response(unpacked).text()).split("\\0");
for (const [k, name] of ["style", "script"].entries()) {
  const element = document.createElement(name);
  if (k) element.type = "module";
  element.textContent = texts[k];
  document.head.append(element);
}
"""
"""The script that unpacks the page's styles and script, which are compressed to a third, in a few milliseconds."""


def one_file(title: str, script: str, data: Mapping[str, bytes], *, allowed: str = "", note: str = "") -> bytes:
    """Return the HTML of a page whose security policy allows only the scripts and styles inside the page.

    Each entry of `data` is stored, compressed and in base64, in an element whose id is the entry's name. `allowed` has
    further words for the policy's rule on scripts. The page shows the text `note` until its script runs.
    """
    style = static_text("page.css") + static_text("studies.css")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_policy_hash(_LOADER)}' '{_policy_hash(script)}'{allowed and ' ' + allowed}",
            f"style-src '{_policy_hash(style)}'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    page = static_text("index.html")
    for mark, put in (
        ("<!-- policy -->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        ("<title>memplan</title>", f"<title>{html.escape(title)}</title>"),
        ('<link rel="stylesheet" href="page.css">\n', ""),
        ('<div id="page">', f'<div id="page">{note and f"<p>{note}</p>"}'),
        (
            '<script type="module" src="main.js"></script>',
            "".join(_embed(name, zlib.compress(content, 6)) for name, content in data.items())
            + _embed("script", zlib.compress(f"{style}\0{script}".encode(), 9))
            + f'<script type="module">{_LOADER}</script>',
        ),
    ):
        before, old, after = page.partition(mark)
        if not old:
            raise ValueError(f"index.html: must contain {mark}")
        page = f"{before}{put}{after}"
    return page.encode()


def _embed(name: str, data: bytes) -> str:
    return f'<script type="application/octet-stream" id="{name}">{base64.b64encode(data).decode()}</script>\n'


def static_text(name: str) -> str:
    """Return the text of a file in the folder STATIC."""
    return (STATIC / name).read_text(encoding="utf-8")


def _policy_hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
