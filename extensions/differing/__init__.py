"""Several plans that differ in the pairs that they pay for, cheapest first, for `memplan plan --plans`."""

from memplan.questions import Search

SEARCH = Search("memplan.extensions.differing.plans:find_plans")
