// Compares attention_flow() with two independent solvers: augmenting paths in 128 bits on the exact capacities, and
// Dinic's algorithm on the same integers, which must agree to the last bit.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <limits>

#include "attnflow/flow/flow.h"
#include "attnflow/flow/layered_dinic_for_test.h"
#include "attnflow/flow/naive_flow_for_test.h"
#include "attnflow/flow/random_flow_for_test.h"
#include "attnflow/flow/test_share_for_test.h"
#include "attnflow/flow/vector_targets_for_test.h"

namespace attnflow::random_flow_test {
namespace {

using internal::vector_targets;
using internal::VectorTarget;

template <class T>
void merge(Tensor<T>& block, const TokenGroups& groups) {
  Tensor<T> merged({block.extent(0), groups.size()});
  for (std::size_t p = 0; p < block.extent(0); ++p) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const std::size_t j : groups[g]) merged(p, g) += block(p, j);
    }
  }
  block = std::move(merged);
}

// The networks of a problem, built without the code under test: with real capacities in 128 bits, and in units.
class Truth {
 public:
  explicit Truth(const RandomFlow& question) : question_(question) {
    LayeredNetwork below;
    LayeredNetwork tops;
    for (std::size_t k = question.start_layer + 1; k <= question.layers.back(); ++k) {
      below.layers.push_back(question.graph.below(k));
    }
    for (const std::size_t l : question.layers) tops.layers.push_back(question.graph.top(l));
    row_sum_ = std::max(largest_row_sum(below), largest_row_sum(tops));
    units_ = to_units(below, FixedPoint::for_row_sum(row_sum_));
    unit_tops_ = to_units(tops, units_.fixed_point).layers;
    double largest = 0.0;
    for (const auto* network : {&below, &tops}) {
      for (const auto& block : network->layers) {
        for (const double c : block.span()) largest = std::max(largest, c);
      }
    }
    // The largest capacity is scaled to almost 2^20; multiplying by a power of two rounds nothing.
    exponent_ = largest > 0.0 ? 19 - std::ilogb(largest) : 0;
    for (const auto& block : below.layers) wide_.push_back(wide_block(block, exponent_));
    for (const auto& block : tops.layers) wide_tops_.push_back(wide_block(block, exponent_));
    if (question.groups) {
      merge(units_.layers[0], *question.groups);
      merge(wide_[0], *question.groups);
      if (depth(0) == 1) {
        merge(unit_tops_[0], *question.groups);
        merge(wide_tops_[0], *question.groups);
      }
    }
    dinic_.emplace(units_);
  }

  std::size_t depth(std::size_t wanted) const { return question_.layers[wanted] - question_.start_layer; }
  std::size_t sinks() const { return units_.layers[0].extent(1); }
  double row_sum() const { return row_sum_; }
  const FixedPoint& fixed_point() const { return units_.fixed_point; }

  void choose(std::size_t wanted) {
    wanted_ = wanted;
    std::vector<const Tensor<WideUnits>*> layers;
    for (std::size_t k = 1; k < depth(wanted); ++k) layers.push_back(&wide_[k - 1]);
    layers.push_back(&wide_tops_[wanted]);
    naive_.emplace(layers);
    find_end_cuts();
  }

  bool encloses(double low, double gap, std::size_t i, std::size_t j) {
    const WideUnits truth = naive_->solve(i, j);
    // low + gap is rounded to nearest: one more step up is allowed. Values far too large are clamped to fit.
    const double high = std::nextafter(low + gap, std::numeric_limits<double>::infinity());
    const auto wide = [this](double value) { return wide_units(std::min(std::ldexp(value, exponent_), 0x1p26)); };
    const auto arcs = 64 * static_cast<WideUnits>(wide_.size());  // possible rounding in wide_units()
    return wide(low) <= truth + arcs && truth <= wide(high) + 1;
  }

  std::int64_t units(std::size_t i, std::size_t j) {
    const Tensor<std::int64_t>& top = unit_tops_[wanted_];
    return dinic_->solve(top.data() + i * top.extent(1), depth(wanted_), j);
  }

  FlowDegeneracy degenerate(std::size_t i, std::size_t j, std::int64_t flow, double tolerance) const {
    const std::int64_t units = units_.fixed_point.units(std::min(tolerance, row_sum_));
    const std::int64_t column = column_cut_(i, j);
    const std::int64_t row = row_cut_(i, j);
    if (depth(wanted_) == 1 || std::min(column, row) == 0) return FlowDegeneracy::kNone;
    if (column - flow <= units) return FlowDegeneracy::kFirstLayerColumn;
    return row - flow <= units ? FlowDegeneracy::kTopRow : FlowDegeneracy::kNone;
  }

 private:
  void find_end_cuts() {
    const std::size_t d = depth(wanted_);
    const std::size_t n = unit_tops_[wanted_].extent(0);
    column_cut_ = Tensor<std::int64_t>({n, sinks()});
    row_cut_ = Tensor<std::int64_t>({n, sinks()});
    if (d == 1) return;
    const auto product = [](const Tensor<std::int64_t>& a, const Tensor<std::int64_t>& b) {
      Tensor<std::int64_t> result({a.extent(0), b.extent(1)});
      for (std::size_t i = 0; i < a.extent(0); ++i) {
        for (std::size_t k = 0; k < a.extent(1); ++k) {
          for (std::size_t j = 0; a(i, k) > 0 && j < b.extent(1); ++j) {
            if (b(k, j) > 0) result(i, j) = 1;
          }
        }
      }
      return result;
    };
    Tensor<std::int64_t> between({n, n});  // from layer d - 1 to layer 1
    for (std::size_t p = 0; p < n; ++p) between(p, p) = 1;
    for (std::size_t k = d - 1; k >= 2; --k) between = product(between, units_.layers[k - 1]);
    const Tensor<std::int64_t> down = product(unit_tops_[wanted_], between);
    const Tensor<std::int64_t> up = product(between, units_.layers[0]);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < sinks(); ++j) {
        for (std::size_t k = 0; k < n; ++k) {
          column_cut_(i, j) = add_units(column_cut_(i, j), down(i, k) * units_.layers[0](k, j));
          row_cut_(i, j) += unit_tops_[wanted_](i, k) * up(k, j);
        }
      }
    }
  }

  const RandomFlow& question_;
  double row_sum_ = 0.0;
  IntegerNetwork units_;
  std::vector<Tensor<std::int64_t>> unit_tops_;
  int exponent_ = 0;
  std::vector<Tensor<WideUnits>> wide_, wide_tops_;
  std::size_t wanted_ = 0;
  std::optional<NaiveFlow> naive_;
  std::optional<LayeredDinic> dinic_;
  Tensor<std::int64_t> column_cut_, row_cut_;
};

FlowOptions ask(const RandomFlow& question, std::size_t number) {
  FlowOptions options;
  options.layers = question.layers;
  options.start_layer = question.start_layer;
  if (question.groups) options.input_groups = &*question.groups;
  options.threads = number % 16 == 0 ? 3 : 1;
  options.tolerance = number % 3 == 0 ? 1e-3 : 1e-6;
  return options;
}

struct Tally {
  std::size_t pairs = 0, flagged = 0, interior = 0;
};

// Computes all rows, and each row alone, which must agree; pairs chosen by `every` are compared with Dinic's answer,
// and with the exact one if `exactly`.
void check_question(const RandomFlow& question, std::size_t number, std::size_t every, bool exactly, Tally& tally) {
  FlowOptions options = ask(question, number);
  Truth truth(question);
  const FlowResult all = attention_flow(question.graph, options);
  const std::size_t n = question.graph.tokens();
  const std::size_t sinks = truth.sinks();
  ASSERT_EQ(all.flow.shape(), (Shape{question.layers.size(), n, sinks}));
  // One unit per arc that a cut can have, and rounding; tiny numbers have their own unit (FixedPoint).
  const auto tokens = static_cast<double>(n);
  const auto depth = static_cast<double>(question.layers.back() - question.start_layer);
  const double max_gap = (tokens * tokens * (depth + 1.0) * 0x1p-59 + 0x1p-50) *
                         (truth.row_sum() > 0.0 ? std::max(truth.row_sum(), 0x1p-900) : 1.0);
  std::size_t pair = number;
  for (std::size_t w = 0; w < question.layers.size(); ++w) {
    truth.choose(w);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < sinks; ++j) {
        if (pair++ % every != 0) continue;
        const double low = all.flow(w, i, j);
        const double gap = all.flow_gap(w, i, j);
        const std::int64_t units = truth.units(i, j);
        ++tally.pairs;
        const bool capacity = truth.depth(w) == 1 && !question.groups;
        if (capacity) {
          EXPECT_EQ(low, question.graph.top(question.layers[w])(i, j));
          EXPECT_EQ(gap, 0.0);
        } else {
          EXPECT_EQ(low, truth.fixed_point().value_below(units)) << w << " " << i << " " << j;
        }
        if (exactly) {
          EXPECT_TRUE(truth.encloses(low, gap, i, j)) << w << " " << i << " " << j << ": " << low << " + " << gap;
        }
        EXPECT_TRUE(gap >= 0.0 && gap <= max_gap) << gap << " > " << max_gap;
        const FlowDegeneracy kind = truth.degenerate(i, j, units, options.tolerance);
        EXPECT_EQ(all.degenerate(w, i, j), static_cast<std::uint8_t>(kind)) << w << " " << i << " " << j;
        ++(kind == FlowDegeneracy::kNone ? tally.interior : tally.flagged);
      }
    }
  }
  options.threads = 1;
  for (std::size_t i = 0; i < n; ++i) {
    options.output_token = i;
    const FlowResult row = attention_flow(question.graph, options);
    ASSERT_EQ(row.flow.shape(), (Shape{question.layers.size(), 1, sinks}));
    for (std::size_t w = 0; w < question.layers.size(); ++w) {
      for (std::size_t j = 0; j < sinks; ++j) {
        EXPECT_EQ(row.flow(w, 0, j), all.flow(w, i, j)) << w << " " << i << " " << j;
        EXPECT_EQ(row.flow_gap(w, 0, j), all.flow_gap(w, i, j)) << w << " " << i << " " << j;
        EXPECT_EQ(row.degenerate(w, 0, j), all.degenerate(w, i, j)) << w << " " << i << " " << j;
      }
    }
  }
}

TEST(RandomFlow, SmallStacksAgreeWithTheExactSolver) {
  const std::vector<std::int64_t> targets = vector_targets();
  std::cout << "             vector code for " << internal::vector_target_names() << "\n";
  const std::size_t stacks = share_of(10000, "random stacks");
  Tally tally;
  for (std::size_t s = 0; s < stacks; ++s) {
    const RandomFlow question = random_flow_question(1000 + s);
    SCOPED_TRACE(question.name);
    const VectorTarget target(targets[s % targets.size()]);
    check_question(question, s, 1, true, tally);
    if (HasFailure()) FAIL() << "stops at the first wrong stack";
  }
  std::cout << "             " << tally.pairs << " pairs, " << tally.flagged << " of them degenerate\n";
  EXPECT_GT(tally.flagged, tally.pairs / 10);
  EXPECT_GT(tally.interior, tally.pairs / 10);
}

TEST(RandomFlow, LargerStacksAgreeWithDinic) {
  const std::vector<std::int64_t> targets = vector_targets();
  const std::size_t stacks = share_of(40, "larger random stacks");
  Tally tally;
  for (std::size_t s = 0; s < stacks; ++s) {
    const RandomFlow question = random_flow_question(
        900000 + s, {.least_tokens = 16, .max_tokens = 40, .least_layers = 3, .max_layers = 12, .odd_scales = false});
    SCOPED_TRACE(question.name);
    const VectorTarget target(targets[s % targets.size()]);
    check_question(question, s, 3, false, tally);
    if (HasFailure()) FAIL() << "stops at the first wrong stack";
  }
  std::cout << "             " << tally.pairs << " pairs, " << tally.flagged << " of them degenerate\n";
}

}  // namespace
}  // namespace attnflow::random_flow_test
