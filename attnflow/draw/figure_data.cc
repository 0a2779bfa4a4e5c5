#include "attnflow/draw/figure_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnflow/base/error.h"
#include "attnflow/draw/running_text.h"
#include "attnflow/report/report_array_table.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/words/lists.h"
#include "attnflow/words/numbers.h"

namespace attnflow::internal {
namespace {

[[noreturn]] void bad_report(const std::string& message) {
  throw Error(ErrorKind::kBadFile, "the report cannot be drawn: " + message);
}

[[noreturn]] void bad_option(const std::string& message) { throw Error(ErrorKind::kUsage, message); }

void check_positions(const char* name, const std::vector<std::size_t>& positions, std::size_t begin, std::size_t end) {
  for (std::size_t position : positions) {
    if (position < begin || position >= end) {
      bad_report(fmt::format("expected '{}' from {} to {}, found {}", name, begin, end - 1, position));
    }
  }
}

void check_report(const Report& report) {
  const std::size_t n = report.input.tokens.size();
  if (n == 0) bad_report("expected at least one token, found none");
  if (report.settings.layers.empty()) bad_report("expected at least one layer in 'settings.layers', found none");
  std::size_t first = 0;
  std::size_t end = n;
  if (report.generation) {
    const std::size_t generated = report.generation->tokens.size();
    if (generated == 0) bad_report("expected generated tokens, found none");
    first = n - 1;
    end = first + generated;
    for (const ExcludedTokens& rule : report.generation->excluded) check_positions("excluded", rule.tokens, 0, n);
  }
  check_positions("output_token", {report.output_token}, first, end);
  check_positions("output_tokens", report.output_tokens, first, end);
  check_positions("flow_output_tokens", report.flow_output_tokens, first, end);
  if (report.settings.layers.front() <= report.settings.start_layer) {
    bad_report(fmt::format("expected layers above 'start_layer' {}, found {}", report.settings.start_layer,
                           report.settings.layers.front()));
  }
  for_each_array(report, [&](const std::string& name, const auto& values, const ArrayPlace& place) {
    if (values.empty() || name == "graph" || name == "attention" || values.shape() == place.shape) return;
    bad_report(fmt::format("expected '{}' of shape {}, found {}", name, shape_to_string(place.shape),
                           shape_to_string(values.shape())));
  });
}

// Trimmed, line breaks as marks; "" if it shows nothing.
std::string label_of(const std::string& text, const TextMeasurer& measure) {
  std::string label = clean_text(marked_breaks(text));
  const std::size_t first = label.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  label = label.substr(first, label.find_last_not_of(' ') - first + 1);
  // Only short texts can consist entirely of zero-width marks; measuring long ones is slow.
  constexpr std::size_t kShort = 32;
  return label.size() <= kShort && measure.width(label, {.size = 10.0}) < 0.5 ? "" : label;
}

// Names a token that shows nothing (empty, white space, zero-width marks): marks for spaces, else its position if no
// token of the report has a text, else a box.
std::vector<std::string> token_labels(const std::vector<std::string>& texts, const TextMeasurer& measure) {
  constexpr std::size_t kMaxSpaces = 8;
  std::vector<std::string> labels;
  bool any = false;
  for (const std::string& text : texts) {
    labels.push_back(label_of(text, measure));
    any = any || !labels.back().empty();
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!labels[i].empty()) continue;
    const bool spaces = !texts[i].empty() && texts[i].find_first_not_of(' ') == std::string::npos;
    for (std::size_t s = 0; spaces && s < std::min(texts[i].size(), kMaxSpaces); ++s) labels[i] += "\u2423";
    if (!spaces) labels[i] = any ? "\u25A1" : std::to_string(i);
  }
  return labels;
}

std::vector<Method> choose_methods(const Report& report, const FigureOptions& options) {
  std::vector<Method> held;
  for (const Method method : kAggregations) {
    if (!method_values(report, method).values->empty()) held.push_back(method);
  }
  if (held.empty() && report.scores.empty()) bad_report("expected values of some method, found none");
  const auto has = [](const std::vector<Method>& methods, Method method) {
    return std::find(methods.begin(), methods.end(), method) != methods.end();
  };
  for (const Method method : options.methods) {
    if (!has(held, method) && method_scores(report, method) == nullptr) {
      std::vector<Method> all = held;
      for (const MethodScores& scores : report.scores) all.push_back(scores.method);
      bad_option(fmt::format("the figure was asked for method '{}'; this report holds {}", to_text(method),
                             fmt::join(to_texts(all), ", ")));
    }
  }
  if (options.methods.empty()) {
    if (report.generation && !held.empty()) return {leading_method(report, held)};
    return held;
  }
  if (report.generation && options.methods.size() > 1) {
    bad_option("the figure of a generation shows one method, found several");
  }
  std::vector<Method> chosen;
  for (const Method method : held) {
    if (has(options.methods, method)) chosen.push_back(method);
  }
  return chosen;
}

std::vector<const MethodScores*> choose_scores(const Report& report, const FigureOptions& options) {
  // For a generation, one method: an aggregating one unless another is requested.
  const bool one = report.generation && options.methods.empty();
  std::vector<const MethodScores*> chosen;
  if (one && !methods_present(report).empty()) return chosen;
  for (const MethodScores& scores : report.scores) {
    const bool asked = options.methods.empty() || std::find(options.methods.begin(), options.methods.end(),
                                                            scores.method) != options.methods.end();
    if (asked && !scores.values.empty() && !(one && !chosen.empty())) chosen.push_back(&scores);
  }
  return chosen;
}

void check_layers(const FigureData& data) {
  for (const std::size_t layer : data.options.layers) {
    for (const Method method : data.methods) {
      const std::vector<std::size_t>& layers = *method_values(data.report, method).layers;
      if (row_index(layers, layer)) continue;
      bad_option(fmt::format("the figure was asked for layer {}; this report holds {} of layers {}", layer,
                             to_text(method), abridged(layers)));
    }
  }
}

void check_generated_token(const FigureData& data) {
  const std::size_t count = data.report.generation->tokens.size();
  const std::size_t t = *data.options.output_token;
  if (t >= count) {
    bad_option(fmt::format(
        "token: expected one of the {} generated tokens, counted from 0, found {}: the text ended before it", count,
        t));
  }
  for (const Method method : data.methods) {
    const std::vector<std::size_t>& outputs = *method_values(data.report, method).output_tokens;
    if (row_index(outputs, data.output_token)) continue;
    std::vector<std::size_t> tokens;
    for (const std::size_t position : outputs) tokens.push_back(chosen_token(data.report, position));
    bad_option(fmt::format("token: expected one for which {} was computed ({}), found {}", to_text(method),
                           abridged(tokens), t));
  }
}

}  // namespace

bool FigureData::aside(std::optional<std::size_t> output, std::size_t input) const {
  return special(input) || output == input || (report.model.causal && input == 0);
}

std::vector<Method> FigureData::methods_with_output_token() const {
  if (report.generation && !methods.empty()) return methods;  // checked
  if (methods.empty()) {
    bad_option(fmt::format("this figure shows layers, but {} has none; choose --view strip",
                           scores.empty() ? std::string("the report") : to_text(scores.front()->method)));
  }
  std::vector<Method> with;
  for (const Method method : methods) {
    if (row_index(*method_values(report, method).output_tokens, output_token)) with.push_back(method);
  }
  if (with.empty()) {
    bad_option(
        fmt::format("the figure was asked for output token {}; this report holds no values for it, only for {} "
                    "other output tokens",
                    output_token, method_values(report, methods.front()).output_tokens->size()));
  }
  return with;
}

const Tensor<double>& FigureData::values(Method method) const {
  const MethodValues found = method_values(report, method);
  return options.normalized ? found.beside->normalized : *found.values;
}

std::vector<std::size_t> FigureData::layer_positions(Method method) const {
  const std::vector<std::size_t>& all = *method_values(report, method).layers;
  if (options.layers.empty() && report.generation) return usual_layers(report, all.size());
  std::vector<std::size_t> positions;
  for (std::size_t l = 0; l < all.size(); ++l) {
    if (options.layers.empty() ? l + 1 == all.size() : row_index(options.layers, all[l]).has_value()) {
      positions.push_back(l);
    }
  }
  return positions;
}

const std::vector<std::size_t>& FigureData::outputs(Method method) const {
  return method_info(method).aggregates() ? *method_values(report, method).output_tokens : report.output_tokens;
}

std::optional<std::size_t> FigureData::row_shown(Method method) const {
  const std::vector<std::size_t>& rows = outputs(method);
  if (!report.generation || options.output_token) return row_index(rows, output_token);
  return rows.size() == 1 ? std::optional<std::size_t>(0) : std::nullopt;
}

namespace {

std::vector<double> mean_of_rows(const Tensor<double>& values, std::optional<std::size_t> row,
                                 const std::vector<std::size_t>& layers) {
  if (row) return mean_over_layers(values, *row, layers);
  std::vector<double> mean(values.extent(2), 0.0);
  for (std::size_t r = 0; r < values.extent(1); ++r) {
    const std::vector<double> one = mean_over_layers(values, r, layers);
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += one[j];
  }
  for (double& value : mean) value /= static_cast<double>(values.extent(1));
  return mean;
}

std::vector<double> mean_of_scores(const Tensor<double>& scores, std::optional<std::size_t> row) {
  const auto values = scores.span();
  return mean_of_rows({{1, scores.extent(0), scores.extent(1)}, {values.begin(), values.end()}}, row, {});
}

}  // namespace

ValueRow FigureData::shown(Method method, const std::vector<std::size_t>& layers) const {
  const std::optional<std::size_t> row = row_shown(method);
  ValueRow result{.values = mean_of_rows(values(method), row, layers), .output = {}};
  if (row) result.output = outputs(method)[*row];
  return result;
}

ValueRow FigureData::shown(const MethodScores& shown_scores) const {
  // An explanation's scores belong to the prediction, not to an output token.
  if (!report.generation) return {mean_of_scores(shown_scores.values, 0), {}};
  const std::optional<std::size_t> row = row_shown(shown_scores.method);
  if (!row) return {mean_of_scores(shown_scores.values, {}), {}};
  const std::size_t output = report.output_tokens[*row];
  return {mean_of_scores(shown_scores.values, chosen_token(report, output)), output};
}

std::vector<double> FigureData::shown_generated(Method method) const {
  if (const MethodScores* const of_scores = method_scores(report, method)) {
    if (of_scores->generated.empty()) return {};
    const std::optional<std::size_t> row = row_shown(method);
    return mean_of_scores(of_scores->generated,
                          row ? std::optional(chosen_token(report, report.output_tokens[*row])) : std::nullopt);
  }
  const Tensor<double>& generated = method_values(report, method).beside->generated;
  if (options.normalized || generated.empty()) return {};
  return mean_of_rows(generated, row_shown(method), layer_positions(method));
}

std::string FigureData::output_name(Method method) const {
  if (!report.generation) {
    return fmt::format("\u201c{}\u201d (position {})", measure.shortened(labels[output_token], {.size = 10.0}, 200.0),
                       output_token);
  }
  const std::vector<std::size_t>& rows = outputs(method);
  if (const std::optional<std::size_t> row = row_shown(method)) {
    constexpr double kLongest = 160.0;
    const std::size_t token = chosen_token(report, rows[*row]);
    return fmt::format("token {} \u201c\u2068{}\u2069\u201d", token,
                       measure.shortened(generated_labels[token], {.size = 10.5}, kLongest));
  }
  const std::size_t count = report.generation->tokens.size();
  if (rows.size() == count) return fmt::format("the {} generated tokens", count);
  return fmt::format("{} of the {} generated tokens", rows.size(), count);
}

std::string FigureData::span(Method method) const {
  std::vector<std::size_t> layers;
  for (const std::size_t at : layer_positions(method)) layers.push_back((*method_values(report, method).layers)[at]);
  if (layers.size() == 1) return fmt::format("layer {}", layers.front());
  const bool contiguous = layers.back() - layers.front() + 1 == layers.size();
  if (contiguous) return fmt::format("mean over layers {}\u2013{}", layers.front(), layers.back());
  return "mean over layers " + abridged(layers);
}

FigureData make_figure_data(const Report& report, const FigureOptions& options, const TextMeasurer& measure,
                            double width) {
  check_report(report);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < report.input.tokens.size(); ++i) texts.push_back(display_text(report.input, i));
  std::vector<std::string> generated;
  for (std::size_t t = 0; report.generation && t < report.generation->tokens.size(); ++t) {
    generated.push_back(generated_text(*report.generation, t));
  }
  const std::size_t asked = options.layers.empty() ? report.settings.layers.back()
                                                   : *std::max_element(options.layers.begin(), options.layers.end());
  FigureData data{.report = report,
                  .options = options,
                  .measure = measure,
                  .tokens = texts.size(),
                  .labels = token_labels(texts, measure),
                  .generated_labels = token_labels(generated, measure),
                  .excluded = excluded_by(report),
                  .methods = choose_methods(report, options),
                  .scores = choose_scores(report, options),
                  .layer = asked,
                  .layer_position = layer_index(report, asked).value_or(0),
                  .output_token = options.output_token.value_or(report.output_token),
                  .width = width};
  for (std::size_t i = 0; i < data.tokens; ++i) {
    if (data.unknown(i)) data.labels[i] += kUnknownMark;
  }
  if (data.methods.empty() && data.scores.empty()) bad_report("expected values of at least one method, found none");
  check_layers(data);
  if (report.generation && options.output_token) {
    data.output_token = data.tokens - 1 + *options.output_token;
    check_generated_token(data);
  } else if (!report.generation && data.output_token >= data.tokens) {
    bad_option(fmt::format("the figure was asked for output token {}; this report has {} tokens, counted from 0",
                           data.output_token, data.tokens));
  }
  for (const Method method : data.methods) {
    if (!data.values(method).empty()) continue;
    bad_option(
        fmt::format("expected normalized values of {}, found none; compute them with --normalize receptive-field",
                    to_text(method)));
  }
  return data;
}

std::string text_of(const Report& report) {
  std::string text = report.input.text + report.input.text_pair;
  for (const InputToken& token : report.input.tokens) text += token.text;
  if (!report.generation) return text;
  text += report.generation->text;
  for (const GeneratedToken& token : report.generation->tokens) text += token.text;
  return text;
}

bool has_graph(const Report& report) {
  const std::size_t n = report.input.tokens.size();
  return !report.generation && report.graph.rank() == 3 && report.graph.extent(1) == n && report.graph.extent(2) == n &&
         report.graph.extent(0) >= report.settings.layers.back();
}

ColorScale scale_of(const FigureData& data, Method method, const std::vector<ValueRow>& rows,
                    const std::vector<double>& generated) {
  ScaleBuilder builder;
  const bool alone = rows.size() == 1;
  for (const ValueRow& row : rows) {
    for (std::size_t j = 0; j < row.values.size(); ++j) {
      if (data.is_excluded(j)) continue;
      const bool seen = !data.report.model.causal || !row.output || j <= *row.output;
      builder.add(row.values[j], data.aside(alone ? std::nullopt : row.output, j), seen);
    }
  }
  for (std::size_t s = 0; s < generated.size(); ++s) {
    builder.add(generated[s], false, !rows[0].output || data.tokens + s <= *rows[0].output);
  }
  return builder.scale(method == Method::kFlow);
}

ColorScale scale_of_scores(const FigureData& data, const std::vector<ValueRow>& rows,
                           const std::vector<double>& others) {
  ScaleBuilder builder;
  for (const ValueRow& row : rows) {
    for (std::size_t j = 0; j < row.values.size(); ++j) {
      if (!data.is_excluded(j)) builder.add(std::abs(row.values[j]), data.aside(std::nullopt, j));
    }
  }
  for (const double value : others) builder.add(std::abs(value), false);
  ColorScale scale = builder.scale();
  scale.has_signs = true;
  return scale;
}

bool any_without_value(const std::vector<ValueRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const ValueRow& row) {
    return std::any_of(row.values.begin(), row.values.end(), [](double value) { return !std::isfinite(value); });
  });
}

std::string degeneracy_note(const FigureData& data, Method method, const std::vector<std::size_t>& layer_positions,
                            std::optional<std::size_t> row) {
  const Tensor<std::uint8_t>& flags = data.report.flow_degenerate;
  if (!data.options.notes || method != Method::kFlow || flags.empty()) return "";
  // Over relevance such a value answers the question; the report's note says what it is.
  if (mixing_info(data.report.settings.mixing).rule == ResidualRule::kContainedNormalized) return "";
  const std::size_t first_row = row.value_or(0);
  const std::size_t end_row = row ? *row + 1 : flags.extent(1);
  std::size_t flagged = 0;
  std::size_t all = 0;
  for (const std::size_t l : layer_positions) {
    for (std::size_t r = first_row; r < end_row; ++r) {
      for (std::size_t j = 0; j < data.tokens; ++j, ++all) flagged += flags(l, r, j) != 0 ? 1 : 0;
    }
  }
  if (2 * flagged <= all) return "";
  const double share = static_cast<double>(flagged) / static_cast<double>(all);
  return fmt::format(
      "{} of these flow values are set by the first or the last layer alone. Rollout, or flow from fewer layers, may "
      "say "
      "more.",
      percent(flagged == all ? share : std::min(share, 0.99)));
}

}  // namespace attnflow::internal
