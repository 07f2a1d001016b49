"""memplan's own extensions, and the rows that each extension adds to the tables of the base (commands, hooks, ...).

`memplan` registers the `TABLES` of its floors when it is imported. A table's function imports its rows when the table
first read. A row of `clusters` or `hooks` names a function as `module:function`, which is imported when it is called.
"""

from collections.abc import Callable, Mapping
from typing import Any


def _questions() -> Mapping[str, Any]:
    """Return the rows of the questions (commands that the service also answers) by name."""
    from memplan.questions import Row

    return {
        "schedule": Row(
            "memplan.extensions.schedule.schedule:QUESTION",
            panel="Networks",
            document="schedule.md",
            help="Schedule operations through a fast memory: choose which run together, in which tiles, and what"
            " stays in it.",
        ),
        "cascade": Row(
            "memplan.extensions.cascade.cascade:QUESTION",
            panel="Networks",
            document="cascades.md",
            help="Run the operations of a network in stripes, which needs less memory, and show what each saving"
            " costs.",
        ),
        "shapes": Row(
            "memplan.extensions.shapes.shapes:QUESTION",
            panel="Networks",
            document="shapes.md",
            former={"limits": "shapes --limits", "verify-shapes": "shapes --verify"},
            help="Plan a problem whose sizes are expressions, such as `48*b*n**2`, once for all values of its symbols.",
        ),
        "compare": Row(
            "memplan.extensions.files.compare.compare:QUESTION",
            panel="Files",
            document="systems.md",
            help="Compare the memory planner of a model's own runtime with memplan: the bytes used, the bound, the"
            " bytes saved.",
        ),
        "convert": Row(
            "memplan.extensions.files.convert.convert:QUESTION",
            panel="Files",
            document="systems.md",
            former={**dict.fromkeys(("export", "deploy", "import"), "convert"), "model": "convert --to lp"},
            help="Write a problem, a model or a plan in another form: a table, operations, C, or into the model of a"
            " runtime.",
        ),
    }


def _commands() -> Mapping[str, Any]:
    """Return the rows of the command-line commands by name."""
    from memplan.questions import Command

    bench = "Run solvers on suites, each run in a separate process, or compare two files of results."
    fits = "Say whether a step of a torch model fits into memory: inference, or training with its optimizer."
    library = "Work with the library of problems: list, get and check them, submit plans, and run planners on them."
    mcp = "Serve an assistant on standard input and output, by the Model Context Protocol."
    return {
        "schedule": Command("memplan.extensions.schedule.command:schedule"),
        "cascade": Command("memplan.extensions.cascade.command:cascade"),
        "shapes": Command("memplan.extensions.shapes.command:shapes"),
        "compare": Command("memplan.extensions.files.compare_command:compare"),
        "convert": Command("memplan.extensions.files.convert_command:convert"),
        "bench": Command("memplan.extensions.bench.command:bench", bench, "Solvers"),
        "fits": Command("memplan.extensions.torch.command:fits", fits, "Networks"),
        "library": Command("memplan.extensions.library.command:library", library, "Solvers"),
        "mcp": Command("memplan.extensions.mcp.server:mcp", mcp, "Service"),
    }


def _clusters() -> Mapping[str, Any]:
    return dict.fromkeys(("dask", "ray"), "memplan.extensions.bench.several_files:run_away")


def _hooks() -> Mapping[str, Any]:
    """Map the name of each hook that the base declares to its function, as `module:function`."""
    return {
        "recompute": "memplan.extensions.recompute.frontier:recompute",
        "search-kinds": "memplan.extensions.objects.search:search_kinds",
        "plan-in-heaps": "memplan.extensions.objects.heaps:plan_in_heaps",
        "price-lines": "memplan.extensions.prices.proofs:price_lines",
        "is-narrow": "memplan.extensions.prices.proofs:is_narrow",
        "repairs-of-graph": "memplan.extensions.cascade.order_repairs:repairs_of_graph",
        "cascade-hint": "memplan.extensions.cascade.hint:cascade_hint",
        "rewrite-tflite": "memplan.extensions.forms.forms:rewritable_model",
        "deploy-tflite": "memplan.extensions.forms.device_forms:deploy",
        "canonical-greedy": "memplan.extensions.prices.canonical_greedy:canonical_greedy",
        "plan-page": "memplan.extensions.page.file_page:plan_page",
        "plan-cell": "memplan.extensions.page.file_page:cell",
        "comparison-page": "memplan.extensions.page.comparison:comparison_page",
        "service-pages": "memplan.extensions.page.service:add_pages",
        **{
            f"{name}-page": f"memplan.extensions.page.studies:{name}_page"
            for name in ("cascade", "explain", "order", "recompute", "schedule", "shapes", "chart")
        },
    }


def _solvers() -> Mapping[str, Any]:
    from memplan.extensions.prices.rows import PRICE_BOUNDS, PRICES

    return {row.name: row for row in (PRICES, PRICE_BOUNDS)}


TABLES: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "questions": _questions,
    "commands": _commands,
    "clusters": _clusters,
    "hooks": _hooks,
    "own-solvers": _solvers,
}
"""Maps the name of a table to the function that returns the table's rows by name."""
