"""The cheapest plans that differ in the pairs of buffers that pay: `memplan plan --plans`."""

from memplan.capabilities import Search

SEARCH = Search("memplan_differing.plans:several_plans")
