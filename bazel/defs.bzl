"""memplan_plan plans memory when a project is built; memplan_check_test checks it where tests are run.

`memplan` is a label of the command memplan in both: py_console_script_binary of rules_python makes one, for example.
"""

_PROBLEM_ATTRS = {
    "problem": attr.label(allow_single_file = True, mandatory = True, doc = "A problem (.json, .csv) or a model."),
    "capacity": attr.string_list(doc = "The sizes of pools: 256KiB, or sram=256KiB; or with base addresses, sram=256KiB@0x20000000."),
    "options": attr.string_list(doc = "How a model is read, as in [\"--dim\", \"batch=1\"]."),
    "budget": attr.string_list(doc = "What pools may use: 256KiB, or sram=256KiB."),
    "budgets": attr.label(allow_single_file = True, doc = "A file of budgets (TOML), of which the table of the problem is used."),
    "baseline": attr.label(allow_single_file = True, doc = "What was used before: what --save-baseline wrote."),
    "tolerance": attr.string(default = "0", doc = "How much a pool may use beyond the baseline: 512, 1KiB or 2%."),
    "time_limit": attr.int(default = 10, doc = "Seconds for a plan."),
    "profile": attr.string(default = "balanced", values = ["speed", "balanced", "size"], doc = "What several pools are for."),
    "memplan": attr.label(executable = True, cfg = "exec", mandatory = True, doc = "The command memplan."),
}

def _of_problem(ctx):
    """What says the problem, for every command."""
    found = list(ctx.attr.options)
    for size in ctx.attr.capacity:
        found += ["--capacity", size]
    return found

def _limits(ctx, baseline, budgets):
    """What is planned and allowed; baseline and budgets are the paths of these files, if there are some."""
    found = ["--deterministic", "--time-limit", str(ctx.attr.time_limit), "--tolerance", ctx.attr.tolerance, "--profile", ctx.attr.profile]
    for size in ctx.attr.budget:
        found += ["--budget", size]
    if budgets:
        found += ["--budgets", budgets]
    if baseline:
        found += ["--baseline", baseline]
    return found

def _memplan_plan_impl(ctx):
    problem, plan, report = ctx.file.problem, ctx.outputs.plan, ctx.outputs.report
    limiting = [file for file in [ctx.file.baseline, ctx.file.budgets] if file]

    # 1. The plan, checked: the build fails above a budget, or where a pool has grown.
    limits = _limits(ctx, ctx.file.baseline.path if ctx.file.baseline else None, ctx.file.budgets.path if ctx.file.budgets else None)
    ctx.actions.run(
        executable = ctx.executable.memplan,
        arguments = ["check", problem.path, "--save-plan", plan.path, "-o", report.path] + limits + _of_problem(ctx),
        inputs = [problem] + limiting,
        outputs = [plan, report],
        mnemonic = "MemplanCheck",
        progress_message = "Planning memory of %s" % problem.short_path,
    )

    # 2. The plan as C.
    ctx.actions.run(
        executable = ctx.executable.memplan,
        arguments = ["convert", problem.path, plan.path, "--to", ctx.attr.to, "-o", ctx.outputs.source.path] + _of_problem(ctx),
        inputs = [problem, plan],
        outputs = [ctx.outputs.source, ctx.outputs.header],
        mnemonic = "MemplanConvert",
        progress_message = "Writing %s" % ctx.outputs.source.short_path,
    )
    return [DefaultInfo(files = depset([ctx.outputs.source, ctx.outputs.header, plan, report]))]

_memplan_plan = rule(
    implementation = _memplan_plan_impl,
    attrs = dict(
        _PROBLEM_ATTRS,
        to = attr.string(default = "c", values = ["c", "malloc-c"], doc = "Static arrays, or blocks of the heap."),
        plan = attr.output(mandatory = True),
        report = attr.output(mandatory = True),
        source = attr.output(mandatory = True),
        header = attr.output(mandatory = True),
    ),
    doc = "Plans memory, checks the plan, and writes it as C.",
)

def memplan_plan(name, **kwargs):
    """Plan memory: the files name.c and name.h for a cc_library, name.json (the plan) and name.md (the report).

    Args:
      name: the name of the target; it begins the names in the C files, too.
      **kwargs: problem, memplan, and whatever else the rule has.
    """
    _memplan_plan(
        name = name,
        plan = name + ".json",
        report = name + ".md",
        source = name + ".c",
        header = name + ".h",
        **kwargs
    )

def _quoted(word):
    """A word as a shell reads it."""
    return "'" + word.replace("'", "'\\''") + "'"

def _memplan_check_test_impl(ctx):
    baseline = ctx.file.baseline.short_path if ctx.file.baseline else None
    words = [ctx.executable.memplan.short_path, "check", ctx.file.problem.short_path]
    budgets = ctx.file.budgets.short_path if ctx.file.budgets else None
    words += _limits(ctx, baseline, budgets) + _of_problem(ctx)
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        output = script,
        content = "#!/bin/sh\nexec %s -o \"${XML_OUTPUT_FILE:-check.xml}\"\n" % " ".join([_quoted(w) for w in words]),
        is_executable = True,
    )
    files = [ctx.file.problem, ctx.executable.memplan] + [file for file in [ctx.file.baseline, ctx.file.budgets] if file]
    runfiles = ctx.runfiles(files = files).merge(ctx.attr.memplan[DefaultInfo].default_runfiles)
    return [DefaultInfo(executable = script, runfiles = runfiles)]

memplan_check_test = rule(
    implementation = _memplan_check_test_impl,
    attrs = _PROBLEM_ATTRS,
    test = True,
    doc = "Fails above a budget, or where a pool has grown beyond the tolerance; the test log is JUnit XML.",
)
