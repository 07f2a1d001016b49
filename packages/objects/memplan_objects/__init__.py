"""The search for shared objects: whole objects, such as textures, that buffers have one after the other."""

from memplan.capabilities import Search

SEARCH = Search("memplan_objects.search:search_kinds")
