"""Plans as JSON lists of placements, for programs of other projects."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from memplan.planner.foreign.c_names import prefix_of
from memplan.planner.foreign.layout import VerifiedLayout
from memplan.planner.foreign.memory_tables import peak_over_time

_CPU, _EXTENSION = 1, 12
_DEVICES = {"cpu": _CPU, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10, "webgpu": 15, "hexagon": 16}
"""The numbers of device kinds that DLPack and TVM use."""


def write_triples(layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return a JSON file with an array [id, pool, offset] for every buffer."""
    names = [pool.pool.name for pool in layout.pools]
    return {"": to_json([[buffer.id, names[buffer.pool], buffer.offset] for buffer in layout.buffers]) + b"\n"}


def write_executorch(layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return a plan in ExecuTorch's terms, as JSON: memories count from 1, and 0 is the memory of constants.

    `bufsizes` starts with memory 0, and its sizes are rounded up to each pool's alignment, as Cadence's runtime
    requires. `peak_memory_usages_per_memory` starts with memory 1 and is not rounded, as in Cadence's code (but not in
    its docstring). Specs that share bytes have the same `mem_obj_id` in their memory.
    """
    peak, objects = peak_over_time(layout.problem), dict[int, int]()
    reached: dict[int, tuple[int, int]] = {}  # For each memory, store the number and the end of the current object.
    for k, buffer in sorted(enumerate(layout.buffers), key=lambda row: row[1].offset):
        number, end = reached.get(buffer.pool, (-1, 0))
        objects[k] = number + (number < 0 or buffer.offset >= end)
        reached[buffer.pool] = objects[k], max(end, buffer.offset + buffer.size)
    sizes = [-(-pool.extent // pool.pool.alignment) * pool.pool.alignment for pool in layout.pools]
    report = {
        "bufsizes": [0, *sizes],
        "peak_memory_usages_per_memory": [pool.extent for pool in layout.pools],
        "peak_memory_usage": None if peak is None else {"bytes": peak[0], "node": peak[1]},
        "specs": [
            {"id": row.id, "mem_id": row.pool + 1, "mem_obj_id": objects[k], "mem_offset": row.offset, "size": row.size}
            for k, row in enumerate(layout.buffers)
        ],
    }
    return {"": to_json(report) + b"\n"}


def write_mlf(layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return a complete `metadata.json` with the section `memory` of TVM's Model Library Format, version 7.

    A plan has neither operators nor constants, so its inputs and outputs count as workspace, with one workspace per
    device. A pool without a device is on the CPU; a device unknown to TVM becomes an extension. In addition to TVM's
    own fields, the file has `pools`, and the pool and byte offset of each storage, as TVM's memory planner writes them.
    """
    devices = [_device_kind(pool.pool.device) for pool in layout.pools]
    main = [
        {
            "device": device,
            "workspace_size_bytes": sum(layout.pools[q].extent for q, its in enumerate(devices) if its == device),
            "constants_size_bytes": 0,
            "io_size_bytes": 0,
        }
        for device in sorted(set(devices))
    ]
    memory: dict[str, Any] = {
        "functions": {"main": main, "operator_functions": []},
        "pools": [
            {
                "pool_name": pool.pool.name,
                "size_hint_bytes": pool.pool.size,
                "allocated_size": pool.extent,
                "device": device,
            }
            for pool, device in zip(layout.pools, devices, strict=True)
        ],
        "sids": [
            {
                "storage_id": k,
                "name": str(buffer.id),
                "size_bytes": buffer.size,
                "pool_name": layout.pools[buffer.pool].pool.name,
                "byte_offset": buffer.offset,
            }
            for k, buffer in enumerate(layout.buffers)
        ],
    }
    module = prefix_of(stem)
    return {
        "": to_json({"version": 7, "modules": {module: {"model_name": module, "memory": memory}}}, indent=2) + b"\n"
    }


def _device_kind(device: int | str | None) -> int:
    if isinstance(device, int):
        return device
    return _CPU if device is None else _DEVICES.get(device.lower().partition(":")[0], _EXTENSION)
