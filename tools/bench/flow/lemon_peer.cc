#include <lemon/config.h>
#include <lemon/preflow.h>
#include <lemon/static_graph.h>

#include <utility>

#include "tools/bench/flow/peer.h"

namespace attnflow_bench {
namespace {

// lemon::Preflow on a StaticDigraph, LEMON's fastest graph. Integers: with doubles it treats residuals below 1e-10 as
// zero.
class LemonPreflow : public Peer {
 public:
  std::string version() const override { return LEMON_VERSION; }

  void build(const PairNetwork& network) override {
    solver_.reset();
    capacity_.reset();
    std::vector<std::pair<int, int>> ends;
    ends.reserve(network.arcs.size());
    for (const Arc& arc : network.arcs) ends.emplace_back(static_cast<int>(arc.from), static_cast<int>(arc.to));
    graph_.build(static_cast<int>(network.nodes), ends.begin(), ends.end());
    capacity_ = std::make_unique<Capacities>(graph_);
    for (std::size_t a = 0; a < network.arcs.size(); ++a) {
      capacity_->set(graph_.arc(static_cast<int>(a)), units(network.arcs[a].capacity));
    }
    solver_ =
        std::make_unique<Solver>(graph_, *capacity_, graph_.node(0), graph_.node(static_cast<int>(network.nodes) - 1));
  }

  // Without the second phase, which turns the preflow into a flow: the value is known before it.
  double solve() override {
    solver_->runMinCut();
    return from_units(solver_->flowValue());
  }

  double tolerance() const override { return units_tolerance(static_cast<std::size_t>(graph_.arcNum())); }

 private:
  using Capacities = lemon::StaticDigraph::ArcMap<std::int64_t>;
  using Solver = lemon::Preflow<lemon::StaticDigraph, Capacities>;
  lemon::StaticDigraph graph_;
  std::unique_ptr<Capacities> capacity_;
  std::unique_ptr<Solver> solver_;
};

}  // namespace

std::unique_ptr<Peer> make_lemon_preflow() { return std::make_unique<LemonPreflow>(); }

}  // namespace attnflow_bench
