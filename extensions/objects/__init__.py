"""Memory that is not one arena: whole objects, such as textures, that buffers share, and heaps of a limited size."""

from memplan.questions import Search

OBJECTS = Search("memplan.extensions.objects.search:search_kinds")
HEAPS = Search("memplan.extensions.objects.heaps:plan_in_heaps")
