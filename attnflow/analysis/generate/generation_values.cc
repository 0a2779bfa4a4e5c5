#include "attnflow/analysis/generate/generation_values.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "attnflow/attribution/attribute.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/progress.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/explain/sink_note.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/layers.h"

namespace attnflow::internal {
namespace {

class ValueFiller {
 public:
  ValueFiller(const GenerationRows& rows, const GenerateOptions& options, Report& report)
      : rows_(rows), options_(options), report_(report) {}

  // Adds the generated tokens' rows, each from the network of the positions that it sees.
  void add(Method method, Tensor<double>& values, GenerationValues& beside) {
    const MethodValues place = method_values(report_, method);
    const std::size_t layers = place.layers->size();
    const std::size_t rows = place.output_tokens->size();
    const bool by_field = report_.settings.normalization == Normalization::kReceptiveField;
    // Flow and row sums involve every token of a row, even if its column is not kept.
    const bool all_columns = options_.generated_columns || by_field || method == Method::kFlow;
    values = Tensor<double>({layers, rows, columns()});
    if (options_.generated_columns) beside.generated = Tensor<double>({layers, rows, count()});
    if (by_field) beside.normalized = Tensor<double>({layers, rows, columns()});
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t t = chosen_token(report_, (*place.output_tokens)[row]);
      Query query = generation_query(method, report_, rows_, rows_.prompt_tokens - 1 + t, all_columns);
      query.baseline = by_field;
      Attribution found =
          attribute(*rows_.sources[t], query, {.threads = options_.threads, .stop_token = options_.stop_token});
      for (std::size_t l = 0; l < layers; ++l) {
        const std::span<const double> all(found.values[l][0].data(), found.values.extent(2));
        std::copy_n(all.begin(), columns(), values[l][row].data());
        if (options_.generated_columns) {
          std::copy(all.begin() + static_cast<std::ptrdiff_t>(columns()), all.end(), beside.generated[l][row].data());
        }
        if (!found.gap.empty()) {
          std::copy_n(found.gap[l][0].data(), columns(), report_.flow_gap[l][row].data());
          std::copy_n(found.degenerate[l][0].data(), columns(), report_.flow_degenerate[l][row].data());
        }
      }
      if (by_field) {
        flagged_ += normalize(found, Normalization::kReceptiveField);
        for (std::size_t l = 0; l < layers; ++l) {
          std::copy_n(found.values[l][0].data(), columns(), beside.normalized[l][row].data());
        }
      }
      if (method == Method::kFlow && options_.progress) options_.progress(row + 1, rows);
    }
  }

  void add_flow() {
    std::vector<std::size_t>& outputs = report_.flow_output_tokens;
    for (const std::size_t t : options_.flow_tokens) {
      if (t < count()) outputs.push_back(report_.output_tokens[t]);
    }
    std::sort(outputs.begin(), outputs.end());
    if (options_.flow_tokens.empty()) outputs = report_.output_tokens;
    if (outputs.empty()) {
      report_.flow_layers.clear();
    } else {
      const Shape shape{report_.flow_layers.size(), outputs.size(), columns()};
      report_.flow_gap = Tensor<double>(shape);
      report_.flow_degenerate = Tensor<std::uint8_t>(shape);
      add(Method::kFlow, report_.flow, report_.flow_beside);
    }
    if (outputs.size() < options_.flow_tokens.size()) {
      report_.notes.push_back({NoteCode::kFlowTokensNotGenerated, {{"tokens", count()}}});
    }
  }

  void add_sink_share() {
    const std::vector<std::size_t>& layers = report_.settings.layers;
    Tensor<double>& share = report_.generation->sink_share;
    share = Tensor<double>({layers.size(), count()});
    for (std::size_t l = 0; l < layers.size(); ++l) {
      for (std::size_t t = 0; t < count(); ++t)
        share(l, t) = rows_.sink.first_share(layers[l], rows_.prompt_tokens - 1 + t);
    }
  }

  std::size_t flagged() const { return flagged_; }

 private:
  std::size_t count() const { return report_.generation->tokens.size(); }
  std::size_t columns() const { return report_.input.tokens.size(); }

  const GenerationRows& rows_;
  const GenerateOptions& options_;
  Report& report_;
  std::size_t flagged_ = 0;
};

double mean_of(const Tensor<double>& values) {
  return std::accumulate(values.span().begin(), values.span().end(), 0.0) / static_cast<double>(values.size());
}

void note_generation_sink(Report& report) {
  // Attention on the first token that brings nothing from it matters for attention mixing only.
  if (report.settings.mixing != Mixing::kAttention) return;
  if (report.settings.column_mask.kind != ColumnMask::Kind::kNone) return;
  add_sink_note(report.notes, NoteCode::kAttentionSinkGenerated, mean_of(report.generation->sink_share),
                display_text(report.input, 0));
}

// Rows of attention that sum to less than 1 have learned sinks.
void note_learned_sinks(Report& report, const GenerationRows& rows) {
  const Settings& settings = report.settings;
  if (settings.mixing != Mixing::kAttention || settings.column_mask.kind != ColumnMask::Kind::kNone) return;
  double missing = 0.0;
  const std::size_t count = report.generation->tokens.size();
  for (const std::size_t layer : settings.layers) {
    for (std::size_t t = 0; t < count; ++t) {
      const std::span<const double> row = rows.sink.raw(layer, rows.prompt_tokens - 1 + t);
      missing += 1.0 - std::accumulate(row.begin(), row.end(), 0.0);
    }
  }
  missing /= static_cast<double>(settings.layers.size() * count);
  if (missing > kRowSumTolerance) report.notes.push_back({NoteCode::kLearnedSinks, {{"share", missing}}});
}

void note_next_generation_sink(Report& report) {
  const Tensor<double>& values = report.rollout;
  const Settings& settings = report.settings;
  if (settings.mixing != Mixing::kAttention) return;
  if (settings.column_mask.kind != ColumnMask::Kind::kFirst || settings.normalization != Normalization::kNone ||
      settings.start_layer != 0 || values.empty() || values.extent(2) < 2) {
    return;
  }
  double sum = 0.0;
  for (std::size_t l = 0; l < values.extent(0); ++l) {
    for (std::size_t row = 0; row < values.extent(1); ++row) sum += values(l, row, 1);
  }
  const double share = sum / static_cast<double>(values.extent(0) * values.extent(1));
  add_sink_note(report.notes, NoteCode::kSecondTokenSinkGenerated, share, display_text(report.input, 1));
}

void drop_flow(Report& report) {
  report.flow = report.flow_gap = {};
  report.flow_degenerate = {};
  report.flow_beside = {};
  report.flow_output_tokens.clear();
  report.flow_layers.clear();
}

}  // namespace

Query generation_query(Method method, const Report& report, const GenerationRows& rows, std::size_t position,
                       bool all_columns) {
  const Settings& settings = report.settings;
  Query query{.method = method, .outputs = {{position}}};
  query.layers = *method_values(report, method).layers;
  query.start_layer = settings.start_layer;
  query.flow_tolerance = settings.flow_tolerance;
  if (settings.words || !all_columns) {
    query.inputs = settings.words ? rows.words : single_tokens(rows.prompt_tokens);
    for (std::size_t j = rows.prompt_tokens; all_columns && j <= position; ++j) query.inputs.push_back({j});
  }
  return query;
}

void fill_generation(Report& report, const GenerationRows& rows, const GenerateOptions& options) {
  ValueFiller values(rows, options, report);
  if (report.settings.wants(Method::kRaw)) values.add(Method::kRaw, report.raw, report.raw_beside);
  if (report.settings.wants(Method::kRollout)) values.add(Method::kRollout, report.rollout, report.rollout_beside);
  if (report.settings.wants(Method::kFlow)) {
    try {
      values.add_flow();
    } catch (const Cancelled&) {  // flow takes longest; keep the rest
      drop_flow(report);
      report.notes.emplace_back(NoteCode::kFlowInterrupted);
    }
  }
  if (!rows.is_joint) {
    values.add_sink_share();
    note_generation_sink(report);
    note_next_generation_sink(report);
    note_learned_sinks(report, rows);
  }
  if (values.flagged() > 0) report.notes.push_back(flagged_note(values.flagged()));
}

void drop_values(Report& report) {
  report.raw = report.rollout = {};
  report.raw_beside = report.rollout_beside = {};
  drop_flow(report);
}

}  // namespace attnflow::internal
