"""`memplan check FOLDER`: check all models of a folder; a budgets file has each model's limits and reading options."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memplan.api.checks.arenas import arena_lines, arena_rows
from memplan.api.checks.reports import REPORTS, report_of_many
from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import run_apart
from memplan.api.cli.flag_names import flag_text, flags_of
from memplan.api.cli.flags import flag_of, options_given
from memplan.api.cli.local.several_files import refuse_on
from memplan.api.cli.streams import (
    STANDARD,
    print_message,
    read_as,
    refuse_unwritable,
    say_written,
    suffix_of,
    wants_table,
    write_output,
)
from memplan.planner.errors import FormatError, OptionError, Sentence, add_way, excerpt
from memplan.planner.errors.did_you_mean import closest_word, did_you_mean
from memplan.planner.model.problem import Problem
from memplan.planner.model.sizes import UNLIMITED, named_size
from memplan.planner.systems import file_readers
from memplan.questions.check.budgets import Tolerance
from memplan.questions.check.check import QUESTION, Check, CheckOptions, check_lines, unreadable_model_check
from memplan.questions.reading import ReadOptions

_FILES = {flags_of(each.name)[0][2:]: each.name for each in QUESTION.inputs if each.named_by_flag}
_FLAGS = {
    name: flag_of(name, about) for name, about in {**CheckOptions.model_fields, **ReadOptions.model_fields}.items()
}
_KEYS = {flags_of(name)[0].partition("/")[0][2:]: name for name in _FLAGS if name not in ("subject", "with_plan")}
"""The option field for each key of a budgets file; a key is spelled like the flag, without dashes."""
Tables = Mapping[Path | None, Mapping[str, Any]]
"""Extra flag values for each model, by its resolved path; the entry None applies to every model."""


def is_folder(line: CommandLine) -> bool:
    """Return True if the command makes several checks: the input is a folder, or `--target` names more than one target.

    A target with kernels (`TARGET/KERNELS`) counts as several. Raises OptionError for `--on` with a single check.
    """
    path, has_table = line.given["problem"], {",", "/"} & {*(line.given["target"] or "")}
    if path != STANDARD and (Path(path).is_dir() or (has_table and Path(path).is_file())):
        return True
    refuse_on(line, "a folder")
    return False


def apply_budgets(line: CommandLine) -> CommandLine:
    """Return one model's command line with the flags that a given budgets file sets; raises InputError."""
    tables = _read_tables(line, of_all=False)
    return line if tables is None else _model_line(line, line.given["problem"], tables)


def _read_tables(line: CommandLine, *, of_all: bool) -> Tables | None:
    """Return the tables of the budgets file that the command line names; None without a budgets file."""
    path = line.given["budgets_file"]
    given = Path(line.given["problem"])
    return None if path is None else read_as(path, lambda data: _parse_tables(data, Path(path).parent, of_all, given))


def _parse_tables(data: bytes, folder: Path, of_all: bool, given: Path) -> Tables:
    """Parse a budgets file, which is TOML, and return its tables as flag values for each model.

    The paths of models are relative to `folder`, the folder of the budgets file; hints also look for a missing model in
    `given`, the folder that is checked. With `of_all`, all models are checked, so each named model must exist. A build
    that checks one model may lack the other files. Raises InputError with one sentence per fault.
    """
    try:
        content = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"must be TOML: {error}; write [model.tflite], and below it budget = '64KiB'") from None
    wrong: list[Sentence] = []
    tables: dict[Path | None, Mapping[str, Any]] = {None: {}}
    for key, table in content.items():
        is_default, where = key == "default", key if key == "default" else excerpt(key)
        if not isinstance(table, dict):
            wrong.append(f"{where}: must be in the table [default] or in that of a model, got {excerpt(table)}")
        elif not is_default and not (folder / key).is_file():
            if of_all:
                meant = given / key if folder == Path() else (given / key).resolve()
                inner = (f"{key}.{name}" for name in table if (folder / f"{key}.{name}").is_file())
                near = next(inner, None) or closest_word(key, [each.name for each in folder.iterdir()])
                near = str(meant) if meant.is_file() else near
                hint = f" (did you mean {excerpt(near)}?)" if near else ""
                wrong.append(f"{where}: must be the quoted path of an existing file in {folder}{hint}")
        else:
            tables[None if is_default else (folder / key).resolve()] = _table_flags(table, where, folder, wrong)
    if wrong:
        raise OptionError(*wrong)
    return tables


def _table_flags(table: Mapping[str, Any], where: str, folder: Path, wrong: list[Sentence]) -> dict[str, Any]:
    """Convert one table of a budgets file to flag values, and append an error sentence for each fault to `wrong`.

    `where` is the table's name in those sentences; paths in the table are relative to `folder`.
    """
    flags: dict[str, Any] = {}
    for key, value in table.items():
        if key in _KEYS:
            flags[_KEYS[key]] = _flag_texts(value) if _FLAGS[_KEYS[key]].multiple else value
        elif key in _FILES and where != "default":
            flags[_FILES[key]] = str(folder / str(value))
        else:
            names = ", ".join((*_KEYS, *(() if where == "default" else _FILES)))
            wrong.append(f"{where}: must have known keys only ({names}), got {excerpt(key)}{did_you_mean(key, _KEYS)}")
    try:
        options_given(ReadOptions, flags)
        Tolerance.from_text(options_given(CheckOptions, flags).tolerance)
        for text in flags.get("budgets", ()):
            named_size(text, Problem(buffers=()), len(flags["budgets"]), "budgets")
    except OptionError as error:
        wrong += [add_way(f"{where}.{rule}", way) for rule, way in error.rules_with_ways(flag_text)]
    return flags


def _flag_texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [f"{name}={','.join(_flag_texts(each))}" for name, each in value.items()]
    return [
        each if isinstance(each, str) else excerpt(each) for each in (value if isinstance(value, list) else [value])
    ]


def _model_line(line: CommandLine, model: str, tables: Tables) -> CommandLine:
    own = {**tables.get(None, {}), **tables.get(Path(model).resolve(), {})}
    given = {**line.given, **own, "problem": model, "budgets_file": None}
    if tables and given["baseline"] is None:
        given["tolerance"] = None  # A tolerance applies only to a baseline, so drop the tolerance.
    return line._replace(given=given)


def _lines_by_target(line: CommandLine) -> Iterator[CommandLine]:
    texts = line.given["target"]
    for text in [None] if texts is None else texts.split(","):
        target, _, kernels = (text or "").partition("/")
        named = {} if text is None else {"target": target} | ({"kernels": kernels} if kernels else {})
        yield line._replace(given={**line.given, **named})


def check_folder(line: CommandLine) -> int:
    """Check each model of a folder for each target, write the reports, and return the highest exit status."""
    arguments, checks, status = line.given, list[Check](), 0
    tables = _read_tables(line, of_all=True) or {}
    for name in ("save_plan", "save_baseline", "subject", *_FILES.values()):
        if arguments[name] is not None:
            raise OptionError(f"{flags_of(name)[0][2:]}: applies only to a single model, got a folder")
    for report in arguments["outputs"] or ():
        if suffix_of(report) not in REPORTS:
            raise OptionError(f"output: must end in {', '.join(REPORTS)} for a folder, got {excerpt(report)}")
        refuse_unwritable(report)
    reports = arguments["outputs"] or ()
    is_table = not reports and wants_table(arguments["display"])

    def keep(one: CommandLine, answer: Check) -> None:
        checks.append(answer)
        has_budget = any(pool.budget is not None for pool in answer.pools) or not answer.pools
        text = f"{answer.subject}: {'; '.join(check_lines(answer))}{'' if has_budget else '; without budget'}"
        if is_table and not (answer.arena and answer.arena.target):
            write_output(None, f"{text}\n".encode())
        elif not arguments["quiet"] and (answer.failures or not is_table):
            print_message(f"memplan: {one.complete(text)}")

    lines_of_models = (_model_line(line, model, tables) for model in _model_paths(arguments["problem"], tables))
    models = [one.given for each in lines_of_models for one in _lines_by_target(each)]
    each = [line._replace(given={**one, "outputs": None, "budgets": _model_budgets(line, one)}) for one in models]
    for one in run_apart(each, keep):
        checks += [unreadable_model_check(one.line.file, one.wrong)] if one.wrong else []
        status = max(status, one.status)
    if is_table and (rows := arena_rows(check for check in checks if check.arena and check.arena.target)):
        write_output(None, "".join(f"{text}\n" for text in arena_lines(rows)).encode())
    for report in reports:
        write_output(report, report_of_many(checks, suffix_of(report)))
    if not reports and not is_table:
        write_output(None, report_of_many(checks, ".json"))
    if not arguments["quiet"]:
        say_written()
    return status


def _model_budgets(line: CommandLine, of_one: Mapping[str, Any]) -> Any:
    is_of_others = line.given["budgets_file"] is not None and of_one["baseline"] is None
    return of_one["budgets"] or ([UNLIMITED] if is_of_others else of_one["budgets"])


def _model_paths(folder: str, tables: Tables) -> list[str]:
    """Return the sorted paths of a folder's model files, known by suffix or by a table in the budgets file.

    Hidden files are left out. If `folder` is itself a file, return only its path. Raises OptionError if none is found.
    """
    if Path(folder).is_file():
        return [folder]
    suffixes = tuple(suffix for reader in file_readers().values() for suffix in reader.suffixes)
    files = [each for each in sorted(Path(folder).rglob("*")) if each.is_file()]
    visible = [each for each in files if not any(part.startswith(".") for part in each.relative_to(folder).parts)]
    names = [str(each) for each in visible if each.name.lower().endswith(suffixes) or each.resolve() in tables]
    if not names:
        raise OptionError(f"{folder}: must contain a model ({', '.join(suffixes)}) or a file with a budget, got none")
    return names
