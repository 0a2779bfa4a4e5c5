#include "attnflow/explain/fill_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "attnflow/attribution/attribute.h"
#include "attnflow/attribution/degeneracy.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/available_memory.h"
#include "attnflow/base/checked_size.h"
#include "attnflow/base/format_error.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/explain/certificates.h"
#include "attnflow/explain/degeneracy_note.h"
#include "attnflow/explain/pooled_output.h"
#include "attnflow/explain/referents.h"
#include "attnflow/explain/sink_note.h"
#include "attnflow/flow/flow_memory.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/layers.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow {
namespace {

Query query_of(Method method, const Settings& settings, const TokenGroups& words) {
  Query query{.method = method, .layers = settings.layers, .start_layer = settings.start_layer};
  query.inputs = words;
  query.baseline = settings.normalization == Normalization::kReceptiveField;
  query.flow_tolerance = settings.flow_tolerance;
  return query;
}

AttributeOptions attribute_options(const ExplainOptions& options) {
  return {.threads = options.threads,
          .progress = options.progress,
          .stop_token = options.stop_token,
          .deadline = Deadline::in(std::chrono::duration<double>(options.max_flow_seconds)),
          .max_memory = options.max_memory};
}

void check_finite(const Report& report) {
  for (const Method method : kAggregations) {
    const auto values = method_values(report, method).values->span();
    if (std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) continue;
    throw internal::file_error(
        "{}: expected finite values, found some that overflow float64: the rows of the attention sum to far more than "
        "1; pass {}",
        to_text(method),
        report.settings.has_target() ? "--mixing gradient-renormalized" : "--renormalize instead of --any-weights");
  }
}

void note_degenerate(Report& report, const Attribution& flow) {
  DegeneracyQuestion question;
  question.start_layer = report.settings.start_layer;
  question.mixing = report.settings.mixing;
  // With a target, other output tokens have only the identity in the score's layer: all values would be degenerate.
  const auto shown = row_index(report.flow_output_tokens, report.output_token);
  const std::optional<std::size_t> only = report.settings.has_target() ? shown : std::nullopt;
  if (only) question.output_token = report.output_token;
  for (std::size_t l = 0; l < flow.layers.size(); ++l) question.layers.push_back(count_degenerate(flow, l, only));
  if (report.flow_output_tokens.size() > 1 && !only && shown) {
    question.shown = count_degenerate(flow, flow.layers.size() - 1, shown);
  }
  if (auto note = degeneracy_note(question)) report.notes.push_back(*std::move(note));
}

// `on_first`: by layer, the share of the output token's attention on the first token.
void note_sink(Report& report, const std::vector<double>& on_first, std::size_t output) {
  if (!report.model.causal || output == 0 || report.settings.column_mask.kind != ColumnMask::Kind::kNone) return;
  const double mean = std::accumulate(on_first.begin(), on_first.end(), 0.0) / static_cast<double>(on_first.size());
  if (mean < 2.0 / static_cast<double>(output + 1)) return;  // with few tokens, each has a large share
  add_sink_note(report.notes, NoteCode::kAttentionSink, mean, display_text(report.input, 0));
}

void note_sink(Report& report, const AttentionGraph& graph, std::size_t output) {
  if (graph.residual_rule != ResidualRule::kConvex) return;
  std::vector<double> on_first;
  for (std::size_t l = 0; l < graph.layers(); ++l) on_first.push_back(graph.weights(l, output, 0));
  note_sink(report, on_first, output);
}

// A model's rows sum to less than 1 only if it has learned sinks; other rows that do are accepted with a note.
void note_learned_sinks(Report& report, const AttentionGraph& graph, std::size_t output) {
  const Settings& settings = report.settings;
  const bool accepted = std::any_of(report.notes.begin(), report.notes.end(),
                                    [](const Note& note) { return note.code == NoteCode::kAnyWeights; });
  if (graph.residual_rule != ResidualRule::kConvex || settings.mixing != Mixing::kAttention || accepted ||
      settings.discard > 0.0 || settings.column_mask.kind != ColumnMask::Kind::kNone) {
    return;
  }
  double missing = 0.0;  // the weights lack the residual
  for (std::size_t l = 0; l < graph.layers(); ++l) {
    const auto row = graph.weights[l][output].span();
    missing += (1.0 - std::accumulate(row.begin(), row.end(), 0.0)) / static_cast<double>(graph.layers());
  }
  if (missing > kRowSumTolerance) report.notes.push_back({NoteCode::kLearnedSinks, {{"share", missing}}});
}

// Call before words are merged and values normalized.
void note_next_sink(Report& report, const AttentionGraph& graph, std::size_t output) {
  const Settings& settings = report.settings;
  if (!report.model.causal || output < 2 || settings.column_mask.kind != ColumnMask::Kind::kFirst ||
      settings.normalization != Normalization::kNone || graph.residual_rule != ResidualRule::kConvex ||
      settings.start_layer != 0 || !settings.wants(Method::kRollout)) {
    return;
  }
  const double share = rollout_row(graph, output, settings.layers.back())[1];
  add_sink_note(report.notes, NoteCode::kSecondTokenSink, share, display_text(report.input, 1));
}

void note_gradients(Report& report, const AttentionGraph& graph) {
  if (graph.residual_rule == ResidualRule::kConvex) return;
  if (std::all_of(graph.weights.span().begin(), graph.weights.span().end(), [](double w) { return w == 0.0; })) {
    report.notes.emplace_back(NoteCode::kNoPositiveAttention);
  } else if (graph.residual_rule == ResidualRule::kAdded && !report.rollout.empty() &&
             report.settings.normalization == Normalization::kNone) {
    const std::size_t last = report.settings.layers.size() - 1;
    double sum = 0.0;
    const std::size_t row = row_index(report.output_tokens, report.output_token).value();
    for (std::size_t j = 0; j < report.rollout.extent(2); ++j) sum += report.rollout(last, row, j);
    report.notes.push_back(
        {NoteCode::kRolloutNotShares,
         {{"output_token", report.output_token}, {"layer", report.settings.layers.back()}, {"sum", sum}}});
  }
}

std::size_t take_settings(Report& report, const ResolvedSettings& resolved) {
  report.settings.layers_named = !report.settings.layers.empty();
  report.settings.layers = resolved.layers;
  report.all_output_tokens = report.settings.output_token.kind == OutputToken::Kind::kAll;
  report.notes.insert(report.notes.end(), resolved.notes.begin(), resolved.notes.end());
  return resolved.output_token;
}

void keep_values(Report& report, Method method, Attribution found) {
  (method == Method::kRaw       ? report.raw
   : method == Method::kRollout ? report.rollout
                                : report.flow) = std::move(found.values);
  if (method != Method::kFlow) return;
  report.flow_gap = std::move(found.gap);
  report.flow_degenerate = std::move(found.degenerate);
}

// A note is enough: each value states its interval's width. Call before values are normalized.
void note_wide_intervals(Report& report, const Attribution& flow, double seconds) {
  const double asked = report.settings.flow_tolerance;
  // Allows for rounding in averages of an output word's tokens.
  const double tolerance = asked * (1.0 + 1e-8);
  const double widest = *std::max_element(flow.gap.span().begin(), flow.gap.span().end());
  if (widest <= tolerance) return;
  if (!flow.out_of_time) {
    report.notes.push_back({NoteCode::kWideGap, {{"widest", widest}, {"tolerance", asked}}});
    return;
  }
  const auto wide = std::count_if(flow.gap.span().begin(), flow.gap.span().end(),
                                  [tolerance](double gap) { return gap > tolerance; });
  report.notes.push_back({NoteCode::kFlowTimeLimit,
                          {{"seconds", seconds},
                           {"share", static_cast<double>(wide) / static_cast<double>(flow.gap.size())},
                           {"widest", widest},
                           {"tolerance", asked}}});
}

void keep_row(Attribution& found, std::size_t output) {
  const auto keep = [output](Tensor<double>& values) {
    if (values.empty()) return;
    Tensor<double> row({values.extent(0), 1, values.extent(2)});
    for (std::size_t l = 0; l < values.extent(0); ++l) {
      std::copy_n(values[l][output].data(), values.extent(2), row[l].data());
    }
    values = std::move(row);
  };
  keep(found.values);
  keep(found.baseline);
}

struct PooledOutput {
  const AttentionGraph* graph = nullptr;
  bool alone = false;  // keeps no other output
};

// Stores a query's normalized values, or only `row` of them. Returns how many were too small to divide by.
std::size_t fill_values(Report& report, AttentionSource& source, const Query& query, const ExplainOptions& options,
                        std::optional<std::size_t> row, const std::optional<PooledOutput>& pooled) {
  Attribution found = attribute(source, query, attribute_options(options));
  if (row) keep_row(found, *row);
  if (pooled) add_pooled_output(found, *pooled->graph, query.outputs, pooled->alone);
  if (query.method == Method::kFlow) {
    note_degenerate(report, found);
    note_wide_intervals(report, found, options.max_flow_seconds);
  }
  const std::size_t flagged = normalize(found, report.settings.normalization);
  keep_values(report, query.method, std::move(found));
  return flagged;
}

struct Rows {
  bool one = false;          // only the output token
  bool one_of_flow = false;  // likewise for flow
  bool cut_rollout = false;  // take one row of rollout from the full product
  bool pooled = false;       // ReportQuestion::pooled; needs the graph
};

// Sets the output tokens and fills the arrays of the named methods. `output` is the output token before words are
// merged; `graph`, if any, is used for notes. Returns each word's subword tokens.
TokenGroups fill_arrays(Report& report, AttentionSource& source, const AttentionGraph* graph, std::size_t output,
                        const Rows& rows, const ExplainOptions& options) {
  const Settings& settings = report.settings;
  TokenGroups words;
  if (settings.words) words = merge_words(report, output);
  const std::size_t n = report.input.tokens.size();
  if (rows.pooled && !words.empty()) words.pop_back();  // the mean's
  const TokenGroups outputs = words.empty() ? single_tokens(rows.pooled ? n - 1 : n) : words;
  report.output_token = output;
  report.output_tokens = {output};
  if (!rows.one) {
    report.output_tokens.resize(n);
    std::iota(report.output_tokens.begin(), report.output_tokens.end(), std::size_t{0});
  }
  std::size_t flagged = 0;
  for (const Method method : kAggregations) {
    if (method == Method::kFlow && graph != nullptr) note_gradients(report, *graph);
    if (!settings.wants(method)) continue;
    Query query = query_of(method, settings, words);
    query.outputs = outputs;
    const bool is_one = method == Method::kFlow ? rows.one_of_flow : rows.one;
    std::optional<PooledOutput> pooled;
    std::optional<std::size_t> cut;
    if (rows.pooled) {
      pooled = {graph, is_one};
    } else if (method == Method::kRollout && rows.cut_rollout) {
      cut = output;
    } else if (is_one) {
      query.outputs = {outputs[output]};
    }
    if (method == Method::kFlow) {
      report.flow_output_tokens = rows.one_of_flow ? std::vector<std::size_t>{output} : report.output_tokens;
    }
    flagged += fill_values(report, source, query, options, cut, pooled);
  }
  if (flagged > 0) report.notes.push_back(flagged_note(flagged));
  return words;
}

}  // namespace

TokenGroups merge_words(Report& report, std::size_t& output) {
  TokenGroups groups = word_groups(report.input.tokens);
  std::vector<InputToken> words;
  words.reserve(groups.size());
  for (const auto& group : groups) words.push_back(merge_tokens(report.input, group));
  const auto word_of = [&](std::size_t piece) {
    const auto holds = [&](const std::vector<std::size_t>& group) {
      return std::find(group.begin(), group.end(), piece) != group.end();
    };
    return static_cast<std::size_t>(std::find_if(groups.begin(), groups.end(), holds) - groups.begin());
  };
  // Among a word's token classes, keeps that of the output token, else of the first.
  const auto is_passed_over = [&](const ReportPrediction& prediction) {
    if (prediction.kind != "token-class" || !prediction.position || *prediction.position == output) return false;
    const std::vector<std::size_t>& word = groups[word_of(*prediction.position)];
    return *prediction.position != word.front() || std::find(word.begin(), word.end(), output) != word.end();
  };
  std::erase_if(report.predictions, is_passed_over);
  output = word_of(output);
  for (ReportPrediction& prediction : report.predictions) {
    if (prediction.position) prediction.position = word_of(*prediction.position);
  }
  if (report.target && report.target->position) report.target->position = word_of(*report.target->position);
  if (report.target && report.target->kind == "answer") {  // whose labels are positions
    report.target->index = word_of(report.target->index);
    if (report.target->against) {
      ReportAgainst& against = *report.target->against;
      if (against.index) against.index = word_of(*against.index);
      for (ReportOther& other : against.others) other.index = word_of(other.index);
    }
  }
  for (ReportReferent& referent : report.referents) referent.tokens = {word_of(referent.tokens.front())};
  report.input.tokens = std::move(words);
  return groups;
}

Note flagged_note(std::size_t flagged) {
  return {NoteCode::kSmallBaseline, {{"count", flagged}, {"smallest", kSmallestBaseline}}};
}

void note_negative_share(std::vector<Note>& notes, const std::optional<double>& share,
                         const std::optional<ReportTarget>& target) {
  if (!share) return;
  NoteValues values = {{"share", *share}};
  if (target && target->kind != "embedding") values.emplace("target", target->label);
  notes.emplace_back(NoteCode::kNegativeRelevance, std::move(values));
}

ReportQuestion resolve_question(Report& report, const ExplainOptions& options) {
  report.referents = resolve_referents(options.referents, report);
  ReportQuestion question;
  Settings settings = report.settings;
  if (options.only_output_token && settings.layers.empty()) settings.layers = {report.model.layers};
  question.settings = resolve(settings, {.input = report.input,
                                         .layers = report.model.layers,
                                         .heads = report.model.heads,
                                         .causal = report.model.causal});
  question.certified = certified_pairs(options.certificates, report.input.tokens, report.model.causal);
  return question;
}

void fill_report(Report& report, GraphSource source, const ReportQuestion& question, const ExplainOptions& options) {
  const std::size_t output = take_settings(report, question.settings);
  if (!question.pooled) {
    note_learned_sinks(report, source.graph(), output);
    note_sink(report, source.graph(), output);
    note_next_sink(report, source.graph(), output);
  }
  const bool one_row = options.only_output_token;
  const bool one_flow = one_row || (!report.all_output_tokens && source.graph().tokens() > kMaxTokensForAllFlows);
  // A row of rollout multiplied from the other end would round differently, so it is taken from the full product.
  const TokenGroups words = fill_arrays(
      report, source, &source.graph(), output,
      {.one = one_row, .one_of_flow = one_flow, .cut_rollout = one_row, .pooled = question.pooled}, options);
  add_certificates(report, source, question.certified, options.stop_token);
  check_finite(report);
  if (one_row) return;

  // Graph pictures draw, with one head, that head in the top layer and the mean below it.
  AttentionGraph graph = source.take();
  for (double& weight : graph.weights.span()) weight *= graph.unit;
  graph.unit = 1.0;
  if (graph.one_head()) {
    const std::size_t size = graph.weights_below.extent(1) * graph.weights_below.extent(2);
    const std::size_t top = report.settings.layers.back() - 1;
    for (std::size_t l = 0; l < top; ++l) {
      std::copy_n(graph.weights_below.data() + l * size, size, graph.weights.data() + l * size);
    }
    graph.weights_below = {};
  }
  if (words.empty() && !question.pooled) {
    report.graph = std::move(graph.weights);
    return;
  }
  const std::size_t layers = graph.layers();
  const TokenGroups outputs = words.empty() ? single_tokens(graph.tokens()) : words;
  GraphSource drawn(std::move(graph), report.model.causal);
  Attribution all = attribute(
      drawn, {.method = Method::kRaw, .layers = resolve_layers({}, 0, layers), .outputs = outputs, .inputs = words});
  if (question.pooled) add_pooled_output(all, drawn.graph(), outputs, false);
  report.graph = std::move(all.values);
}

void fill_report_of_rows(Report& report, AttentionSource&& source, const ReportQuestion& question,
                         const ExplainOptions& options, const std::vector<double>& on_first) {
  const std::size_t output = take_settings(report, question.settings);
  if (!on_first.empty()) note_sink(report, on_first, output);
  fill_arrays(report, source, nullptr, output,
              {.one = options.only_output_token, .one_of_flow = options.only_output_token}, options);
  check_finite(report);
}

void check_replay_options(const ExplainOptions& options, const ReportModel& model, std::size_t tokens) {
  const auto refuse = [](const std::string& what) {
    throw internal::usage_error("--only-output-token: expected {}", what);
  };
  const Settings& settings = options.settings;
  if (!model.causal) {
    refuse(fmt::format("a decoder, found {}; remove the option", model.name));
  }
  if (mixing_info(settings.mixing).needs != MixingNeeds::kAttention) {
    refuse(fmt::format("--mixing attention, whose rows can be recomputed, found {}", to_text(settings.mixing)));
  }
  if (settings.discard > 0.0) refuse("no --discard, which selects the smallest weights of whole layers, found both");
  // Only flow needs matrices. Reports a lack of memory before the model runs.
  std::optional<std::size_t> available = available_memory();
  if (options.max_memory > 0) available = std::min(options.max_memory, available.value_or(options.max_memory));
  if (!settings.wants(Method::kFlow) || !available) return;
  const std::vector<std::size_t> layers = resolve_layers(settings.layers, settings.start_layer, model.layers);
  internal::check_flow_memory({.tokens = tokens,
                               .input_tokens = tokens,
                               .depth = layers.back() - settings.start_layer,
                               .layers = layers.size(),
                               .one_output_token = true,
                               .causal = true,
                               .threads = resolve_threads(options.threads)},
                              *available);
}

}  // namespace attnflow
