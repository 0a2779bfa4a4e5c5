#include "attnflow/explain/fill_generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "attnflow/attribution/attribute.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/error.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/explain/sink_note.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/layers.h"

namespace attnflow {
namespace {

class ValueFiller {
 public:
  ValueFiller(const GenerationQuestion& question, Report& report) : question_(question), report_(report) {}

  // Adds the generated tokens' rows, each from the network of the positions that it sees.
  void add(Method method, Tensor<double>& values, GenerationValues& beside) {
    const MethodValues place = method_values(report_, method);
    const std::size_t layers = place.layers->size();
    const std::size_t rows = place.output_tokens->size();
    const bool by_field = report_.settings.normalization == Normalization::kReceptiveField;
    // Flow and row sums involve every token of a row, even if its column is not kept.
    const bool all_columns = question_.generated_columns || by_field || method == Method::kFlow;
    values = Tensor<double>({layers, rows, columns()});
    if (question_.generated_columns) beside.generated = Tensor<double>({layers, rows, count()});
    if (by_field) beside.normalized = Tensor<double>({layers, rows, columns()});
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t t = chosen_token(report_, (*place.output_tokens)[row]);
      Query query = generation_query(method, question_.prompt_tokens, question_.words, report_,
                                     question_.prompt_tokens - 1 + t, all_columns);
      query.baseline = by_field;
      Attribution found =
          attribute(*question_.sources[t], query, {.threads = question_.threads, .stop_token = question_.stop_token});
      for (std::size_t l = 0; l < layers; ++l) {
        const std::span<const double> all(found.values[l][0].data(), found.values.extent(2));
        std::copy_n(all.begin(), columns(), values[l][row].data());
        if (question_.generated_columns) {
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
      if (method == Method::kFlow && question_.progress) question_.progress(row + 1, rows);
    }
  }

  void add_flow() {
    std::vector<std::size_t>& outputs = report_.flow_output_tokens;
    for (const std::size_t t : question_.flow_tokens) {
      if (t < count()) outputs.push_back(report_.output_tokens[t]);
    }
    std::sort(outputs.begin(), outputs.end());
    if (question_.flow_tokens.empty()) outputs = report_.output_tokens;
    if (outputs.empty()) {
      report_.flow_layers.clear();
    } else {
      const Shape shape{report_.flow_layers.size(), outputs.size(), columns()};
      report_.flow_gap = Tensor<double>(shape);
      report_.flow_degenerate = Tensor<std::uint8_t>(shape);
      add(Method::kFlow, report_.flow, report_.flow_beside);
    }
    if (outputs.size() < question_.flow_tokens.size()) {
      report_.notes.push_back({NoteCode::kFlowTokensNotGenerated, {{"tokens", count()}}});
    }
  }

  void add_sink_share() {
    const std::vector<std::size_t>& layers = report_.settings.layers;
    Tensor<double>& share = report_.generation->sink_share;
    share = Tensor<double>({layers.size(), count()});
    for (std::size_t l = 0; l < layers.size(); ++l) {
      for (std::size_t t = 0; t < count(); ++t)
        share(l, t) = question_.first_share(layers[l], question_.prompt_tokens - 1 + t);
    }
  }

  std::size_t flagged() const { return flagged_; }

 private:
  std::size_t count() const { return report_.generation->tokens.size(); }
  std::size_t columns() const { return report_.input.tokens.size(); }

  const GenerationQuestion& question_;
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

void note_learned_sinks(Report& report, const GenerationQuestion& question) {
  const Settings& settings = report.settings;
  if (!question.token_share || settings.mixing != Mixing::kAttention ||
      settings.column_mask.kind != ColumnMask::Kind::kNone) {
    return;
  }
  double missing = 0.0;
  const std::size_t count = report.generation->tokens.size();
  for (const std::size_t layer : settings.layers) {
    for (std::size_t t = 0; t < count; ++t)
      missing += 1.0 - question.token_share(layer, question.prompt_tokens - 1 + t);
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

}  // namespace

void check_generation_settings(const Settings& settings) {
  validate(settings);
  const auto expect = [](bool holds, const std::string& message) {
    if (!holds) throw Error(ErrorKind::kUsage, message);
  };
  expect(settings.discard == 0.0,
         "--discard is not available for a generation: it drops the smallest weights of whole layers, but a generation "
         "adds one row at a time");
  expect(settings.normalization != Normalization::kRow,
         "--normalize: expected none or receptive-field for a generation, found row");
  // While the model runs, the baseline does not know the mixing's diagonal.
  const MixingInfo& mixing = mixing_info(settings.mixing);
  expect(settings.normalization != Normalization::kReceptiveField || mixing.needs != MixingNeeds::kTerms ||
             mixing.takes_residual(),
         fmt::format("--normalize receptive-field: expected --mixing attention, value-zeroing or relevance for a "
                     "generation, found {}",
                     mixing.name));
  // Rollout keeps rows as they come; layers below a head's own use the mean over heads.
  expect(
      !settings.heads.is_single() || (!settings.wants(Method::kRollout) && !settings.wants(Method::kFlow)),
      fmt::format(
          "--heads {0}: expected --method raw, the only method for a single head of a generation, found --method {1}; "
          "for rollout and flow use --heads mean, max or min, or attnflow explain --heads {0} on the finished text",
          to_text(settings.heads), fmt::join(to_texts(settings.methods), ",")));
}

void set_flow_layers(Report& report, const std::vector<std::size_t>& asked) {
  if (!report.settings.wants(Method::kFlow)) return;
  report.flow_layers = {report.settings.layers.back()};
  if (!asked.empty()) report.flow_layers = resolve_layers(asked, report.settings.start_layer, report.model.layers);
}

void drop_flow(Report& report) {
  report.flow = report.flow_gap = {};
  report.flow_degenerate = {};
  report.flow_beside = {};
  report.flow_output_tokens.clear();
  report.flow_layers.clear();
}

void place_outputs(Report& report) {
  const std::size_t first = report.input.tokens.size() - 1;
  for (std::size_t t = 0; t < report.generation->tokens.size(); ++t) report.output_tokens.push_back(first + t);
  report.output_token = first;
  report.all_output_tokens = true;
}

Query generation_query(Method method, std::size_t prompt_tokens, const TokenGroups& words, const Report& report,
                       std::size_t position, bool all_columns) {
  const Settings& settings = report.settings;
  Query query{.method = method, .outputs = {{position}}};
  query.layers = *method_values(report, method).layers;
  query.start_layer = settings.start_layer;
  query.flow_tolerance = settings.flow_tolerance;
  if (settings.words || !all_columns) {
    query.inputs = settings.words ? words : single_tokens(prompt_tokens);
    for (std::size_t j = prompt_tokens; all_columns && j <= position; ++j) query.inputs.push_back({j});
  }
  return query;
}

void fill_generation(Report& report, const GenerationQuestion& question) {
  ValueFiller values(question, report);
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
  if (question.first_share) {
    values.add_sink_share();
    note_generation_sink(report);
    note_next_generation_sink(report);
  }
  note_learned_sinks(report, question);
  if (values.flagged() > 0) report.notes.push_back(flagged_note(values.flagged()));
}

}  // namespace attnflow
