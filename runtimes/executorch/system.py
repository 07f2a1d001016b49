"""The registration of ExecuTorch programs (`.pte`): a reader and a writer, but no planner."""

from memplan.planner.systems import FileReader, System


def is_executorch(data: bytes) -> bool:
    """Return True if the bytes are a FlatBuffer with one of ExecuTorch's identifiers."""
    return data[4:6] == b"ET" and data[6:8].isdigit()


SYSTEM = System(
    name="executorch-programs",
    title="ExecuTorch programs",
    files=".pte",
    readers=(
        FileReader(
            "executorch",
            is_executorch,
            "memplan.runtimes.executorch.reader",
            suffixes=(".pte",),
            options=frozenset({"scratch", "target", "views"}),
        ),
    ),
    writers={"pte": "memplan.runtimes.executorch.pte:write_pte"},
)
