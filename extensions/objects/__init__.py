"""Other forms of memory than one arena: objects that several buffers share (textures), and heaps of limited size."""

from memplan.questions import Search

OBJECTS = Search("memplan.extensions.objects.search:search_kinds")
HEAPS = Search("memplan.extensions.objects.heaps:plan_in_heaps")
