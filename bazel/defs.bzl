"""Bazel rules: memplan_plan plans memory during a build, and memplan_check_test checks memory use as a test.

Both have an attribute `memplan`, the label of the command memplan. For example, py_console_script_binary of rules_python
makes such a target.
"""

_PROBLEM_ATTRS = {
    "problem": attr.label(allow_single_file = True, mandatory = True, doc = "A problem (.json, .csv) or a model."),
    "capacity": attr.string_list(doc = "The size of each pool: 256KiB or sram=256KiB, or sram=256KiB@0x20000000 with its base address."),
    "options": attr.string_list(doc = "Options of memplan for reading the model, such as [\"--dim\", \"batch=1\"]."),
    "budget": attr.string_list(doc = "The most that the plan may use of each pool: 256KiB or sram=256KiB."),
    "budgets": attr.label(allow_single_file = True, doc = "A TOML file of budgets, in which the table with the problem's name applies."),
    "baseline": attr.label(allow_single_file = True, doc = "A file with the earlier use of each pool, written by --save-baseline."),
    "tolerance": attr.string(default = "0", doc = "The increase over the baseline that is allowed for each pool: 512, 1KiB or 2%."),
    "time_limit": attr.int(default = 10, doc = "The time limit for making a plan, in seconds."),
    "profile": attr.string(default = "balanced", values = ["speed", "balanced", "size"], doc = "How to use several pools: for speed (least cost), balanced, or for size (smallest last pool)."),
    "memplan": attr.label(executable = True, cfg = "exec", mandatory = True, doc = "The target of the command memplan."),
}

def _problem_arguments(ctx):
    """Return the arguments that describe the problem, which are the same for every command."""
    found = list(ctx.attr.options)
    for size in ctx.attr.capacity:
        found += ["--capacity", size]
    return found

def _limit_arguments(ctx, baseline, budgets):
    """Return the arguments for planning and for its limits; `baseline` and `budgets` are paths of files, or None."""
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

    # Make and check the plan, so that the build fails if a pool exceeds its budget or has grown too much.
    limits = _limit_arguments(ctx, ctx.file.baseline.path if ctx.file.baseline else None, ctx.file.budgets.path if ctx.file.budgets else None)
    ctx.actions.run(
        executable = ctx.executable.memplan,
        arguments = ["check", problem.path, "--save-plan", plan.path, "-o", report.path] + limits + _problem_arguments(ctx),
        inputs = [problem] + limiting,
        outputs = [plan, report],
        mnemonic = "MemplanCheck",
        progress_message = "Planning memory of %s" % problem.short_path,
    )

    # Convert the plan to C, for use in a cc_library.
    ctx.actions.run(
        executable = ctx.executable.memplan,
        arguments = ["convert", problem.path, plan.path, "--to", ctx.attr.to, "-o", ctx.outputs.source.path] + _problem_arguments(ctx),
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
        to = attr.string(default = "c", values = ["c", "malloc-c"], doc = "The form of the C code: static arrays (c) or blocks of the heap (malloc-c)."),
        plan = attr.output(mandatory = True),
        report = attr.output(mandatory = True),
        source = attr.output(mandatory = True),
        header = attr.output(mandatory = True),
    ),
    doc = "Plans memory, checks the plan against its limits, and writes the plan as C source and header.",
)

def memplan_plan(name, **kwargs):
    """Plan memory and write four files: name.c and name.h for a cc_library, name.json (plan) and name.md (report).

    Args:
      name: the name of the target, with which the names in the C files also begin.
      **kwargs: the attributes problem and memplan, and optionally all others of the rule.
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
    """Return a word in single quotes, so that a shell reads it unchanged."""
    return "'" + word.replace("'", "'\\''") + "'"

def _memplan_check_test_impl(ctx):
    baseline = ctx.file.baseline.short_path if ctx.file.baseline else None
    words = [ctx.executable.memplan.short_path, "check", ctx.file.problem.short_path]
    budgets = ctx.file.budgets.short_path if ctx.file.budgets else None
    words += _limit_arguments(ctx, baseline, budgets) + _problem_arguments(ctx)
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
    doc = "Fails if a pool exceeds its budget or has grown beyond the tolerance; the test log is JUnit XML.",
)
