#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <boost/property_map/property_map.hpp>
#include <boost/version.hpp>
#include <utility>

#include "tools/bench/flow/peer.h"

namespace attnflow_bench {
namespace {

// Boost's algorithms need each arc's reverse in the graph, and maps from arcs to capacities, residuals and reverses. A
// compressed_sparse_row_graph is the most compact graph they accept: arcs are numbers, and maps are arrays.
class BoostPeer : public Peer {
 public:
  std::string version() const override {
    return std::to_string(BOOST_VERSION / 100000) + "." + std::to_string(BOOST_VERSION / 100 % 1000) + "." +
           std::to_string(BOOST_VERSION % 100);
  }

  void build(const PairNetwork& network) override {
    const std::size_t arcs = network.arcs.size();
    nodes_ = network.nodes;
    // The index of each arc and each reverse once all are sorted by the node they leave.
    std::vector<std::size_t> next(nodes_ + 1, 0);
    for (const Arc& arc : network.arcs) {
      ++next[arc.from + 1];
      ++next[arc.to + 1];
    }
    for (std::size_t p = 1; p <= nodes_; ++p) next[p] += next[p - 1];
    std::vector<std::pair<std::size_t, std::size_t>> ends(2 * arcs);
    std::vector<std::size_t> partner(2 * arcs);
    capacity_.assign(2 * arcs, 0);
    for (const Arc& arc : network.arcs) {
      const std::size_t forward = next[arc.from]++;
      const std::size_t back = next[arc.to]++;
      ends[forward] = {arc.from, arc.to};
      ends[back] = {arc.to, arc.from};
      partner[forward] = back;
      partner[back] = forward;
      capacity_[forward] = units(arc.capacity);
    }
    graph_ = Graph(boost::edges_are_sorted, ends.begin(), ends.end(), nodes_);
    residual_.assign(2 * arcs, 0);
    reverse_.clear();
    reverse_.reserve(2 * arcs);
    for (const std::size_t back : partner) reverse_.push_back(boost::edge_from_index(back, graph_));
  }

  double tolerance() const override { return units_tolerance(capacity_.size() / 2); }

 protected:
  using Graph = boost::compressed_sparse_row_graph<boost::directedS>;
  using Edge = boost::graph_traits<Graph>::edge_descriptor;

  template <typename T>
  auto map_of(std::vector<T>& values) {
    return boost::make_iterator_property_map(values.begin(), get(boost::edge_index, graph_));
  }
  template <typename T>
  auto node_map_of(std::vector<T>& values) {
    return boost::make_iterator_property_map(values.begin(), get(boost::vertex_index, graph_));
  }

  Graph graph_;
  std::size_t nodes_ = 0;
  std::vector<std::int64_t> capacity_;
  std::vector<std::int64_t> residual_;
  std::vector<Edge> reverse_;
};

class BoostPushRelabel : public BoostPeer {
 public:
  double solve() override {
    return from_units(boost::push_relabel_max_flow(graph_, 0, nodes_ - 1, map_of(capacity_), map_of(residual_),
                                                   map_of(reverse_), get(boost::vertex_index, graph_)));
  }
};

class BoostBoykovKolmogorov : public BoostPeer {
 public:
  void build(const PairNetwork& network) override {
    BoostPeer::build(network);
    predecessor_.resize(nodes_);
    color_.resize(nodes_);
    distance_.resize(nodes_);
  }

  double solve() override {
    return from_units(boost::boykov_kolmogorov_max_flow(
        graph_, map_of(capacity_), map_of(residual_), map_of(reverse_), node_map_of(predecessor_), node_map_of(color_),
        node_map_of(distance_), get(boost::vertex_index, graph_), 0, nodes_ - 1));
  }

 private:
  std::vector<Edge> predecessor_;
  std::vector<boost::default_color_type> color_;
  std::vector<std::size_t> distance_;
};

}  // namespace

std::unique_ptr<Peer> make_boost_push_relabel() { return std::make_unique<BoostPushRelabel>(); }
std::unique_ptr<Peer> make_boost_boykov_kolmogorov() { return std::make_unique<BoostBoykovKolmogorov>(); }

}  // namespace attnflow_bench
