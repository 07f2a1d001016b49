"""Memory other than one arena: objects that several buffers share, such as textures, and heaps of a limited size."""

from memplan.questions import Search

OBJECTS = Search("memplan.extensions.objects.search:search_kinds")
HEAPS = Search("memplan.extensions.objects.heaps:plan_in_heaps")
