// A general maximum-flow solver, as the benchmark sees it. Plain C++17: LEMON's headers are older than C++20.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attnflow_bench {

struct Arc {
  std::size_t from = 0;
  std::size_t to = 0;
  double capacity = 0.0;
};

// The network of one pair. Arcs are sorted by the node they leave; the source is node 0, the sink the last node.
struct PairNetwork {
  std::size_t nodes = 0;
  std::vector<Arc> arcs;
};

class Peer {
 public:
  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  virtual ~Peer() = default;
  virtual std::string version() const = 0;
  // Not timed: builds the library's own graph from it.
  virtual void build(const PairNetwork& network) = 0;
  // Timed: from the graph to the value of a maximum flow. May be called repeatedly: it starts from zero flow each time.
  virtual double solve() = 0;
  // The largest error of the value due to the library's number type.
  virtual double tolerance() const = 0;
};

// Solvers that need integers get the capacities in units of 2^-55, rounded down. A row of attention sums to 1 (plus
// rounding), so every sum that a solver forms stays far below 2^63. Rounding costs less than one unit for each arc of a
// cut, and a cut has no more arcs than the network.
constexpr int kExponent = 55;
inline std::int64_t units(double capacity) {
  return static_cast<std::int64_t>(std::floor(std::ldexp(capacity, kExponent)));
}
inline double from_units(std::int64_t flow) { return std::ldexp(static_cast<double>(flow), -kExponent); }
inline double units_tolerance(std::size_t arcs) { return std::ldexp(static_cast<double>(arcs), -kExponent); }

std::unique_ptr<Peer> make_lemon_preflow();
std::unique_ptr<Peer> make_boost_push_relabel();
std::unique_ptr<Peer> make_boost_boykov_kolmogorov();
std::unique_ptr<Peer> make_igraph();

}  // namespace attnflow_bench
