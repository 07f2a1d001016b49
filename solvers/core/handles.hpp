// Handles: objects of the core that Python keeps between calls, by their addresses.
#pragma once
#include <new>

#include "stack.hpp"

namespace memplan {

template <class T, class Given, class Begin>
i64 opened(const Given &given, Begin &&begin) {
  void *room = std::malloc(sizeof(T));
  if (room == nullptr) return kNoMemory;
  T *made = new (room) T(given);
  if (begin(*made)) return static_cast<i64>(reinterpret_cast<std::intptr_t>(made));
  made->~T();
  std::free(room);
  return kNoMemory;
}

template <class T>
i64 closed(T *made) {
  made->~T();
  std::free(made);
  return 0;
}

}  // namespace memplan
