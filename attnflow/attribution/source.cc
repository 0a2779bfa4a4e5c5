#include "attnflow/attribution/source.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "attnflow/base/available_memory.h"
#include "attnflow/base/error.h"
#include "attnflow/flow/causal_network.h"
#include "attnflow/graph/gradient_mixing.h"
#include "attnflow/rollout/replay_rollout.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow {
namespace {

// Memory for replayed rows, all heads together.
constexpr std::size_t kReplayedBytes = std::size_t{64} << 20;

FlowOptions flow_options(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                         const AttributeOptions& options) {
  FlowOptions flow{.layers = question.layers, .start_layer = question.start_layer};
  flow.tolerance = tolerance;
  // Smaller tolerances would save no work.
  if (tolerance > FlowOptions{}.tolerance) flow.max_gap = tolerance;
  flow.threads = options.threads;
  flow.progress = options.progress;
  flow.stop_token = options.stop_token;
  flow.deadline = options.deadline;
  flow.input_groups = inputs;
  return flow;
}

// Copies `from`, one row, to row `position` of `to`, whose further columns stay 0.
void add_row(const FlowResult& from, std::size_t position, FlowResult& to) {
  to.out_of_time = to.out_of_time || from.out_of_time;
  const std::size_t columns = from.flow.extent(2);
  for (std::size_t l = 0; l < from.flow.extent(0); ++l) {
    for (std::size_t j = 0; j < columns; ++j) {
      to.flow(l, position, j) = from.flow(l, 0, j);
      to.flow_gap(l, position, j) = from.flow_gap(l, 0, j);
      to.degenerate(l, position, j) = from.degenerate(l, 0, j);
    }
  }
}

FlowResult empty_flow(const RowQuestion& question, std::size_t columns) {
  const Shape shape{question.layers.size(), question.positions.size(), columns};
  return {Tensor<double>(shape), Tensor<double>(shape), Tensor<std::uint8_t>(shape)};
}

bool is_every(const std::vector<std::size_t>& positions, std::size_t n) {
  if (positions.size() != n) return false;
  for (std::size_t i = 0; i < n; ++i) {
    if (positions[i] != i) return false;
  }
  return true;
}

// The number of input positions up to the last that any row sees.
std::size_t columns_of(const RowQuestion& question) {
  return *std::max_element(question.positions.begin(), question.positions.end()) + 1;
}

// Returns [layer, position, column]. `row_of(layer, position)` gives one row, which may be shorter than `columns` or is
// cut to them. It is called for all layers of a position before the next position.
template <typename RowOf>
Tensor<double> rows_of(const RowQuestion& question, std::size_t columns, const RowOf& row_of) {
  Tensor<double> rows({question.layers.size(), question.positions.size(), columns});
  for (std::size_t p = 0; p < question.positions.size(); ++p) {
    for (std::size_t l = 0; l < question.layers.size(); ++l) {
      const auto& row = row_of(question.layers[l], question.positions[p]);
      std::copy_n(row.data(), std::min(row.size(), columns), rows[l][p].data());
    }
  }
  return rows;
}

// Passes on each replayed row with fused heads: as many values as its position sees.
class RowSink : public AttentionSink {
 public:
  using Take = std::function<void(std::size_t layer, std::size_t position, std::span<double> row)>;
  RowSink(MixingOptions mixing, Take take) : mixing_(std::move(mixing)), take_(std::move(take)) {}
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override {
    const Tensor<double> rows = fused_rows(attention, mixing_, query_begin);
    for (std::size_t q = 0; q < rows.extent(0); ++q) {
      const std::size_t p = query_begin + q;
      row_.assign(p + 1, 0.0);
      std::copy_n(rows[q].data(), std::min(row_.size(), rows.extent(1)), row_.data());
      take_(layer, p, row_);
    }
  }

 private:
  MixingOptions mixing_;
  Take take_;
  std::vector<double> row_;
};

}  // namespace

AttributeOptions part_of(const AttributeOptions& options, std::size_t part, std::size_t parts) {
  AttributeOptions result = options;
  if (options.progress && parts > 1) {
    result.progress = [progress = options.progress, part, parts](std::size_t done, std::size_t total) {
      constexpr std::size_t kSteps = 100;  // the steps' own units differ
      progress(part * kSteps + done * kSteps / total, parts * kSteps);
    };
  }
  return result;
}

Tensor<double> GraphSource::raw(const RowQuestion& question, const AttributeOptions&) {
  const std::size_t n = graph_.tokens();
  Tensor<double> values = rows_of(question, n, [&](std::size_t layer, std::size_t position) {
    return std::span<const double>(graph_.weights.data() + ((layer - 1) * n + position) * n, n);
  });
  for (double& value : values.span()) value *= graph_.unit;
  return values;
}

Tensor<double> GraphSource::rollout(const RowQuestion& question, const AttributeOptions& options) {
  if (is_every(question.positions, graph_.tokens())) {
    return attnflow::rollout(graph_, {question.layers, question.start_layer, options.threads});
  }
  return rows_of(question, graph_.tokens(), [&](std::size_t layer, std::size_t position) {
    return rollout_row(graph_, position, layer, question.start_layer);
  });
}

// Calls `function` while the graph has flow's residual rule.
template <typename Function>
auto GraphSource::with_flow_rule(const Function& function) {
  struct Restore {
    ResidualRule& rule;
    ResidualRule before;
    ~Restore() { rule = before; }
  };
  const Restore restore{graph_.residual_rule, graph_.residual_rule};
  graph_.residual_rule = flow_rule(graph_.residual_rule);
  return function();
}

FlowResult GraphSource::flow(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                             const AttributeOptions& options) {
  return with_flow_rule([&] {
    FlowOptions flow = flow_options(question, inputs, tolerance, options);
    flow.max_gap /= graph_.unit;
    FlowResult result;
    if (is_every(question.positions, graph_.tokens())) {
      result = attention_flow(graph_, flow);
    } else {
      result = empty_flow(question, inputs == nullptr ? graph_.tokens() : inputs->size());
      for (std::size_t p = 0; p < question.positions.size(); ++p) {
        flow.output_token = question.positions[p];
        flow.progress = part_of(options, p, question.positions.size()).progress;
        add_row(attention_flow(graph_, flow), p, result);
      }
    }
    for (double& value : result.flow.span()) value *= graph_.unit;
    for (double& value : result.flow_gap.span()) value *= graph_.unit;
    return result;
  });
}

LayeredNetwork GraphSource::network(std::size_t layer, std::size_t start_layer) {
  return with_flow_rule([&] { return attention_network(graph_, layer, start_layer); });
}

std::unique_ptr<AttentionSource> GraphSource::uniform() const {
  return std::make_unique<GraphSource>(graph_.residual_rule == ResidualRule::kConvex
                                           ? uniform_graph(graph_.layers(), graph_.tokens(), mask_, graph_.residual)
                                           : spread_evenly(graph_, mask_),
                                       mask_);
}

Tensor<double> ReplaySource::raw(const RowQuestion& question, const AttributeOptions&) {
  std::vector<double> found;
  RowSink sink(mixing_, [&](std::size_t, std::size_t, std::span<double> row) { found.assign(row.begin(), row.end()); });
  return rows_of(question, attention_.tokens(), [&](std::size_t layer, std::size_t position) {
    attention_.rows(layer, position, position + 1, sink);
    return std::span<const double>(found);
  });
}

Tensor<double> ReplaySource::rollout(const RowQuestion& question, const AttributeOptions& options) {
  std::size_t all = 0, done = 0;  // layers
  for (const std::size_t layer : question.layers) all += question.positions.size() * (layer - question.start_layer);
  return rows_of(question, attention_.tokens(), [&](std::size_t layer, std::size_t position) {
    ReplayRolloutOptions ask;
    ask.output_token = position;
    ask.layer = layer;
    ask.start_layer = question.start_layer;
    ask.mixing = mixing_;
    ask.stop_token = options.stop_token;
    ask.progress = [&](std::size_t, std::size_t) {
      if (options.progress) options.progress(++done, all);
    };
    return replay_rollout(attention_, ask);
  });
}

FlowResult ReplaySource::flow(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                              const AttributeOptions& options) {
  const std::size_t n = attention_.tokens();
  const std::size_t layers = question.layers.back();
  const std::size_t rows = std::max<std::size_t>(1, kReplayedBytes / (attention_.heads() * n * sizeof(float)));
  const std::optional<std::size_t> available = available_memory();  // before the network is allocated
  CausalNetwork network(layers, n);
  RowSink sink(below_top(mixing_), [&](std::size_t layer, std::size_t position, std::span<double> row) {
    add_residual(row, position, mixing_.residual);
    network.set_row(layer, position, row);
  });
  const AttributeOptions reading = part_of(options, 0, 2), solving = part_of(options, 1, 2);
  const std::size_t all = (n + rows - 1) / rows * (layers - question.start_layer);
  std::size_t done = 0;
  for (std::size_t begin = 0; begin < n; begin += rows) {
    for (std::size_t l = question.start_layer + 1; l <= layers; ++l) {
      if (options.stop_token.stop_requested()) throw Cancelled();
      attention_.rows(l, begin, std::min(n, begin + rows), sink);
      if (reading.progress) reading.progress(++done, all);
    }
  }
  FlowResult result = empty_flow(question, inputs == nullptr ? n : inputs->size());
  RowSink top(mixing_, [&](std::size_t layer, std::size_t position, std::span<double> row) {
    add_residual(row, position, mixing_.residual);
    network.set_top(layer, {row.begin(), row.end()});
  });
  FlowOptions flow = flow_options(question, inputs, tolerance, solving);
  flow.memory_limit = available;
  if (options.max_memory > 0) flow.memory_limit = std::min(options.max_memory, available.value_or(options.max_memory));
  for (std::size_t p = 0; p < question.positions.size(); ++p) {
    flow.output_token = question.positions[p];
    for (const std::size_t l : question.layers) {
      attention_.rows(l, question.positions[p], question.positions[p] + 1, top);
    }
    flow.progress = part_of(solving, p, question.positions.size()).progress;
    add_row(attention_flow(network, flow), p, result);
  }
  return result;
}

std::unique_ptr<AttentionSource> ReplaySource::uniform() const {
  return uniform_source(/*causal*/ true, attention_.layers(), mixing_.residual, attention_.tokens());
}

Tensor<double> RowsSource::values(Method method, const GivenRows::Row& row, const RowQuestion& question) const {
  if (given_.whole && is_every(question.positions, given_.tokens)) {
    if (Tensor<double> whole = given_.whole(method, question); !whole.empty()) return whole;
  }
  return rows_of(question, given_.columns > 0 ? given_.columns : columns_of(question),
                 [&](std::size_t layer, std::size_t position) { return row(question, layer, position); });
}

Tensor<double> RowsSource::raw(const RowQuestion& question, const AttributeOptions&) {
  return values(Method::kRaw, given_.raw, question);
}

Tensor<double> RowsSource::rollout(const RowQuestion& question, const AttributeOptions&) {
  return values(Method::kRollout, given_.rollout, question);
}

// The flow from each position, in the graph of the positions that it sees.
FlowResult RowsSource::flow(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                            const AttributeOptions& options) {
  if (!given_.graph) {
    throw Error(ErrorKind::kUsage, "flow: expected the matrices of all layers, found only rows of them");
  }
  const auto seen_by = [&](std::size_t tokens) {
    TokenGroups seen;
    if (inputs == nullptr) return seen;
    for (const std::vector<std::size_t>& group : *inputs) {
      std::vector<std::size_t> begun;
      std::copy_if(group.begin(), group.end(), std::back_inserter(begun), [&](std::size_t j) { return j < tokens; });
      if (!begun.empty()) seen.push_back(std::move(begun));
    }
    return seen;
  };
  const std::size_t columns = std::max(given_.columns, columns_of(question));
  FlowResult result = empty_flow(question, inputs == nullptr ? columns : seen_by(columns).size());
  for (std::size_t p = 0; p < question.positions.size(); ++p) {
    const std::size_t tokens = question.positions[p] + 1;
    const TokenGroups groups = seen_by(tokens);
    FlowOptions flow = flow_options(question, inputs == nullptr ? nullptr : &groups, tolerance,
                                    part_of(options, p, question.positions.size()));
    flow.output_token = question.positions[p];
    add_row(attention_flow(given_.graph(question, tokens), flow), p, result);
  }
  return result;
}

std::unique_ptr<AttentionSource> uniform_source(const AttentionMask& mask, std::size_t layers, double residual,
                                                std::size_t columns) {
  GivenRows given;
  given.layers = layers;
  given.tokens = columns > 0 ? columns : std::numeric_limits<std::size_t>::max();
  given.columns = columns;
  given.raw = [mask, row = std::vector<double>()](const RowQuestion&, std::size_t layer, std::size_t position) mutable {
    const AttentionMask::Keys keys = mask.keys(layer, position, position + 1);
    row.assign(position + 1, 0.0);
    std::fill_n(row.data() + keys.begin, keys.size(), 1.0 / static_cast<double>(keys.size()));
    return std::span<const double>(row);
  };
  given.rollout = [mask, residual, by_layer = Tensor<double>()](const RowQuestion& question, std::size_t layer,
                                                                std::size_t position) mutable {
    if (layer == question.layers.front()) {
      by_layer = uniform_rollout_rows(mask, position, question.layers.back(), question.start_layer, residual);
    }
    return std::span<const double>(std::as_const(by_layer)[layer - question.start_layer - 1].span());
  };
  given.graph = [mask, residual](const RowQuestion& question, std::size_t tokens) {
    return uniform_graph(question.layers.back(), tokens, mask, residual);
  };
  given.uniform = [=] { return uniform_source(mask, layers, residual, columns); };
  return std::make_unique<RowsSource>(std::move(given));
}

}  // namespace attnflow
