"""Functions that check their arguments by annotations; an argument of a wrong type is an InputError.

Options are given by name, or as `options`; what a question is about, also as the path of a file or as JSON's objects.
"""

from __future__ import annotations

import functools
import inspect
import signal
import threading
import types
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from memplan.planner.errors import OptionError, shown
from memplan.planner.errors.did_you_mean import KNOWN_FIELDS, did_you_mean, meant_number, unknown_option

F = TypeVar("F", bound=Callable[..., Any])
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NUMBERS: dict[Any, type] = {int: Integral, float: Real}
_OPTIONS, _CONTROL = _UNSAID = ("options", "control")
_NAMED = 2
"""The arguments that the example of a call passes by name."""
_READ = {"Problem": "read_problem(path)", "Plan": "read_plan(path, problem)", "OperationGraph": "read_graph(path)"}
"""The readers for arguments that may be given as a path."""
_TAKERS = {"Problem": "plan(problem)", "OperationGraph": "order(graph)", "Plan": "verify(problem, plan)"}
"""The functions for values that are given to another one."""
_INPUT = "A value, the path of its file, or objects of JSON as a dict."
_ARGUMENTS = {
    _OPTIONS: "All options in one value; those given by name count before its fields.",
    _CONTROL: "Ends the call early, bounds its time, and hears of its progress.",
}
"""The documentation of questions' arguments that are not options."""
_END_S = 3.0
"""The time that a cancelled call has for ending."""
_WARNED = "never-alive"
"""The rule whose findings are warnings in Python, where fields are easily forgotten."""


def checked(function: F, verified: Callable[[dict[str, Any], Any, Any], Any] | None = None) -> F:
    """Return a function that raises OptionError for arguments whose types differ from their annotations.

    The answer to a question is checked against its inputs and options with `verified`.
    """
    signature = inspect.signature(function)
    default = signature.parameters[_OPTIONS].default if _OPTIONS in signature.parameters else None
    model = type(default) if hasattr(default, "model_fields_set") else None  # some functions take `**options`
    fields: Mapping[str, Any] = getattr(model, "model_fields", {})
    kinds: dict[str, tuple[type, ...]] = {}

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        if not kinds:
            hints = _hints_of_parameters(function)
            named_ones = (each.name for each in signature.parameters.values() if each.kind not in _MANY)
            kinds.update((name, _classes(hints[name])) for name in named_ones if name in hints)
        if callable(named.get("solver")):
            way = "write MODULE:FUNCTION, as it runs in a process of its own"
            raise OptionError(f"solver: must be the name of one, got {shown(named['solver'])}: {way}")
        named = _with_options(signature, model, named)
        try:
            bound = signature.bind(*given, **named)
        except TypeError as error:
            wrong = next((name for name in named if name not in signature.parameters), "")
            hint = _of_problem(wrong, signature) or did_you_mean(wrong, [*signature.parameters, *fields], None, 0.75)
            if not hint and wrong and fields:
                hint = unknown_option(wrong, fields).removeprefix("is not a known field")
            hint = hint or f": {_call(function, is_full=not wrong)}"
            raise OptionError(f"{function.__name__}: {error}{hint}") from None
        wrong_ones = {
            name: value
            for name, value in bound.arguments.items()
            if kinds.get(name) and not isinstance(value, kinds[name])
        }
        if any(isinstance(value, str | PathLike | Mapping) for value in wrong_ones.values()):
            bound.arguments |= _read(function.__name__, bound.arguments, wrong_ones)
        for name, value in bound.arguments.items():
            if kinds.get(name) and not isinstance(value, kinds[name]):
                raise OptionError(
                    f"{name}: {_rule(kinds[name])}, got {_got(value)}{_way(function, name, value, kinds)}"
                )
        if _CONTROL in signature.parameters:
            bound.arguments[_CONTROL] = _of_this_process(bound.arguments.get(_CONTROL))
        control = bound.arguments.get(_CONTROL)
        work = functools.partial(function, *bound.args, **bound.kwargs)
        answer = work() if control is None else _interruptible(work, control.cancelled)
        for finding in getattr(answer, "__dict__", {}).get("findings", ()):
            if finding.rule == _WARNED:
                warnings.warn(finding.message, stacklevel=2)
        if verified is None:
            return answer
        bound.apply_defaults()
        return verified(bound.arguments, bound.arguments[_OPTIONS], answer)

    call.__signature__ = _shown_signature(signature, fields)  # type: ignore[attr-defined]
    if fields and model is not None:
        call.__doc__ = _sections(function, inspect.signature(call), fields)
    return call  # type: ignore[return-value]  # of the same signature


def _interruptible(work: Callable[[], Any], cancelled: threading.Event) -> Any:
    """Run the work; Ctrl-C cancels it, and raises KeyboardInterrupt as soon as it has ended.

    Python handles signals only in its main thread, and never inside a compiled search. So the work runs in another
    thread, unless the caller is in another one or has a signal handler of its own.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return work()
    # Imported here: importing memplan loads nothing else.
    from memplan.solvers.processes.apart import run_in_thread

    has_ended = threading.Event()

    def to_its_end() -> Any:
        try:
            return work()
        finally:
            has_ended.set()

    try:
        return run_in_thread(to_its_end)
    except KeyboardInterrupt:
        cancelled.set()
        has_ended.wait(_END_S)
        raise


def _of_problem(name: str, signature: inspect.Signature) -> str:
    """Return the sentence that an argument belongs in the problem; empty if it is an option."""
    if "problem" not in signature.parameters or name not in (*KNOWN_FIELDS[""], "capacity"):
        return ""
    way = "problem.with_capacity(...)" if name == "capacity" else f"Problem(..., {name}=...)"
    return f", which belongs to the problem: {way}"


def _of_this_process(control: Any) -> Any:
    """Return the control of a call whose caller runs this process and may therefore name their own code."""
    # Imported here: importing memplan loads nothing else.
    from memplan.solvers.search.control import Control

    return replace(control or Control(), is_local=True)


def _with_options(signature: inspect.Signature, model: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by name, options collected as the function takes them; raises OptionError."""
    options = {name: value for name, value in named.items() if value is not None or name not in _UNSAID}
    whole = options.get(_OPTIONS)
    if isinstance(whole, Mapping):
        fields = dict(options.pop(_OPTIONS))
    else:
        fields = {name: getattr(whole, name) for name in getattr(whole, "model_fields_set", ())}
    if model is None:
        return options if whole is None else fields | {name: options[name] for name in options if name != _OPTIONS}
    more = {
        name: options.pop(name) for name in named if name in model.model_fields and name not in signature.parameters
    }
    if not more and not isinstance(whole, Mapping):
        return options
    # Imported here: what is read here is known by then.
    from memplan.questions.reading import validated

    return options | {_OPTIONS: validated(model, fields | more)}


def _read(name: str, arguments: Mapping[str, Any], wrong: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a question as values, reading those given as paths or JSON objects; raises InputError."""
    # Imported here: most arguments are values.
    from memplan.files import contents, named
    from memplan.questions.capability.registry import CAPABILITIES
    from memplan.questions.inputs.question import read_inputs

    def read(each: Any, value: Any, question: Mapping[str, Any], reader: Any) -> Any:
        if each.name in wrong and isinstance(value, Mapping):
            return each.from_json(value)
        if each.name not in wrong or not isinstance(value, str | PathLike) or each.from_file is None:
            return value
        data, path = contents(value)
        with named(path):
            return each.from_file(reader, data, path or "", question)

    capability = CAPABILITIES.get(name)
    return {} if capability is None else dict(read_inputs(capability.inputs, arguments, read))


def _shown_signature(signature: inspect.Signature, fields: Mapping[str, Any]) -> inspect.Signature:
    """Return a signature for people: options by name with their defaults, without internal parameters."""
    rows = [
        each.replace(default=None, annotation=f"{getattr(each.annotation, '__name__', each.annotation)} | None")
        if each.name in _UNSAID
        else each
        for each in signature.parameters.values()
        if each.kind not in _MANY
    ]
    rows += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=about.get_default(call_default_factory=True))
        for name, about in fields.items()
        if name not in signature.parameters
    ]
    many = [each for each in signature.parameters.values() if each.kind in _MANY]
    return signature.replace(parameters=sorted([*rows, *many], key=lambda each: each.kind))


def _sections(function: Callable[..., Any], signature: inspect.Signature, fields: Mapping[str, Any]) -> str:
    """Return the docstring of a question with NumPy's sections: inputs and options, answer, errors."""
    rows = []
    for name, each in signature.parameters.items():
        about = fields.get(name) if each.kind is each.KEYWORD_ONLY else None
        kind = each.annotation if about is None else _kind_text(about.annotation)
        default = "" if each.default is each.empty else f", default {each.default!r}"
        text = _ARGUMENTS.get(name, _INPUT) if about is None else about.description
        rows.append(f"{name} : {kind}{default}\n    {text}")
    sections = {
        "Parameters": rows,
        "Returns": [f"{signature.return_annotation}\n    The answer, verified by code that did not make it."],
        "Raises": ["InputError\n    Where an argument breaks a rule: `sentences` name it, the rule and the value."],
    }
    written = (f"{title}\n{'-' * len(title)}\n" + "\n".join(entries) for title, entries in sections.items())
    return "\n\n".join([inspect.getdoc(function) or "", *written])


def _kind_text(kind: Any) -> str:
    """Return the type of an option as text, without its validators."""
    if get_origin(kind) is Annotated:
        return _kind_text(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_kind_text, get_args(kind))))
    if get_origin(kind) is Literal:
        return f"{{{', '.join(map(repr, get_args(kind)))}}}"
    if members := [_kind_text(each) for each in get_args(kind)]:
        return f"{get_origin(kind).__name__}[{', '.join(members)}]"
    return "..." if kind is Ellipsis else "None" if kind is type(None) else getattr(kind, "__name__", str(kind))


def _hints_of_parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of parameters only, as the type of the result may not be imported yet."""
    alike = types.FunctionType(function.__code__, function.__globals__)
    alike.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    return get_type_hints(alike)


def _classes(kind: Any) -> tuple[type, ...]:
    """Return the classes that an annotation allows; none if it says more than classes do."""
    members = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    classes = [_NUMBERS.get(member, get_origin(member) or member) for member in members]
    return tuple(classes) if all(isinstance(each, type) and each is not Any for each in classes) else ()


def _rule(kinds: tuple[type, ...]) -> str:
    plain: dict[type, str] = {Real: "number", Integral: "integer", str: "string", PathLike: "path", Mapping: "dict"}
    names = [plain.get(kind, kind.__name__) for kind in kinds if kind is not type(None)]
    articles = {name: "" if name == "bytes" else "an " if name[0] in "aeiouAEIOU" else "a " for name in names}
    return "must be " + " or ".join(f"{article}{name}" for name, article in articles.items())


def _got(value: object) -> str:
    if isinstance(value, (str, int, float, list, dict, tuple, type(None))):
        text = value.removesuffix("s").removesuffix("ec") if isinstance(value, str) else value
        return f"{shown(value)}{meant_number(text)}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _way(function: Callable[..., Any], name: str, value: object, kinds: Mapping[str, tuple[type, ...]]) -> str:
    """Return a suggestion of what to write instead of a wrong argument."""
    if way := _READ.get(kinds[name][0].__name__) if isinstance(value, str | PathLike) else None:
        return f": read it by memplan.{way}"
    if name == _CONTROL:
        return ": write control=Control(report=FUNCTION)"
    if type(value) in kinds.get(_OPTIONS, ()):
        return f" (did you mean {_OPTIONS}={type(value).__name__}(...)?)"
    if isinstance(value, list | tuple) and kinds[name][:1] and kinds[name][0].__name__ == "Problem":
        return ": write memplan.Problem(buffers=[...])"
    if name == "sizes":
        return ': write {"sram": [65536, 131072]}'
    taker = _TAKERS.get(type(value).__name__)
    is_swapped = any(type(value) in each for each in kinds.values())
    return f", which {taker} takes" if taker and not is_swapped else f": {_call(function)}"


def _call(function: Callable[..., Any], *, is_full: bool = False) -> str:
    """Return an example call of a function, with its required arguments and some by name."""
    parameters = inspect.signature(function).parameters.values()
    needed = [each.name for each in parameters if each.default is each.empty and each.kind not in _MANY]
    named = [f"{each.name}=..." for each in parameters if is_full and each.kind is each.KEYWORD_ONLY]
    return f"{function.__name__}({', '.join([*needed, *named[:_NAMED]])})"
