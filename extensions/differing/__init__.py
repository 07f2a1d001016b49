"""The cheapest plans that differ in the pairs that pay: `memplan plan --plans`."""

from memplan.questions import Search

SEARCH = Search("memplan.extensions.differing.plans:find_plans")
