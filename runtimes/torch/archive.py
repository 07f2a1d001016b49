"""Reader of PyTorch's exported programs, `.pt2` files that `torch.export.save` writes: ZIP archives that contain JSON.

Only the JSON is read: the graph, its signature and the metadata of tensors. Weights stay in the archive, and nothing in
the archive is run or unpickled. The nodes are converted for the reader of torch.fx graphs in memory. As the file lacks
the operators' schemas, a table here lists the operators that return views or change their arguments.
Source: torch 2.13, torch/_export/serde/schema.py (8.17); docs.pytorch.org, PT2 Archive Spec.
"""

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from memplan.planner.errors import MAX_SHOWN, FormatError, OptionError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, OpenSizesError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.formats.memplan_json import parse
from memplan.planner.model.rows import MAX_BYTES
from memplan.programs.operations.graph_facts import bits_of
from memplan.programs.symbols.space import SymbolRange
from memplan.runtimes.torch.fx import read_graph
from memplan.runtimes.torch.sizes import evaluated_size, symbols_in_size

_MOST_BYTES = 1 << 28
"""The maximum size in bytes of the JSON in an archive."""
_FIRST_TYPES = "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool bfloat16"
_LAST_TYPES = "uint16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz"
_DTYPES = dict(enumerate(_FIRST_TYPES.split(), 1)) | dict(enumerate(_LAST_TYPES.split(), 28))
"""Maps each number of torch's ScalarType to the name of the type."""
_VIEWS = """
_reshape_alias alias as_strided detach diagonal expand expand_as flatten movedim narrow permute reshape select slice
squeeze swapaxes t transpose unfold unsqueeze view view_as view_as_complex view_as_real
""".split()  # noqa: SIM905
_LISTS_OF_VIEWS = ("chunk", "split", "split_with_sizes", "tensor_split", "unbind")
_BY_CHANCE = ("bernoulli", "dropout", "multinomial", "native_dropout", "normal", "rand", "randint", "randn", "randperm")
_CONSTANTS = ("parameter", "buffer", "tensor_constant")


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read an exported program as a problem; raises FormatError, or OptionError for unknown dimensions."""
    program = _object_field(parse(_program_json(data)), "graph_module")
    graph = _Graph(_object_field(program, "graph"), options.sizes)
    specs = _list_at(_object_field(program, "signature"), "input_specs")
    held = (spec[kind] for spec in specs if isinstance(spec, dict) for kind in _CONSTANTS if kind in spec)
    constants = {name for row in held for name in _value_names(_object_field(row, "arg"))}
    return read_graph(SimpleNamespace(graph=SimpleNamespace(nodes=graph.nodes)), options, constants)


def symbols(data: bytes) -> dict[str, SymbolRange]:
    """Return the range of each symbol in a program's sizes; raises FormatError for a broken archive."""
    program = _object_field(parse(_program_json(data)), "graph_module")
    constraints = parse(_program_json(data)).get("range_constraints", {})
    return {
        name: _symbol_range(constraints.get(name))
        for name in sorted(_size_names(_object_field(_object_field(program, "graph"), "tensor_values")))
    }


def _symbol_range(row: Any) -> SymbolRange:
    ends = [row.get(name) if isinstance(row, dict) else None for name in ("min_val", "max_val")]
    low, high = (each if isinstance(each, int) and 0 <= each < MAX_BYTES else None for each in ends)
    return SymbolRange(min=1 if low is None else low, max=high)


def _program_json(data: bytes) -> bytes:
    """Return the JSON of an archive's program; raises FormatError unless there is exactly one, of legal size."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [info for info in archive.infolist() if _is_program(info.filename)]
            if len(names) != 1:
                listed = ", ".join(info.filename for info in names[:MAX_SHOWN]) or "none"
                raise FormatError(f"archive: must contain exactly one program, as models/NAME.json, got {listed}")
            if names[0].file_size > _MOST_BYTES:
                raise FormatError(
                    f"{names[0].filename}: must have at most {_MOST_BYTES} bytes, got {names[0].file_size}"
                )
            with archive.open(names[0]) as member:  # An archive may state a smaller size than its content has.
                return member.read(names[0].file_size + 1)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, EOFError, RuntimeError) as error:
        raise FormatError(f"archive: must be a complete ZIP archive, got {excerpt(str(error))}") from None


def _is_program(name: str) -> bool:
    parts = name.split("/")
    return parts[-1] == "serialized_exported_program.json" or (parts[-2:-1] == ["models"] and name.endswith(".json"))


class _Tensor:
    """The metadata of a tensor, with the attributes that the reader of torch.fx expects."""

    def __init__(self, row: Mapping[str, Any], dims: Mapping[str, int], path: str) -> None:
        """Set the tensor's type, shape and strides from its metadata `row`. Raises FormatError, which names `path`."""
        if type(row.get("dtype")) is not int or row["dtype"] not in _DTYPES:
            raise FormatError(f"{path}.dtype: must be a torch type, got {excerpt(row.get('dtype'))}")
        self.dtype = f"torch.{_DTYPES[row['dtype']]}"
        self.shape, self._strides = (
            tuple(evaluated_size(dim, dims) for dim in _list_at(row, k)) for k in ("sizes", "strides")
        )

    def element_size(self) -> int:
        """Return the size of one element in bytes."""
        return (bits_of(self.dtype.removeprefix("torch.")) or 32) // 8

    def is_contiguous(self) -> bool:
        """Return True if the elements lie in row-major order without gaps."""
        step = 1
        for size, stride in zip(reversed(self.shape), reversed(self._strides), strict=False):
            if size != 1 and stride != step:
                return False
            step *= max(1, size)
        return True


class _Operator:
    """An operator of an exported program; its name determines which outputs are views and which inputs are changed."""

    def __init__(self, target: str, names: Sequence[str]) -> None:
        """Build the schema of views and in-place changes of operator `target`, whose arguments have these `names`."""
        space, _, rest = target.partition(".")
        base, _, overload = rest.partition(".")
        self.text, self.tags = target, ("nondeterministic_seeded",) if base in _BY_CHANCE else ()
        changes = names[:1] if base.endswith("_") and not base.endswith("__") else ["out"] if overload == "out" else []
        is_view = space == "aten" and (base in _VIEWS or base in _LISTS_OF_VIEWS)
        several = {"*"} if base in _LISTS_OF_VIEWS else {"a"}
        own = SimpleNamespace(before_set={"a"}, after_set=several, is_write=bool(changes))
        aliased = changes or (names[:1] if is_view else [])
        arguments = [
            SimpleNamespace(name=name, kwarg_only=False, alias_info=own if name in aliased else None) for name in names
        ]
        back = SimpleNamespace(before_set=set() if base in _LISTS_OF_VIEWS else {"a"}) if aliased else None
        returns = [SimpleNamespace(alias_info=back)]
        self._schema = SimpleNamespace(name=f"{space}::{base}", arguments=arguments, returns=returns)

    def __str__(self) -> str:
        return self.text


class HigherOrderOperator(_Operator):
    """An operator that runs subgraphs; the reader of torch.fx recognizes it by the name of this class."""


class _Node:
    """A node with those attributes of a torch.fx node that the reader uses."""

    def __init__(self, name: str, op: str, target: Any, args: Sequence[Any], value: Any) -> None:
        """Store the attributes, and collect the nodes among the arguments, also inside lists, as `all_input_nodes`."""
        self.name, self.op, self.target, self.args, self.meta = name, op, target, tuple(args), {"val": value}
        self.kwargs: dict[str, Any] = {}
        flat = (one for arg in args for one in (arg if isinstance(arg, list) else [arg]))
        self.all_input_nodes = list(dict.fromkeys(one for one in flat if isinstance(one, _Node)))


def getitem() -> None:
    """Stand for indexing a list of outputs; the reader of torch.fx recognizes this function's name."""


class _Graph:
    """Builds torch.fx-like nodes from the JSON of a graph."""

    def __init__(self, graph: Mapping[str, Any], dims: Mapping[str, int]) -> None:
        """Add the nodes of a graph; sizes use the symbol values in `dims`. Raises FormatError for malformed graphs."""
        self.values, self.dims = _object_field(graph, "tensor_values"), dims
        _require_dims(self.values, dims)
        self.nodes: list[_Node] = []
        self.of: dict[str, _Node] = {}
        for row in _list_at(graph, "inputs"):
            for name in _value_names(row):
                self._add_node(name, _Node(name, "placeholder", None, (), self._tensor_of(name)))
        for k, row in enumerate(_list_at(graph, "nodes")):
            self._add_call(row, f"nodes[{k}]")
        outputs = [self._find_node(name, "outputs") for row in _list_at(graph, "outputs") for name in _value_names(row)]
        self.nodes.append(_Node("output", "output", None, outputs, None))

    def _add_call(self, row: Any, path: str) -> None:
        """Add the node of an operation and, if it has several outputs, one node for each output. Raises FormatError."""
        target = str(row.get("target") if isinstance(row, dict) else "").removeprefix("torch.ops.")
        inputs = _list_at(row, "inputs")
        arguments = [self._argument(one, path) for one in inputs]
        outputs = [name for one in _list_at(row, "outputs") for name in _value_names(one)]
        kind = HigherOrderOperator if target.startswith("higher_order") else _Operator
        what = kind(target, [str(one.get("name")) for one in inputs])
        values = [self._tensor_of(name) for name in outputs]
        if len(outputs) == 1:
            self._add_node(outputs[0], _Node(outputs[0], "call_function", what, arguments, values[0]))
            return
        whole = _Node(f"{path} {target}", "call_function", what, arguments, values)
        self.nodes.append(whole)
        for k, (name, value) in enumerate(zip(outputs, values, strict=True)):
            self._add_node(name, _Node(name, "call_function", getitem, (whole, k), value))

    def _add_node(self, name: str, node: _Node) -> None:
        """Append a node that computes the value `name`. Raises FormatError if another node computed that value."""
        if name in self.of:
            raise FormatError(f"nodes: must compute each value only once, got {excerpt(name)} again")
        self.of[name] = node
        self.nodes.append(node)

    def _find_node(self, name: str, path: str) -> _Node:
        """Return the node that computes the value `name`. Raises FormatError if no earlier node does."""
        if name not in self.of:
            raise FormatError(f"{path}: must read only values computed earlier, got {excerpt(name)}")
        return self.of[name]

    def _tensor_of(self, name: str) -> _Tensor | None:
        """Return the metadata of a value; None if the value is not a tensor."""
        row = self.values.get(name)
        return _Tensor(row, self.dims, f"tensor_values.{excerpt(name)}") if isinstance(row, dict) else None

    def _argument(self, row: Any, path: str) -> Any:
        """Return an argument as a node, a list of nodes or a plain value; None for kinds that the reader ignores."""
        arg = _object_field(row, "arg")
        kind, value = next(iter(arg.items()), ("", None))
        if "tensor" in kind or "sym_" in kind:
            values = [
                self._find_node(name, path) for name in _value_names(arg) if name in self.values or "tensor" in kind
            ]
            return values if kind.endswith("s") else next(iter(values), None)
        plain = ("as_int", "as_ints", "as_float", "as_floats", "as_bool", "as_bools", "as_string")
        return tuple(value) if kind in plain and isinstance(value, list) else value if kind in plain else None


def _value_names(row: Any) -> Iterator[str]:
    """Yield the names of the values in an argument, also those inside lists."""
    if isinstance(row, list):
        for one in row:
            yield from _value_names(one)
    elif isinstance(row, dict):
        for key, value in row.items():
            if key in ("name", "as_name") and isinstance(value, str):
                yield value
            elif key.startswith(("as_tensor", "as_optional", "as_nested", "as_sym", "as_custom", "as_token")):
                yield from _value_names(value)


def _size_names(values: Mapping[str, Any]) -> set[str]:
    return {name for row in values.values() for dim in _list_at(row, "sizes") for name in symbols_in_size(dim)}


def _require_dims(values: Mapping[str, Any], dims: Mapping[str, int]) -> None:
    """Raise OpenSizesError for dimensions without sizes, or OptionError for dimensions that the program lacks."""
    names_of_dims = _size_names(values)
    if unknown := [name for name in dims if name not in names_of_dims]:
        names = ", ".join(sorted(names_of_dims)[:MAX_SHOWN]) or "none"
        raise OptionError.from_rule(
            "dims", f"must be a dimension that the program names ({names}), got {excerpt(unknown[0])}"
        )
    if missing := sorted(names_of_dims.difference(dims))[:MAX_SHOWN]:
        got = ", ".join(f"dimension {excerpt(name)}" for name in missing)
        raise OpenSizesError(f"inputs: must have known sizes, got none for {got}", dict.fromkeys(missing, 1))


def _object_field(row: Any, name: str) -> Mapping[str, Any]:
    """Return the field `name` of a JSON object. Raises FormatError unless the field is an object itself."""
    value = row.get(name) if isinstance(row, dict) else None
    if not isinstance(value, dict):
        raise FormatError(f"{name}: must be an object, got {excerpt(value)}")
    return value


def _list_at(row: Any, name: str) -> list[Any]:
    """Return the field `name` of a JSON object. Raises FormatError unless the field is a list."""
    value = row.get(name) if isinstance(row, dict) else None
    if not isinstance(value, list):
        raise FormatError(f"{name}: must be a list, got {excerpt(value)}")
    return value
