// The searches for a price, called from Python.
#include "least_price.hpp"
#include "walk.hpp"

namespace {

using memplan::prices::PieceTable;

struct Flag {
  const memplan::Array<memplan::i64> &flag;
  bool operator()() const { return memplan::is_set(flag); }
};

template <template <class> class Search, class Table>
memplan::i64 searched(const PieceTable &piece, const Table &run) {
  const Flag is_over{run.flag};
  return memplan::run_in_arena<Search<const Flag>>(piece, run, is_over);
}

}  // namespace

MEMPLAN_KERNEL memplan_least_price(const PieceTable *piece, const memplan::prices::LeastPrice *run) {
  return searched<memplan::prices::LeastPriceSearch>(*piece, *run);
}

MEMPLAN_KERNEL memplan_walk(const PieceTable *piece, const memplan::prices::Walk *run) {
  return searched<memplan::prices::Walker>(*piece, *run);
}
