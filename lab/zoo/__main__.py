"""Write the zoo as suites of `memplan bench`: `python -m lab.zoo FOLDER [MODEL ...] [--modes inference,training]`.

Each architecture of timm, torchvision and transformers (all three and torch must be installed) is traced without
weights, in a separate process. `FOLDER/plans` gets its buffers in the given order, and `FOLDER/graphs` its graph of
operations. If a model fails, crashes or exceeds its CPU seconds, a line states the reason.
"""

import argparse
import multiprocessing
import resource
import sys
import warnings
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from lab.zoo.models import Model, loss_of, models
from memplan.extensions.torch.inside.recording import Recording
from memplan.extensions.torch.inside.step import TorchStep
from memplan.extensions.torch.inside.ways import graph_of
from memplan.planner.errors import MemplanError
from memplan.planner.formats.minimalloc_csv import write_problem
from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.operations.graph import OperationGraph

MODES: Mapping[str, tuple[int, bool]] = {"inference": (1, False), "training": (8, True)}
"""Maps a mode to (batch size, True if the step trains the model, with the optimizer Adam)."""
_APART = ("parameters", "optimizer")


def graph_of_step(model: Model, mode: str) -> OperationGraph:
    """Return the operations of a model's step in execution order, recorded with tensors that have no data.

    Parameters, buffers and the optimizer's state are counted separately. Other tensors, including gradients, are alive
    from their operation to their last reader; the results of the model are alive to the end.
    """
    batch, trains = MODES[mode]
    with torch.device("meta"):
        module = model.make().train(trains).to("meta")
    inputs = model.inputs(module, batch)
    step = TorchStep(module, inputs, loss_of if trains else None, (), "adam" if trains else None)
    return _last_step_graph(step.record())


def _last_step_graph(recording: Recording) -> OperationGraph:
    graph = graph_of(recording)
    used = (t for row in recording.operations[recording.last_step :] for t in (*row.reads, *row.makes, *row.changes))
    alive = (t for t, tensor in enumerate(recording.tensors) if tensor.end is None)
    roles = [recording.tensors[t].role for t in dict.fromkeys((*used, *alive))]
    apart = tuple(k for k, role in enumerate(roles) if role in _APART)
    kept = tuple(k for k in graph.kept if roles[k] == "outputs")
    given = tuple(k for k in graph.given if roles[k] not in _APART)
    return graph.model_copy(update={"resident": apart, "kept": kept, "given": given})


def _write_step(model: Model, mode: str, folder: Path, limit_s: int, told: Connection) -> None:
    """Write the files of a model's step within a limit of CPU seconds, and send "" or the reason of a failure."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 1))
    warnings.simplefilter("ignore")
    name = f"{model.source}-{model.name}-{mode}".replace("/", "-")
    try:
        graph = graph_of_step(model, mode)
        problem = problem_of_order(graph, range(len(graph.ops)), alignment=1)
        (folder / "plans" / f"{name}.csv").write_bytes(write_problem(problem))
        (folder / "graphs" / f"{name}.json").write_text(graph.model_dump_json(by_alias=True, exclude_defaults=True))
        told.send("")
    except MemplanError as error:
        told.send(str(error))
    except Exception as error:  # noqa: BLE001  model builders of other projects may raise any error
        told.send(f"builder: {type(error).__name__}: {error}")


def write_model(model: Model, mode: str, folder: Path, limit_s: int) -> str:
    """Write the files of a model's step in a separate process; return "", or in one line why there are none."""
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    child = context.Process(target=_write_step, args=(model, mode, folder, limit_s, writer), daemon=True)
    child.start()
    writer.close()
    try:
        return " ".join(str(reader.recv()).split())[:120]
    except EOFError:
        child.join()
        return f"took more than {limit_s} s" if child.exitcode in (-9, -24) else f"died with {child.exitcode}"
    finally:
        child.join()


def main(words: Sequence[str] | None = None) -> int:
    """Write the models that the arguments name, or all; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--seconds", type=int, default=90, help="of the processor, for a model in a mode")
    given = parser.parse_args(words)
    chosen = [model for model in models() if not given.models or model.key in given.models]
    if missing := set(given.models) - {model.key for model in chosen}:
        sys.exit(f"no such model: {', '.join(sorted(missing))}")
    for name in ("plans", "graphs"):
        (given.folder / name).mkdir(parents=True, exist_ok=True)
    for model in chosen:
        for mode in given.modes.split(","):
            print(model.key, mode, write_model(model, mode, given.folder, given.seconds) or "written", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
