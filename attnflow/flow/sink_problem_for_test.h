// Seeded random networks with one sink, in units, for tests of the solver's parts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/flow/arc_block.h"
#include "attnflow/flow/layered_dinic_for_test.h"
#include "attnflow/flow/sink_network.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

using UnitBlock = Tensor<std::int64_t>;

inline std::vector<const UnitBlock*> pointers_to(const std::vector<UnitBlock>& blocks) {
  std::vector<const UnitBlock*> pointers;
  for (const UnitBlock& block : blocks) pointers.push_back(&block);
  return pointers;
}

// The same arcs, without those that causal layers cannot have.
inline std::vector<ArcBlock> arc_blocks(const std::vector<UnitBlock>& blocks) {
  std::vector<ArcBlock> result;
  for (const UnitBlock& block : blocks) {
    const std::size_t n = block.extent(1);
    bool causal = block.extent(0) == n;
    for (std::size_t p = 0; causal && p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) causal = causal && block(p, q) == 0;
    }
    ArcBlock& arcs = result.emplace_back(causal ? ArcBlock::causal(n) : ArcBlock(block.extent(0), n));
    for (std::size_t p = 0; p < block.extent(0); ++p) {
      const std::span<std::int64_t> row = arcs.row(p);
      std::copy_n(block.data() + p * n, row.size(), row.begin());
    }
  }
  return result;
}

inline std::vector<const ArcBlock*> pointers_to(const std::vector<ArcBlock>& blocks) {
  std::vector<const ArcBlock*> pointers;
  for (const ArcBlock& block : blocks) pointers.push_back(&block);
  return pointers;
}

struct UnitNetworkOptions {
  std::size_t depth = 4;
  std::size_t least_nodes = 1, max_nodes = 20;
  bool square = false;  // all layers have the same size
  std::size_t sinks = 1;
};

// blocks[k - 1]: arcs from layer k to layer k - 1. Capacities have either widely varying or few distinct sizes, dense
// or sparse, with hubs and strong straight arcs. Rows sum to less than 2^61.
inline std::vector<UnitBlock> random_unit_network(std::mt19937_64& random, const UnitNetworkOptions& options) {
  const auto integer = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random);
  };
  const std::size_t kind = integer(0, 3);
  const double density = integer(0, 2) == 0 ? 0.3 : 1.0;
  const bool straight = integer(0, 1) == 1;
  const std::size_t hub = integer(0, 2);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<UnitBlock> blocks;
  std::size_t below = options.sinks;
  std::size_t nodes = integer(options.least_nodes, options.max_nodes);
  for (std::size_t k = 1; k <= options.depth; ++k) {
    UnitBlock block({nodes, below});
    for (std::size_t p = 0; p < nodes; ++p) {
      for (std::size_t q = 0; q < below; ++q) {
        if (uniform(random) > density) continue;
        double size = uniform(random);
        if (kind == 1) size = std::pow(2.0, -30.0 * size);
        if (kind == 2) size = static_cast<double>(integer(0, 3)) * 0x1p-40;  // exact ties
        if (kind == 3 && q == hub) size *= 20.0;
        if (straight && p == q) size *= 4.0;
        block(p, q) = static_cast<std::int64_t>(size * 0x1p49);
      }
    }
    blocks.push_back(std::move(block));
    below = nodes;
    if (!options.square) nodes = integer(options.least_nodes, options.max_nodes);
  }
  return blocks;
}

// Blocks of a stack of `layers` layers of n positions, in units; rows sum to at most 2^60.
struct UnitStackKind {
  bool causal = true;
  double residual = 0.5;  // share of a row's sum
  double density = 1.0;   // of the other arcs
  double peak = 1.0;      // 1: even; larger: mostly in few arcs
  bool sink = false;      // mostly to position 0
};

inline std::vector<UnitBlock> random_unit_stack(std::mt19937_64& random, std::size_t layers, std::size_t n,
                                                const UnitStackKind& kind) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<UnitBlock> blocks;
  for (std::size_t k = 0; k < layers; ++k) {
    UnitBlock block({n, n});
    for (std::size_t p = 0; p < n; ++p) {
      std::vector<double> weights(n, 0.0);
      double sum = 0.0;
      for (std::size_t q = 0; q < (kind.causal ? p + 1 : n); ++q) {
        if (uniform(random) < kind.density) weights[q] = std::pow(uniform(random), kind.peak);
        if (kind.sink && q == 0) weights[q] = static_cast<double>(n);
        sum += weights[q];
      }
      for (std::size_t q = 0; q < n; ++q) {
        const double share = sum > 0.0 ? (1.0 - kind.residual) * weights[q] / sum : 0.0;
        block(p, q) = static_cast<std::int64_t>((share + (p == q ? kind.residual : 0.0)) * 0x1p60);
      }
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

inline std::vector<std::int64_t> dinic_row(const std::vector<std::int64_t>& top, std::vector<UnitBlock> blocks) {
  const std::size_t inputs = blocks[0].extent(1);
  UnitBlock row({1, top.size()});
  std::copy(top.begin(), top.end(), row.data());
  blocks.push_back(row);
  const IntegerNetwork network{FixedPoint{}, blocks};
  LayeredDinic dinic(network);
  std::vector<std::int64_t> flows;
  for (std::size_t j = 0; j < inputs; ++j) flows.push_back(dinic.solve(top.data(), blocks.size(), j));
  return flows;
}

inline std::vector<std::vector<std::int64_t>> dinic_flows_to_sink(const std::vector<UnitBlock>& blocks) {
  const IntegerNetwork network{FixedPoint{}, blocks};
  LayeredDinic dinic(network);
  std::vector<std::vector<std::int64_t>> flows(blocks.size() + 1);
  for (std::size_t k = 1; k <= blocks.size(); ++k) {
    const UnitBlock& block = blocks[k - 1];
    for (std::size_t p = 0; p < block.extent(0); ++p) {
      flows[k].push_back(dinic.solve(block.data() + p * block.extent(1), k, 0));
    }
  }
  return flows;
}

inline std::vector<double> demand_of_layer(const std::vector<UnitBlock>& blocks, std::size_t k) {
  std::vector<double> demand(blocks[k].extent(1), 0.0);
  for (std::size_t p = 0; p < blocks[k].extent(0); ++p) {
    for (std::size_t q = 0; q < demand.size(); ++q) demand[q] += static_cast<double>(blocks[k](p, q));
  }
  return demand;
}

class SourceOfPass {
 public:
  // `row`: its arcs by position in the network's top layer. The order for the greedy pass is random.
  SourceOfPass(SinkNetwork& network, const std::int64_t* row, std::size_t position, std::mt19937_64& random)
      : pass_(network.pass(position)) {
    network.record();
    const SinkLayer& top = network.layer(network.layers());
    supply_.assign(padded(top.nodes), 0);
    for (std::size_t p = 0; p < top.nodes; ++p) {
      supply_[p] = row[top.position[p]];
      row_cut_ += supply_[p];
      if (supply_[p] > 0) order_.push_back(static_cast<std::uint32_t>(p));
    }
    std::shuffle(order_.begin(), order_.end(), random);
    pass_.supply = supply_.data();
    pass_.source_order = order_.data();
    pass_.sources = order_.size();
    pass_.enough = kManyUnits;
  }
  FlowPass& pass() { return pass_; }
  std::int64_t row_cut() const { return row_cut_; }  // total capacity of its arcs to nodes that reach the sink

 private:
  FlowPass pass_;
  std::vector<std::int64_t> supply_;
  std::vector<std::uint32_t> order_;
  std::int64_t row_cut_ = 0;
};

}  // namespace attnflow::internal
