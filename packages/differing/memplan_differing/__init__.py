"""The cheapest plans that differ in the pairs that pay: `memplan plan --plans`."""

from memplan.capabilities import Search

SEARCH = Search("memplan_differing.plans:several_plans")
