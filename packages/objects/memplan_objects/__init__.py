"""Memory that is not one arena: whole objects, such as textures, that buffers share, and heaps of a limited size."""

from memplan.capabilities import Search

OBJECTS = Search("memplan_objects.search:search_kinds")
HEAPS = Search("memplan_objects.heaps:plan_in_heaps")
