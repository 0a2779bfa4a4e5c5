#include "attnflow/attribution/attribute.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/graph/layers.h"

namespace attnflow {
namespace {

bool all_single(const TokenGroups& groups) {
  return std::all_of(groups.begin(), groups.end(), [](const auto& group) { return group.size() == 1; });
}

// The outputs' rows in an array that has one row per position of the query.
TokenGroups rows_of(const TokenGroups& outputs) {
  TokenGroups rows;
  std::size_t next = 0;
  for (const auto& output : outputs) {
    std::vector<std::size_t>& group = rows.emplace_back();
    for (std::size_t p = 0; p < output.size(); ++p) group.push_back(next++);
  }
  return rows;
}

// Removes positions after the last column, which have no values.
TokenGroups within(const TokenGroups& groups, std::size_t columns) {
  TokenGroups result = groups;
  for (auto& group : result) std::erase_if(group, [&](std::size_t j) { return j >= columns; });
  return result;
}

// [layer, position, input position] -> [layer, output, input].
Tensor<double> merge(Tensor<double> values, const Query& query) {
  const bool sums = !query.inputs.empty();
  const bool averages = !all_single(query.outputs);
  if (!sums && !averages) return values;
  const TokenGroups inputs = within(query.inputs, values.extent(2));
  const TokenGroups rows = rows_of(query.outputs);
  const std::size_t layers = values.extent(0);
  Tensor<double> merged({layers, query.outputs.size(), sums ? inputs.size() : values.extent(2)});
  for (std::size_t l = 0; l < layers; ++l) {
    Tensor<double> columns;
    if (sums) columns = sum_columns(values[l], inputs);
    const TensorView<const double> summed = sums ? std::as_const(columns).view() : std::as_const(values)[l];
    Tensor<double> mean;
    if (averages) mean = average_rows(summed, rows);
    const double* from = averages ? mean.data() : summed.data();
    std::copy_n(from, merged[l].size(), merged[l].data());
  }
  return merged;
}

// The network has already merged columns; this averages rows.
FlowResult average(FlowResult found, const Query& query) {
  if (all_single(query.outputs)) return found;
  const std::size_t layers = found.flow.extent(0);
  const std::size_t columns = found.flow.extent(2);
  const Shape shape{layers, query.outputs.size(), columns};
  FlowResult merged{Tensor<double>(shape), Tensor<double>(shape), Tensor<std::uint8_t>(shape), found.out_of_time};
  const TokenGroups rows = rows_of(query.outputs);
  for (std::size_t l = 0; l < layers; ++l) {
    for (std::size_t o = 0; o < rows.size(); ++o) {
      const auto count = static_cast<double>(rows[o].size());
      // Each quotient rounds by half a unit in its last place, each sum by half a unit in the total's.
      const double roundings = rows[o].size() > 1 ? count + 4.0 : 0.0;
      for (const std::size_t row : rows[o]) {
        const bool first = row == rows[o].front();
        for (std::size_t j = 0; j < columns; ++j) {
          const double low = found.flow(l, row, j) / count;
          const double rounding = roundings * std::numeric_limits<double>::epsilon() * low;
          merged.flow(l, o, j) += low - rounding;
          merged.flow_gap(l, o, j) += found.flow_gap(l, row, j) / count + 2.0 * rounding;
          const std::uint8_t kind = found.degenerate(l, row, j);
          std::uint8_t& flag = merged.degenerate(l, o, j);
          if (first || kind == 0) flag = kind;
        }
      }
    }
  }
  return merged;
}

}  // namespace

Attribution attribute(AttentionSource& source, const Query& query, const AttributeOptions& options) {
  if (query.layers.empty() || query.outputs.empty()) {
    throw Error(ErrorKind::kUsage, "attribution: expected at least one layer and one output, found none");
  }
  Attribution result{
      .method = query.method, .layers = query.layers, .values = {}, .gap = {}, .degenerate = {}, .baseline = {}};
  RowQuestion question{query.layers, query.start_layer, {}};
  for (const auto& output : query.outputs) {
    question.positions.insert(question.positions.end(), output.begin(), output.end());
  }
  if (query.method == Method::kRaw) question.start_layer = 0;
  resolve_layers(question.layers, question.start_layer, source.layers());
  for (const std::size_t position : question.positions) check_output_token(position, source.tokens());
  const std::unique_ptr<AttentionSource> uniform = query.baseline ? source.uniform() : nullptr;
  switch (query.method) {
    case Method::kRaw:
      result.values = merge(source.raw(question, options), query);
      if (uniform) result.baseline = merge(uniform->raw(question, options), query);
      break;
    case Method::kRollout:
      result.values = merge(source.rollout(question, options), query);
      if (uniform) result.baseline = merge(uniform->rollout(question, {.threads = options.threads}), query);
      break;
    case Method::kFlow: {
      const TokenGroups* const inputs = query.inputs.empty() ? nullptr : &query.inputs;
      const auto flow_of = [&](AttentionSource& asked, double tolerance, const AttributeOptions& how) {
        return average(asked.flow(question, inputs, tolerance, how), query);
      };
      FlowResult found = flow_of(source, query.flow_tolerance, uniform ? part_of(options, 0, 2) : options);
      result.values = std::move(found.flow);
      result.gap = std::move(found.flow_gap);
      result.degenerate = std::move(found.degenerate);
      result.out_of_time = found.out_of_time;
      // Normalization divides by the baseline, which has no interval of its own.
      const double exact = std::min(query.flow_tolerance, FlowOptions{}.tolerance);
      AttributeOptions rest = part_of(options, 1, 2);
      rest.deadline = {};
      if (uniform) result.baseline = flow_of(*uniform, exact, rest).flow;
      break;
    }
    default:
      require_aggregations({query.method}, "matrices of layers");
  }
  return result;
}

std::size_t normalize(Attribution& attribution, Normalization normalization) {
  if (normalization == Normalization::kNone) return 0;
  std::size_t flagged = 0;
  const std::size_t columns = attribution.values.extent(2);
  for (std::size_t l = 0; l < attribution.values.extent(0); ++l) {
    const TensorView<double> values = attribution.values[l];
    double* const gap = attribution.gap.empty() ? nullptr : attribution.gap[l].data();
    if (normalization == Normalization::kRow) {
      const std::vector<double> divisors = normalize_rows(values);
      for (std::size_t e = 0; gap != nullptr && e < values.size(); ++e) gap[e] /= divisors[e / columns];
    } else {
      const ReceptiveField field = normalize_receptive_field(values, std::as_const(attribution.baseline)[l]);
      flagged += field.flagged;
      for (std::size_t e = 0; gap != nullptr && e < values.size(); ++e) gap[e] *= field.scale.data()[e];
    }
  }
  return flagged;
}

}  // namespace attnflow
