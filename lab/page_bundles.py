"""Build the page's JavaScript bundles from its modules: `python -m lab.page_bundles`, with esbuild 0.28 on the path.

`built/page.js` is for a page that is saved as a file, and `built/live.js` is for the page of a service. The first line
of each bundle contains the digest of the sources, so that a test can detect an outdated bundle.
"""

import hashlib
import shutil
import subprocess
from importlib.resources import as_file

from memplan.extensions.page.one_file import STATIC

BUNDLES = {"page": "main.js", "live": "live/main.js"}
"""Maps the name of each bundle to its entry module."""
_FLAGS = ("--bundle", "--format=esm", "--minify", "--legal-comments=none", "--target=es2022", "--charset=utf8")


def digest() -> str:
    """Return the SHA-256 digest of all JavaScript modules of the page."""
    found = hashlib.sha256()
    with as_file(STATIC) as folder:
        for path in sorted(folder.rglob("*.js")):
            if "built" not in path.parts:
                found.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return found.hexdigest()


def build_bundle(main: str, esbuild: str) -> str:
    """Return an entry module's bundle as text; its first line has the digest of the sources."""
    with as_file(STATIC) as folder:
        script = subprocess.run(
            [esbuild, str(folder / main), *_FLAGS], capture_output=True, text=True, check=True
        ).stdout
    return f"// made of the modules {digest()} by lab/page_bundles.py\n{script}"


def esbuild_path() -> str:
    """Return the path of esbuild. Raises SystemExit, which says how to install it, if it is not on the path."""
    if found := shutil.which("esbuild"):
        return found
    raise SystemExit("esbuild: must be on the path; run npm install --global esbuild@0.28.2")


def main() -> None:
    """Write all bundles."""
    esbuild = esbuild_path()
    with as_file(STATIC) as folder:
        (folder / "built").mkdir(exist_ok=True)
        for name, begins in BUNDLES.items():
            (folder / "built" / f"{name}.js").write_text(build_bundle(begins, esbuild), encoding="utf-8")


if __name__ == "__main__":
    main()
