"""The C source of a cascade: its arena, the views of buffers in the arena, and a loop for each region."""

from collections.abc import Iterable, Sequence

from memplan.extensions.cascade.answer import CascadePoint
from memplan.extensions.cascade.regions.regions import (
    CascadeRegion,
    Line,
    Span,
    Stripes,
    accumulator_bytes,
    is_accumulated,
    line_through,
    region_buffer_name,
    sums_name,
    whole_name,
)
from memplan.planner import __version__
from memplan.planner.foreign.c_names import add_include_guard, comment_text

# The widest loads of common processors need 16-byte alignment, so align arenas to at least 16 bytes.
LEAST_ALIGNMENT = 16
_ALL_CHANNELS = "0, INT32_MAX"


class StripedLoops:
    """The writer of the C loops of a point; `called` lists (operation, purpose) of each C function that the loops call.

    Functions have the operation numbers of the original graph, so an operation that runs twice calls the same function.
    """

    def __init__(self, point: CascadePoint, alignment: int, prefix: str) -> None:
        """Write the C functions of a point's regions; `prefix` begins the names of all C functions."""
        self.point, self.alignment, self.prefix = point, alignment, prefix
        self.cascade, self.graph = point.cascade, point.cascade.graph
        self.called: dict[tuple[int, str], None] = {}
        self.streams: dict[str, str] = {}
        self._views: dict[str, str] = {}
        self._body = [self._region_function(number, region) for number, region in enumerate(self.cascade.regions)]

    def header(self) -> str:
        """Return the text of the C header: the arena's size, its inputs and outputs, and function declarations."""
        name = self.prefix
        held = {tensor for region in self.cascade.regions for tensor in region.pieces}
        inputs = [t for t in self.graph.inputs if t not in held]
        outputs = [t for t in self.graph.kept if t not in self.cascade.streamed]
        places = [*self._arena_macros("INPUT", inputs), *self._arena_macros("OUTPUT", outputs)]
        calls = [self._kernel_declaration(v, what) for v, what in self.called]
        body = [
            f"#define {name.upper()}_ARENA_SIZE {max(1, self.point.peak)}u\n",
            f"extern unsigned char {name}_arena[{name.upper()}_ARENA_SIZE];\n\n",
            "/* Rows of pixels with all channels (NHWC), in the arena. */\n",
            *places,
            "\n/* Runs all operations. */\n",
            f"void {name}_run(void);\n\n",
            "/* Called by it, for each part that is made. The last of `out` is memory to work in, if\n"
            "   that is asked for. Sums are begun, added to for each part of the input, and ended. */\n",
            *calls,
            *self.streams.values(),
        ]
        return _origin_comment() + add_include_guard("".join(body), name).replace(
            f"#define {name.upper()}_H\n", f'#define {name.upper()}_H\n\n#include "memplan_cascade.h"\n', 1
        )

    def source(self) -> str:
        """Return the text of the C source: the arena, the views of buffers, and a C function for each region."""
        aligned = max(LEAST_ALIGNMENT, self.alignment)
        runs = "".join(f"  region_{number}();\n" for number in range(len(self._body)))
        return "".join(
            [
                _origin_comment(),
                f'#include "{self.prefix}.h"\n\n',
                f"_Alignas({aligned}) unsigned char {self.prefix}_arena[{self.prefix.upper()}_ARENA_SIZE];\n\n",
                *self._views.values(),
                *(f"\n{text}" for text in self._body),
                f"\nvoid {self.prefix}_run(void) {{\n{runs}}}\n",
            ]
        )

    def _arena_macros(self, what: str, tensors: Iterable[int]) -> Iterable[str]:
        for k, tensor in enumerate(tensors):
            row = self.graph.tensors[tensor]
            macro = f"{self.prefix.upper()}_{what}_{k}"
            yield f"/* {comment_text(row.name)}: {row.rows} x {row.columns} pixels of {row.pixel} bytes */\n"
            yield f"#define {macro} ({self.prefix}_arena + {self.point.offsets[whole_name(tensor)]}u)\n"
            yield f"#define {macro}_SIZE {row.bytes}u\n"

    def _kernel_declaration(self, v: int, what: str) -> str:
        row = next(self.graph.operations[k] for k in range(len(self.graph.operations)) if self.graph.origin(k) == v)
        text = (
            f"/* {comment_text(' '.join(filter(None, (row.kind, row.name))) or 'operation')} */\n"
            if what != "add"
            else ""
        )
        return f"{text}{kernel_declaration(self.prefix, v, what)};\n"

    def _call_statement(self, v: int, what: str, arguments: str) -> str:
        self.called[self.graph.origin(v), what] = None
        return f"{kernel_name(self.prefix, self.graph.origin(v), what)}({arguments});\n"

    def _region_function(self, number: int, region: CascadeRegion) -> str:
        height, width = region.stride or (0, 0)
        kind = "whole" if region.kind == "whole" else f"{region.kind}, {height} x {width}"
        kind = f"{height} channels a step" if region.kind == "channels" else kind
        text = f"/* Operations {region.first_operation} to {region.end - 1}: {kind} */\n"
        written = {"whole": self._whole_call, "channels": self._channel_loop}.get(region.kind, self._region_loops)
        body = written(number, region)
        return f"{text}static void region_{number}(void) {{\n{body}}}\n"

    def _whole_call(self, number: int, region: CascadeRegion) -> str:
        """Return C statements that run the only operation of a region as a whole, and store its streamed outputs."""
        v = region.first_operation
        row = self.graph.operations[v]
        outs = self._outputs(v, [self._view_of(number, region, t) for t in row.outputs], region.alternative)
        made = self.graph.tensors[row.outputs[0]].sizes if row.outputs else (1, 1)
        part = _whole_part(made, _ALL_CHANNELS)
        text = "  " + self._call_statement(v, "make", f"{outs}, {self._input_views(number, region, v)}, {part}")
        for tensor in row.outputs:
            if tensor in self.cascade.streamed:
                text += f"  {self._stream_call('output', tensor)}(&{self._view_of(number, region, tensor)}, {part});\n"
        return text

    def _outputs(self, v: int, outs: Sequence[str], way: int = 0) -> str:
        work = self.graph.cost_of_alternative(v, way)[1]
        return _view_array(
            [*outs, *([self._define_view(f"work_{v}", f"work_{v}", (1, 1, work), (1, 1))] if work else [])]
        )

    def _region_loops(self, number: int, region: CascadeRegion) -> str:
        """Return the C loops over the steps of a region, which call its operations in order."""
        last = region.end - 1
        is_sum, before, after, sums = self.graph.operations[last].role == "sum", "", "", ""
        if is_sum:
            before, sums, after = self._accumulator_code(number, region)
        steps = "".join(
            self._guarded_call(number, f"t{tensor}", piece, self._load_call(number, region, tensor))
            for tensor, piece in region.pieces.items()
        )
        for v in range(region.first_operation, region.end):
            tensor = self.graph.operations[v].outputs[0]
            reads = self._input_views(number, region, v)
            if is_sum and v == last:
                call = self._call_statement(v, "add", f"{sums}, {reads}, part")
            else:
                view = self._view_of(number, region, tensor)
                call = self._call_statement(v, "make", f"{self._outputs(v, [view])}, {reads}, part")
                if tensor in self.cascade.streamed:
                    call += f"        {self._stream_call('output', tensor)}(&{view}, part);\n"
            steps += self._guarded_call(number, f"op{v}", region.ranges[v], call)
        rows, columns = region.steps
        loops = f"  for (int32_t y = 0; y < {rows}; ++y)\n    for (int32_t x = 0; x < {columns}; ++x) {{\n"
        return f"{before}{loops}{steps}    }}\n{after}"

    def _accumulator_code(self, number: int, region: CascadeRegion) -> tuple[str, str, str]:
        """Return three C texts for a region's accumulators: code to clear them, their address, code to convert them."""
        last = region.end - 1
        sink = self.graph.operations[last].outputs[0]
        # If the plan has no separate buffer for the accumulators, they share the buffer of the output.
        buffer = sums_name(number, sink) if accumulator_bytes(self.graph, region) else whole_name(sink)
        sums = f"{self.prefix}_arena + {self.point.offsets[buffer]}u"
        view, reads = self._view_of(number, region, sink), self._input_views(number, region, last)
        after = "  " + self._call_statement(last, "end", f"{_view_array([view])}, {reads}, {sums}")
        if sink in self.cascade.streamed:
            part = _whole_part(self.graph.tensors[sink].sizes, _ALL_CHANNELS)
            after += f"  {self._stream_call('output', sink)}(&{view}, {part});\n"
        return "  " + self._call_statement(last, "begin", sums), sums, after

    def _channel_loop(self, number: int, region: CascadeRegion) -> str:
        """Return the C loop over a region's channels; views of sliced tensors begin at the step's first channel."""
        tensors, last, before, after, sums = self.graph.tensors, region.end - 1, "", "", ""
        is_summed = is_accumulated(self.graph, region)
        if is_summed:
            before, sums, after = self._accumulator_code(number, region)
        first, end = self._bound_expressions(f"r{number}_channels", region.ranges[last].channels, "k")
        steps = f"    const int32_t first = {first}, end = {end};\n"
        parts = [tensor for tensor, hold in region.buffer_by_tensor.items() if hold.mode != "whole"]
        for tensor in parts:
            each = tensors[tensor].pixel // tensors[tensor].channels
            view = self._view_of(number, region, tensor)
            steps += f"    const memplan_view {view}_k = memplan_from_byte({view}, {each} * first);\n"

        def view_of(tensor: int) -> str:
            return self._view_of(number, region, tensor) + ("_k" if tensor in parts else "")

        for v in range(region.first_operation, region.end):
            row = self.graph.operations[v]
            tensor, reads = row.outputs[0], _view_array([view_of(read.tensor) for read in row.reads])
            part = _whole_part(tensors[tensor].sizes, "first, end")
            if is_summed and v == last:
                steps += "    " + self._call_statement(v, "add", f"{sums}, {reads}, {part}")
                continue
            steps += "    " + self._call_statement(v, "make", f"{self._outputs(v, [view_of(tensor)])}, {reads}, {part}")
            if tensor in self.cascade.streamed:
                steps += f"    {self._stream_call('output', tensor)}(&{view_of(tensor)}, {part});\n"
        return f"{before}  for (int32_t k = 0; k < {region.n_steps}; ++k) {{\n{steps}  }}\n{after}"

    def _load_call(self, number: int, region: CascadeRegion, tensor: int) -> str:
        return f"{self._stream_call('input', tensor)}(&{self._view_of(number, region, tensor)}, part);\n"

    def _guarded_call(self, number: int, name: str, made: Stripes, call: str) -> str:
        rows = ", ".join(self._bound_expressions(f"r{number}_{name}_rows", made.rows, "y"))
        columns = ", ".join(self._bound_expressions(f"r{number}_{name}_columns", made.columns, "x"))
        return (
            f"      {{\n        const memplan_part part = {{{rows}, {columns}, {_ALL_CHANNELS}}};\n"
            f"        if (memplan_is_some(part)) {{\n          {call}        }}\n      }}\n"
        )

    def _bound_expressions(self, name: str, spans: Sequence[Span], step: str) -> tuple[str, str]:
        if len(spans) == 1:
            return str(spans[0][0]), str(spans[0][1])
        lines = lines_of(spans)
        if lines is not None:
            return _line_expression(lines[0], step), _line_expression(lines[1], step)
        numbers = ", ".join(f"{{{a}, {b}}}" for a, b in spans)
        self._views[name] = f"static const int32_t {name}[][2] = {{{numbers}}};\n"
        return f"{name}[{step}][0]", f"{name}[{step}][1]"

    def _stream_call(self, what: str, tensor: int) -> str:
        name = f"{self.prefix}_{what}_{self.graph.tensor_origin(tensor)}"
        word = "Bring this part of an input" if what == "input" else "Take this part of an output"
        text = comment_text(self.graph.tensors[tensor].name)
        self.streams[name] = f"/* {word}: {text} */\nvoid {name}(const memplan_view *view, memplan_part part);\n"
        return name

    def _input_views(self, number: int, region: CascadeRegion, v: int) -> str:
        return _view_array([self._view_of(number, region, read.tensor) for read in self.graph.operations[v].reads])

    def _view_of(self, number: int, region: CascadeRegion, tensor: int) -> str:
        """Return the name of the C view through which a region accesses a tensor."""
        row, hold = self.graph.tensors[tensor], region.buffer_by_tensor.get(tensor)
        size = (*row.sizes, row.pixel if hold is None or hold.pixel is None else hold.pixel)
        # The rows of some tensors are unknown, so treat the whole tensor as one long pixel.
        if row.bytes_ is not None:
            size = (1, 1, row.bytes)
        if hold is None or hold.mode == "whole":
            return self._define_view(whole_name(tensor), f"t{tensor}", size, size[:2])
        return self._define_view(
            region_buffer_name(number, tensor), f"t{tensor}_r{number}", size, (max(1, hold.rows), max(1, hold.columns))
        )

    def _define_view(self, buffer: str, name: str, size: tuple[int, int, int], kept: Span) -> str:
        place = f"{self.prefix}_arena + {self.point.offsets[buffer]}u"
        numbers = ", ".join(map(str, (*size, *kept, 0)))
        self._views[name] = f"static const memplan_view {name} = {{{place}, {numbers}}};\n"
        return name


def kernel_name(prefix: str, v: int, what: str) -> str:
    """Return the name of operation v's C function for a purpose: make a part, or begin, add to or end sums."""
    return f"{prefix}_op_{v}" if what == "make" else f"{prefix}_op_{v}_{what}"


def kernel_declaration(prefix: str, v: int, what: str) -> str:
    """Return the C declaration of operation v's function for the purpose `what`: make, begin, add or end."""
    arguments = {
        "make": "const memplan_view *const out[], const memplan_view *const in[], memplan_part part",
        "begin": "unsigned char *sums",
        "add": "unsigned char *sums, const memplan_view *const in[], memplan_part part",
        "end": "const memplan_view *const out[], const memplan_view *const in[], const unsigned char *sums",
    }[what]
    return f"void {kernel_name(prefix, v, what)}({arguments})"


def _whole_part(sizes: Span, channels: str) -> str:
    return f"(memplan_part){{0, {sizes[0]}, 0, {sizes[1]}, {channels}}}"


def _origin_comment() -> str:
    return f"/* Written by memplan {__version__}: a cascade. */\n"


def _view_array(views: Sequence[str]) -> str:
    names = ", ".join(f"&{view}" for view in views) or "NULL"
    return f"(const memplan_view *const[]){{{names}}}"


def _line_expression(line: Line, step: str) -> str:
    if line.slope == 0:
        return str(line.value_at(0))
    sign = "-" if line.offset < 0 else "+"
    return f"memplan_clamp({line.slope} * {step} {sign} {abs(line.offset)}, 0, {line.top})"


def lines_of(spans: Sequence[Span]) -> tuple[Line, Line] | None:
    """Return two lines (linear functions of the step number) for the starts and ends of ranges; None if inexact.

    At a step with an empty range, the two lines give an empty range as well.
    """
    some = {step: span for step, span in enumerate(spans) if span[0] < span[1]}
    if not some:
        return Line(0, 0, 0), Line(0, 0, 0)
    top = max(end for _, end in some.values())
    first, end = (line_through({step: span[k] for step, span in some.items()}, top) for k in (0, 1))
    if first is None or end is None:
        return None
    is_exact = all(y in some or first.value_at(y) >= end.value_at(y) for y in range(len(spans)))
    return (first, end) if is_exact else None
