// All memory of one call: it is taken from malloc or from the caller's allocator, and freed at the end of the call.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "tables.hpp"

namespace memplan {

struct Allocator {
  void *(*allocate)(void *context, std::size_t bytes) = nullptr;
  void (*release)(void *context, void *block, std::size_t bytes) = nullptr;
  void *context = nullptr;
  std::size_t taken = 0;
  std::size_t most = 0;
  bool has_refused = false;
};

class Arena {
 public:
  explicit Arena(Allocator &allocator) : allocator_(allocator) {}
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena() { release(); }

  // An array of zeros, or an empty one if memory has run out; then `has_failed` is set for good.
  template <class T>
  Array<T> array(i64 count) {
    return taken<T>(count, true);
  }

  template <class T>
  Array<T> uncleared(i64 count) {
    return taken<T>(count, false);
  }

  template <class T>
  Rows<T> rows(i64 count, i64 columns, bool is_cleared = true) {
    if (count > kMost / 16 / std::max<i64>(1, columns)) has_failed = true;
    const Array<T> made = has_failed ? Array<T>{nullptr, 0} : taken<T>(count * columns, is_cleared);
    return {made.data, has_failed ? 0 : count, columns};
  }

  // Return uninitialised space for objects; the caller constructs and destroys the objects.
  template <class T>
  Array<T> uncleared_objects(i64 count) {
    const Array<Room<T>> made = uncleared<Room<T>>(count);
    return {reinterpret_cast<T *>(made.data), made.size};
  }

  // Free all memory.
  void release() {
    while (last_ != nullptr) {
      Block *block = last_;
      last_ = block->before;
      allocator_.taken -= block->bytes;
      if (allocator_.release)
        allocator_.release(allocator_.context, block, block->bytes);
      else
        std::free(block);
    }
  }

  Allocator &allocator() const { return allocator_; }

  bool has_failed = false;

 private:
  template <class T>
  Array<T> taken(i64 count, bool is_cleared) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(Block));
    Block *block = nullptr;
    if (count >= 0 && static_cast<u64>(count) < (u64{1} << 60) / sizeof(T)) {
      const std::size_t bytes = sizeof(Block) + static_cast<std::size_t>(count) * sizeof(T);
      void *made = nullptr;
      if (allocator_.allocate) {
        made = allocator_.allocate(allocator_.context, bytes);
        if (made != nullptr && is_cleared) std::memset(made, 0, bytes);
      } else {
        // calloc gets untouched pages for free, so a large table costs only the pages that are written.
        made = is_cleared ? std::calloc(1, bytes) : std::malloc(bytes);
      }
      block = static_cast<Block *>(made);
      if (block != nullptr) *block = {last_, bytes};
    }
    if (block == nullptr) {
      has_failed = allocator_.has_refused = true;
      return {nullptr, 0};
    }
    last_ = block;
    allocator_.taken += block->bytes;
    allocator_.most = std::max(allocator_.most, allocator_.taken);
    return {reinterpret_cast<T *>(block + 1), count};
  }

  template <class T>
  struct Room {
    alignas(T) unsigned char bytes[sizeof(T)];
  };
  struct alignas(16) Block {
    Block *before;
    std::size_t bytes;
  };
  Allocator &allocator_;
  Block *last_ = nullptr;
};

}  // namespace memplan
