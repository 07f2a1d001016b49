"""Conversion of questions to Python functions.

The functions check arguments, read files, collect options and stop at Ctrl-C. An option is passed as a keyword or as a
field of the argument `options`. An input such as a problem may also be the path of a file or a JSON object.
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
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from memplan.planner.errors import OptionError, excerpt
from memplan.planner.errors.did_you_mean import byte_count_hint, did_you_mean, object_way, unknown_option

F = TypeVar("F", bound=Callable[..., Any])
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NUMBERS: dict[Any, type] = {int: Integral, float: Real}
_PLAIN: dict[type, str] = {Real: "number", Integral: "integer", str: "string", PathLike: "path", Mapping: "dict"}
_OPTIONS, _CONTROL = _UNSAID = ("options", "control")
_READ = {"Problem": "read_problem(path)", "Plan": "read_plan(path, problem)", "OperationGraph": "read_graph(path)"}
"""For each class of input, the call that reads it from a file; error messages suggest this call."""
_TAKERS = {"Problem": "plan(problem)", "OperationGraph": "order(graph)", "Plan": "verify(problem, plan)"}
"""For each class of input, a call that accepts it; error messages suggest this call if another function got it."""
_END_S = 3.0
"""The seconds that Ctrl-C waits for a cancelled call to end before it raises KeyboardInterrupt."""
_WARNED = "never-alive"
"""The rule whose findings also become Python warnings: Python code easily forgets the lifetimes of a buffer."""


def check_arguments(function: F, question: Any = None) -> F:
    """Return a wrapper of a question's function that raises OptionError for an argument of the wrong type.

    The wrapper also collects options passed as keywords, and reads inputs given as paths or JSON objects. If the
    `question` is given, the wrapper checks the inputs and the answer by its rules.
    """
    signature = inspect.signature(function)
    default = signature.parameters[_OPTIONS].default if _OPTIONS in signature.parameters else None
    model = type(default) if hasattr(default, "model_fields_set") else None  # A function with `**options` has no model.
    fields: Mapping[str, Any] = getattr(model, "model_fields", {})

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        """Check the arguments, read inputs given as paths, and return the (verified) answer of the function."""
        if callable(named.get("solver")):
            way = "write MODULE:FUNCTION, since a solver runs in a separate process"
            raise OptionError(f"solver: must be the name of a solver, got {excerpt(named['solver'])}: {way}")
        named = _collect_options(signature, model, named)
        try:
            bound = signature.bind(*given, **named)
        except TypeError as error:
            wrong = next((name for name in named if name not in signature.parameters), "")
            hint = _argument_hint(wrong, signature, fields) if wrong else f": {_example_call(function)}"
            raise OptionError(f"{function.__name__}: {error}{hint}") from None
        wrong_ones = _mismatched_parameters(function, bound.arguments)
        if any(isinstance(bound.arguments[name], str | PathLike | Mapping) for name in wrong_ones):
            bound.arguments |= _read_inputs(function.__name__, bound.arguments, wrong_ones)
            wrong_ones = _mismatched_parameters(function, bound.arguments)
        for name, classes in wrong_ones.items():
            raise OptionError(f"{name}: {_argument_error_text(function, name, bound.arguments[name], classes)}")
        if _CONTROL in signature.parameters:
            from memplan.solvers.search.control import Control

            bound.arguments[_CONTROL] = replace(bound.arguments.get(_CONTROL) or Control(), is_local=True)
        control = bound.arguments.get(_CONTROL)
        if (options := bound.arguments.get(_OPTIONS)) is not None and hasattr(options, "refuse_idle"):
            options.refuse_idle({name for name, value in bound.arguments.items() if value is not None})
        if question is not None:
            question.refuse_values(bound.arguments)
        work = functools.partial(function, *bound.args, **bound.kwargs)
        answer = work() if control is None else _run_interruptibly(work, control.cancelled)
        for finding in getattr(answer, "__dict__", {}).get("findings", ()):
            if finding.rule == _WARNED:
                warnings.warn(finding.message, stacklevel=2)
        if question is None:
            return answer
        bound.apply_defaults()
        return question.require_valid(bound.arguments, bound.arguments[_OPTIONS], answer)

    call.__signature__ = _public_signature(signature, fields)  # type: ignore[attr-defined]
    if fields:
        options = "\n".join(f"    {name}: {about.description}" for name, about in fields.items())
        call.__doc__ = f"{inspect.getdoc(function)}\n\nOptions, by name or as a value of `options`:\n{options}"
    return call  # type: ignore[return-value]  # the wrapper accepts the function's arguments


def _run_interruptibly(work: Callable[[], Any], cancelled: threading.Event) -> Any:
    """Run a function and return its result. Ctrl-C cancels the run, then raises KeyboardInterrupt.

    Python handles signals only in its main thread, and not during a compiled search. The function therefore runs in a
    second thread, unless the caller is not in the main thread or has installed its own handler of SIGINT.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return work()
    from memplan.solvers.processes.apart import run_in_thread

    has_ended = threading.Event()

    def run_to_end() -> Any:
        try:
            return work()
        finally:
            has_ended.set()

    try:
        return run_in_thread(run_to_end)
    except KeyboardInterrupt:
        cancelled.set()
        has_ended.wait(_END_S)
        raise


def _collect_options(signature: inspect.Signature, model: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments, with all options merged into one validated model; raises OptionError."""
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
    from memplan.questions.reading import validate_options

    return options | {_OPTIONS: validate_options(model, fields | more)}


def _read_inputs(name: str, arguments: Mapping[str, Any], wrong: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question's inputs by name, after reading those given as paths or JSON objects; raises InputError."""
    from memplan.files import prefix_file_name, read_source
    from memplan.questions import QUESTIONS
    from memplan.questions.inputs.values import read_inputs

    def read(each: Any, value: Any, values: Mapping[str, Any], reader: Any) -> Any:
        if each.name in wrong and isinstance(value, Mapping):
            return each.from_json(value)
        if each.name not in wrong or not isinstance(value, str | PathLike) or each.from_file is None:
            return value
        data, path = read_source(value)
        with prefix_file_name(path):
            return each.from_file(reader, data, path or "", values)

    question = QUESTIONS.get(name)
    return {} if question is None else dict(read_inputs(question.inputs, arguments, read))


def _public_signature(signature: inspect.Signature, fields: Mapping[str, Any]) -> inspect.Signature:
    """Return the signature that `help()` shows: each option is a keyword, and internal parameters default to None."""
    rows = [
        each.replace(default=None, annotation=f"{getattr(each.annotation, '__name__', each.annotation)} | None")
        if each.name in _UNSAID and each.kind not in _MANY
        else each
        for each in signature.parameters.values()
    ]
    rows += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=about.get_default(call_default_factory=True))
        for name, about in fields.items()
        if name not in signature.parameters
    ]
    return signature.replace(parameters=sorted(rows, key=lambda each: each.kind))


@functools.cache
def _allowed_classes(function: Callable[..., Any]) -> Mapping[str, tuple[type, ...]]:
    """Return the classes allowed for each parameter; `object` (any value) if its annotation is not a set of classes."""
    # A return type may not be imported yet, so resolve only the annotations of parameters.
    named = {each.name for each in inspect.signature(function).parameters.values() if each.kind not in _MANY}
    kinds = {name: kind for name, kind in function.__annotations__.items() if name in named}
    alike = types.SimpleNamespace(__annotations__=kinds)
    classes = dict[str, tuple[type, ...]]()
    for name, kind in get_type_hints(alike, function.__globals__).items():
        members = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
        origins = tuple(_NUMBERS.get(member, get_origin(member) or member) for member in members)
        classes[name] = origins if all(isinstance(each, type) and each is not Any for each in origins) else (object,)
    return classes


def _mismatched_parameters(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, tuple[type, ...]]:
    return {
        name: classes
        for name, classes in _allowed_classes(function).items()
        if name in arguments and not isinstance(arguments[name], classes)
    }


def _argument_error_text(function: Callable[..., Any], name: str, value: object, classes: tuple[type, ...]) -> str:
    """Return the text of an argument error after the name: the rule, the value received and a remedy."""
    names = [_PLAIN.get(kind, kind.__name__) for kind in classes if kind is not type(None)]
    rule = f"must be {' or '.join(each if each == 'bytes' else _article_phrase(each) for each in names)}"
    if isinstance(value, (str, int, float, list, dict, tuple, type(None))):
        text = value.removesuffix("s").removesuffix("ec") if isinstance(value, str) else value
        got = f"{excerpt(value)}{byte_count_hint(text)}"
    else:
        got = _article_phrase(type(value).__name__)
    every = {kind for kinds in _allowed_classes(function).values() for kind in kinds}
    if isinstance(value, str | PathLike) and names[0] in _READ:
        way = f": read it by memplan.{_READ[names[0]]}"
    elif name == _CONTROL:
        way = ": write control=Control(report=FUNCTION)"
    elif type(value) in _allowed_classes(function).get(_OPTIONS, ()):
        way = f" (did you mean {_OPTIONS}={type(value).__name__}(...)?)"
    elif isinstance(value, list | tuple) and names[0] == "Problem":
        way = ": write memplan.Problem(buffers=[...])"
    elif name == "sizes":
        way = f": {object_way(name)}"
    elif type(value).__name__ in _TAKERS and type(value) not in every:
        way = f", which {_TAKERS[type(value).__name__]} takes"
    else:
        way = f": {_example_call(function)}"
    return f"{rule}, got {got}{way}"


def _article_phrase(name: str) -> str:
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _argument_hint(name: str, signature: inspect.Signature, fields: Mapping[str, Any]) -> str:
    from memplan.planner.model.problem import Problem

    if "problem" in signature.parameters and name in (*Problem.model_fields, "capacity"):
        way = "problem.with_capacity(...)" if name == "capacity" else f"Problem(..., {name}=...)"
        return f", which belongs to the problem: {way}"
    hint = did_you_mean(name, [*signature.parameters, *fields], None, 0.75)
    return hint or (unknown_option(name, fields).removeprefix("is not a known field") if fields else "")


def _example_call(function: Callable[..., Any]) -> str:
    parameters = inspect.signature(function).parameters.values()
    needed = [each.name for each in parameters if each.default is each.empty and each.kind not in _MANY]
    return f"{function.__name__}({', '.join(needed)})"
