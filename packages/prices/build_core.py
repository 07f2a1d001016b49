"""Find memplan's build hook: in a source archive it lies beside this file, in a checkout at the root."""

from pathlib import Path
from runpy import run_path

_HERE = Path(__file__).parent
CoreBuildHook = run_path(str(next(_HERE.glob("hatch_build.py"), _HERE.parents[1] / "hatch_build.py")))["CoreBuildHook"]
