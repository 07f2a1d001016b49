"""The page that shows plans: its HTML document, its JavaScript modules, and files that contain both."""

from memplan.questions import View

PLAN = View("memplan.extensions.page.file_page:plan_page")
CELL = View("memplan.extensions.page.file_page:cell")
COMPARISON = View("memplan.extensions.page.comparison:comparison_page")
CASCADE = View("memplan.extensions.page.studies:cascade_page")
CASCADE_PICTURE = View("memplan.extensions.page.cascade_picture:picture")
EXPLAIN = View("memplan.extensions.page.studies:explain_page")
ORDER = View("memplan.extensions.page.studies:order_page")
RECOMPUTE = View("memplan.extensions.page.studies:recompute_page")
SCHEDULE = View("memplan.extensions.page.studies:schedule_page")
SHAPES = View("memplan.extensions.page.studies:shapes_page")
CHART = View("memplan.extensions.page.studies:chart_page")
SERVICE = View("memplan.extensions.page.service:add_pages")
