#include <fmt/format.h>
#include <igraph.h>

#include <stdexcept>

#include "tools/bench/flow/peer.h"

namespace attnflow_bench {
namespace {

void check(igraph_error_t code) {
  if (code != IGRAPH_SUCCESS) throw std::runtime_error(fmt::format("igraph: {}", igraph_strerror(code)));
}

// igraph_maxflow_value, which allocates its own arrays with reverse arcs in each call. Capacities are doubles.
class Igraph : public Peer {
 public:
  Igraph() { igraph_set_error_handler(igraph_error_handler_ignore); }
  ~Igraph() override { clear(); }

  std::string version() const override { return IGRAPH_VERSION; }

  void build(const PairNetwork& network) override {
    clear();
    sink_ = static_cast<igraph_integer_t>(network.nodes) - 1;
    const auto arcs = static_cast<igraph_integer_t>(network.arcs.size());
    igraph_vector_int_t ends;
    check(igraph_vector_int_init(&ends, 2 * arcs));
    check(igraph_vector_init(&capacity_, arcs));
    for (igraph_integer_t a = 0; a < arcs; ++a) {
      const Arc& arc = network.arcs[static_cast<std::size_t>(a)];
      VECTOR(ends)[2 * a] = static_cast<igraph_integer_t>(arc.from);
      VECTOR(ends)[2 * a + 1] = static_cast<igraph_integer_t>(arc.to);
      VECTOR(capacity_)[a] = arc.capacity;
    }
    const igraph_error_t code = igraph_create(&graph_, &ends, sink_ + 1, IGRAPH_DIRECTED);
    igraph_vector_int_destroy(&ends);
    if (code != IGRAPH_SUCCESS) igraph_vector_destroy(&capacity_);
    check(code);
    built_ = true;
  }

  double solve() override {
    igraph_real_t value = 0.0;
    check(igraph_maxflow_value(&graph_, &value, 0, sink_, &capacity_, nullptr));
    return value;
  }

  // Rounding of sums and differences of thousands of doubles of at most 1.
  double tolerance() const override { return 1e-9; }

 private:
  void clear() {
    if (!built_) return;
    igraph_destroy(&graph_);
    igraph_vector_destroy(&capacity_);
    built_ = false;
  }

  igraph_t graph_ = {};
  igraph_vector_t capacity_ = {};
  igraph_integer_t sink_ = 0;
  bool built_ = false;
};

}  // namespace

std::unique_ptr<Peer> make_igraph() { return std::make_unique<Igraph>(); }

}  // namespace attnflow_bench
