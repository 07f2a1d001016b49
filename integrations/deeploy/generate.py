"""Generate a network's code with Deeploy: `python generate.py PLATFORM STRATEGY MODEL FOLDER [FLAG...]`.

Run this program in Deeploy's folder DeeployTest. For the platform Generic, each operation becomes a single tile in one
memory, so Deeploy's memory scheduler places all buffers, and the code runs on the host. For other platforms, testMVP.py
runs with the flags. FOLDER/plan.json then has the CPU microseconds of tiling and scheduling, and the arenas' bytes.
For each call of minimalloc, it has the number of buffers, the peak and live-set bound in bytes, and the milliseconds.
"""

from __future__ import annotations

import json
import resource
import runpy
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import generateNetwork
from Deeploy.CommonExtensions.CodeTransformationPasses.MemoryAllocation import MemoryManagementGeneration
from Deeploy.DeeployTypes import NodeTemplate
from Deeploy.MemoryLevelExtension.MemoryLevels import MemoryHierarchy, MemoryLevel
from Deeploy.MemoryLevelExtension.NetworkDeployers.MemoryLevelDeployer import (
    MemoryDeployerWrapper,
    MemoryPlatformWrapper,
)
from Deeploy.MemoryLevelExtension.OptimizationPasses.MemoryLevelAnnotationPasses import (
    AnnotateDefaultMemoryLevel,
    AnnotateIOMemoryLevel,
)
from Deeploy.Targets.Generic.TileConstraints.UntiledTileConstraint import UntiledTileConstraint
from Deeploy.TilingExtension.TilerExtension import Tiler, TilerDeployerWrapper

LEVEL = "L2"
plan: dict[str, Any] = {"calls": []}
minimalloc, tile, map_deployer = Tiler.minimalloc, TilerDeployerWrapper.tile, generateNetwork.mapDeployer


def cpu_time_us() -> float:
    """Return the CPU time, in microseconds, of this process and its ended children."""
    return 1e6 * sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def bound(rows: list[tuple[int, int, int]]) -> int:
    """Return the peak of live bytes of rows (first step, last step, size), whose lifetimes include the last step."""
    return max((sum(size for first, last, size in rows if first <= at <= last) for at, *_ in rows), default=0)


def noted_call(tiler: Any, blocks: Any, ctxt: Any, *arguments: Any) -> Any:
    """Call minimalloc as Deeploy does, and record its result and time. Raises AssertionError if buffers overlap."""
    start = time.perf_counter()
    blocks = minimalloc(tiler, blocks, ctxt, *arguments)
    ms = 1e3 * (time.perf_counter() - start)
    assert not any(a.collides(b) for k, a in enumerate(blocks) for b in blocks[:k])
    rows = [(*block.lifetime, block.addrSpace[1] - block.addrSpace[0]) for block in blocks]
    peak = max(block.addrSpace[1] for block in blocks)
    plan["calls"].append({"buffers": len(blocks), "peak": peak, "bound": bound(rows), "ms": ms})
    return blocks


def noted_tile(deployer: Any, *arguments: Any) -> None:
    """Tile and schedule as Deeploy does, and record the CPU time in microseconds and the bytes of each arena."""
    start = cpu_time_us()
    tile(deployer, *arguments)
    plan["us"], plan["arenas"] = cpu_time_us() - start, deployer.worstCaseBufferSize


def host_deployer(strategy: str) -> Any:
    """Return a function that makes a Deeploy deployer with one memory and the memory scheduler `strategy`."""
    NodeTemplate.tileConstraint = UntiledTileConstraint()
    MemoryManagementGeneration.is_memory_level = lambda self, buffer: True

    def deployer(platform: Any, graph: Any, types: Any, **options: Any) -> Any:
        """Return a Deeploy deployer for a graph, with one memory and the requested memory scheduler."""
        level = MemoryLevel(LEVEL, [], 1 << 26)
        levels = MemoryHierarchy([level])
        levels.setDefaultMemoryLevel(LEVEL)
        made = map_deployer(platform, graph, types, scheduler=lambda graph: [[node] for node in graph.nodes], **options)
        made.Platform = MemoryPlatformWrapper(platform, levels, level)
        passes = [AnnotateIOMemoryLevel(LEVEL), AnnotateDefaultMemoryLevel(levels)]
        made = TilerDeployerWrapper(MemoryDeployerWrapper(made, passes), workDir=options["deeployStateDir"])
        made.tiler.memoryAllocStrategy = strategy
        return made

    return deployer


def main() -> None:
    """Generate the code of the network that the command line names, and write plan.json with the measurements."""
    platform, strategy, model, folder, *flags = sys.argv[1:]
    Tiler.minimalloc, TilerDeployerWrapper.tile = noted_call, noted_tile
    if platform == "Generic":
        generateNetwork.mapDeployer = host_deployer(strategy)
        more = {"debug": False, "input_type_map": [], "input_offset_map": [], "cores": 1}
        generateNetwork.generateNetwork(Namespace(dir=model, dumpdir=folder, platform=platform, **more))
    else:
        sys.argv[1:] = ["-t", model, "-p", platform, "-d", folder, f"--memAllocStrategy={strategy}", *flags]
        runpy.run_path("testMVP.py", run_name="__main__")
    Path(folder, "plan.json").write_text(json.dumps(plan))


if __name__ == "__main__":
    main()
