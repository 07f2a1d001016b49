"""The page that shows plans: its document, its modules, and a single file with both."""

from memplan.capabilities import View

PLAN = View("memplan_page.file_page:plan_page")
CELL = View("memplan_page.file_page:cell")
COMPARISON = View("memplan_page.comparison:comparison_page")
CASCADE = View("memplan_page.studies:cascade_page")
CASCADE_PICTURE = View("memplan_page.cascade_picture:picture")
EXPLAIN = View("memplan_page.studies:explain_page")
ORDER = View("memplan_page.studies:order_page")
RECOMPUTE = View("memplan_page.studies:recompute_page")
SCHEDULE = View("memplan_page.studies:schedule_page")
SHAPES = View("memplan_page.studies:shapes_page")
CHART = View("memplan_page.studies:chart_page")
SERVICE = View("memplan_page.service:add_pages")
