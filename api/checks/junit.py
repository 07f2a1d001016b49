"""Checks as JUnit XML, which every build server shows: one test case a pool and rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from memplan.capabilities.check.check import Check
from memplan.capabilities.check.pools import RULES, Failure, Rule

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(*checks: Check) -> bytes:
    """Return a test suite for each check, with a failure for each rule that a pool breaks."""
    root = ET.Element("testsuites", {"name": "memplan"})
    suites = [_suite(root, check) for check in checks]
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in suites)))
    root.set("time", f"{sum(check.wall_time_s or 0 for check in checks):.3f}")
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _suite(root: ET.Element, check: Check) -> ET.Element:
    cases = list(_cases(check))
    failures = sum(failure is not None for _, _, failure in cases)
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0", "skipped": "0"}
    time = {"time": f"{check.wall_time_s or 0:.3f}"}
    suite = ET.SubElement(root, "testsuite", {"name": _xml(f"memplan check {check.subject}"), **counts, **time})
    for name, rule, failure in cases:
        case = ET.SubElement(suite, "testcase", {"classname": "memplan.check", "name": _xml(name), "time": "0"})
        if failure is not None:
            found = ET.SubElement(case, "failure", {"type": rule, "message": _xml(failure.message)})
            found.text = f"{RULES[rule]}\n{_xml(failure.message)}"
    return suite


def _cases(check: Check) -> Iterator[tuple[str, Rule, Failure | None]]:
    """Yield what was looked at: its name, the rule, and how it is broken."""
    broken = {(failure.rule, failure.pool): failure for failure in check.failures}
    nothing = next((failure for failure in check.failures if failure.rule == "no-plan"), None)
    yield "there is a plan", "no-plan", nothing
    for pool in check.pools:
        if pool.budget is not None:
            yield f"{pool.name} is within its budget", "over-budget", broken.get(("over-budget", pool.name))
        if pool.before is not None:
            yield f"{pool.name} has not grown", "grown", broken.get(("grown", pool.name))


def _xml(text: str) -> str:
    """Return a text without the characters that XML cannot write."""
    return _NOT_XML.sub("\ufffd", text)
