"""The verifier of shared objects, which converts them to a plan for the verifier of plans."""

from collections.abc import Iterator

from memplan.planner.errors import excerpt
from memplan.planner.model.objects import ObjectsProblem, SharedObject, pools_plan


def violations(problem: ObjectsProblem, objects: tuple[SharedObject, ...]) -> Iterator[str]:
    """Yield a sentence for each broken rule of shared objects.

    The rules concern the objects' sides and kinds, and the equivalent plan with one pool per object.
    """
    from memplan.planner.verify.verifier import verify

    yield from (each.message for each in verify(*pools_plan(problem, objects)))
    index = {buffer.id: i for i, buffer in enumerate(problem.buffers)}
    for k, each in enumerate(objects):
        rows = [index[i] for i in each.buffers if i in index]
        width, height = (each.size, 1) if each.size is not None else (each.width or 0, each.height or 0)
        if {problem.group(i) for i in rows} != {(each.size is None, each.kind)}:
            yield f"objects[{k}]: must hold only buffers of the object's kind"
        for i in rows:
            w, h = problem.sides(i)
            if w > width or h > height:
                yield f"objects[{k}]: must hold {excerpt(problem.buffers[i].id)}, {w} x {h}, got {width} x {height}"
            elif problem.ratio is not None and (width > problem.ratio * w or height > problem.ratio * h):
                name = excerpt(problem.buffers[i].id)
                yield f"objects[{k}]: must be at most {problem.ratio} times as large as {name}"
