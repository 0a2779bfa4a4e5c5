#include "attnflow/draw/generation_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnflow/attribution/note.h"
#include "attnflow/base/error.h"
#include "attnflow/draw/figure_text.h"
#include "attnflow/draw/running_text.h"

namespace attnflow::internal {
namespace {

[[noreturn]] void bad_generation(const std::string& message) {
  throw Error(ErrorKind::kBadFile, "the generation cannot be drawn: " + message);
}

[[noreturn]] void bad_generation_option(const std::string& message) { throw Error(ErrorKind::kUsage, message); }

std::string listed(const std::vector<std::size_t>& numbers) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, numbers.size()); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", numbers[i]);
  }
  return numbers.size() > kMost ? fmt::format("{}, ... {}", text, numbers.back()) : text;
}

void check_generation(const GenerationReport& report) {
  const std::size_t m = report.prompt_tokens.size();
  const std::size_t n = report.tokens.size();
  if (m == 0 || n == 0) bad_generation("expected prompt tokens and generated ones, found none");
  for (const DroppedTokens& rule : report.dropped) {
    for (const std::size_t token : rule.tokens) {
      if (token >= m) bad_generation(fmt::format("expected 'dropped' below the {} prompt tokens, found {}", m, token));
    }
  }
}

void check_method(const GenerationMethod& method, const std::string& name, const GenerationReport& report) {
  const std::size_t n = report.tokens.size();
  const std::size_t rows = method.tokens.size();
  const std::size_t layers = method.layers.size();
  const auto expect = [&](const Tensor<double>& values, const std::string& array, std::size_t columns) {
    const Shape shape = {rows, columns, layers};
    if (!values.empty() && values.shape() != shape) {
      bad_generation(fmt::format("expected '{}' of shape {}, found {}", array, shape_to_string(shape),
                                 shape_to_string(values.shape())));
    }
  };
  expect(method.values->prompt, name, report.prompt_tokens.size());
  expect(method.values->normalized, name + "_normalized", report.prompt_tokens.size());
  expect(method.values->generated, name + "_generated", n);
  for (const std::size_t token : method.tokens) {
    if (token >= n) bad_generation(fmt::format("expected rows of '{}' below the {} tokens, found {}", name, n, token));
  }
}

Method choose_method(const GenerationReport& report, std::optional<Method> asked) {
  const std::vector<Method> methods = methods_present(report);
  if (methods.empty()) bad_generation("expected values of raw, rollout or flow, found none");
  const auto has = [&](Method method) { return std::find(methods.begin(), methods.end(), method) != methods.end(); };
  if (!asked) return has(Method::kRollout) ? Method::kRollout : methods.front();
  if (has(*asked)) return *asked;
  bad_generation_option(fmt::format("expected a method that was computed ({}), found '{}'",
                                    fmt::join(to_texts(methods), ", "), to_text(*asked)));
}

// A token as its line in a picture: breaks as marks, without the spaces around it; white space alone as marks too.
std::string label_of(const std::string& text, const TextMeasurer& measure) {
  std::string label = clean_text(marked_breaks(text));
  const std::size_t first = label.find_first_not_of(' ');
  if (first == std::string::npos) {
    std::string marks;
    for (std::size_t i = 0; i < std::min<std::size_t>(label.size(), 8); ++i) marks += "\u2423";
    return marks.empty() ? "\u25A1" : marks;
  }
  label = label.substr(first, label.find_last_not_of(' ') - first + 1);
  // Only short texts can be all marks without width; measuring long ones would cost time.
  constexpr std::size_t kShort = 32;
  if (label.size() <= kShort && measure.width(label, {.size = 10.0}) < 0.5) return "\u25A1";
  return label;
}

std::vector<double> mean_of_rows(const GenerationData& data, const Tensor<double>& values,
                                 const std::vector<std::size_t>& layers) {
  if (data.row) return mean_over_layers(values, *data.row, layers);
  std::vector<double> mean(values.extent(1), 0.0);
  for (std::size_t row = 0; row < values.extent(0); ++row) {
    const std::vector<double> one = mean_over_layers(values, row, layers);
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += one[j];
  }
  for (double& value : mean) value /= static_cast<double>(values.extent(0));
  return mean;
}

std::string generation_percent(double share) {
  if (share > 0.0 && share < 0.005) return "less than 1%";
  if (share < 1.0 && share >= 0.995) return "more than 99%";
  return fmt::format("{:.0f}%", 100.0 * share);
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Of all that the token drew on, the share on generated tokens, as far as the report tells.
std::optional<double> generated_share(const GenerationData& data, double prompt_mass) {
  if (data.shown_token() == std::size_t{0}) return 0.0;
  // Rows of raw and rollout, and of every normalised method, sum to 1 over prompt and generated tokens, but where
  // setting columns aside left a row empty.
  if (data.method != Method::kFlow && !data.options.normalized && !rows_sum_to_one(data.report)) return std::nullopt;
  if (data.options.normalized || data.method != Method::kFlow) return std::clamp(1.0 - prompt_mass, 0.0, 1.0);
  const std::vector<double> generated = data.shown_generated();
  const double all = prompt_mass + sum(generated);
  if (generated.empty() || !(all > 0.0)) return std::nullopt;
  return sum(generated) / all;
}

}  // namespace

std::vector<double> GenerationData::shown() const { return mean_of_rows(*this, *values, layer_positions); }

std::vector<double> GenerationData::shown_at(std::size_t layer_at) const {
  return mean_of_rows(*this, *values, {layer_positions[layer_at]});
}

std::optional<std::size_t> GenerationData::shown_token() const {
  if (row) return source.tokens[*row];
  if (source.tokens.size() == 1) return source.tokens.front();
  return std::nullopt;
}

std::vector<double> GenerationData::shown_generated() const {
  if (options.normalized || source.values->generated.empty()) return {};
  return mean_of_rows(*this, source.values->generated, layer_positions);
}

std::string GenerationData::who() const {
  if (const std::optional<std::size_t> token = shown_token()) {
    constexpr double kLongest = 160.0;
    return fmt::format("token {} \u201c\u2068{}\u2069\u201d", *token,
                       measure.shortened(generated_labels[*token], {.size = 10.5}, kLongest));
  }
  const std::size_t count = source.tokens.size();
  if (count == report.tokens.size()) return fmt::format("the {} generated tokens", count);
  return fmt::format("{} of the {} generated tokens", count, report.tokens.size());
}

std::string GenerationData::span() const {
  std::vector<std::size_t> layers;
  for (std::size_t at = 0; at < layer_positions.size(); ++at) layers.push_back(layer(at));
  if (layers.size() == 1) return fmt::format("layer {}", layers.front());
  const bool contiguous = layers.back() - layers.front() + 1 == layers.size();
  if (contiguous) return fmt::format("mean over layers {}\u2013{}", layers.front(), layers.back());
  return "mean over layers " + listed(layers);
}

GenerationData make_generation_data(const GenerationReport& report, const GenerationFigureOptions& options,
                                    const TextMeasurer& measure, double width) {
  check_generation(report);
  GenerationData data{.report = report,
                      .options = options,
                      .measure = measure,
                      .width = width,
                      .method = choose_method(report, options.method),
                      .source = {},
                      .values = nullptr,
                      .layer_positions = {},
                      .row = {},
                      .prompt_labels = {},
                      .generated_labels = {},
                      .dropped = dropped_by(report)};
  data.source = generation_method(report, data.method);
  check_method(data.source, to_text(data.method), report);
  data.values = options.normalized ? &data.source.values->normalized : &data.source.values->prompt;
  if (data.values->empty()) {
    bad_generation_option(
        fmt::format("expected normalized values of {}, found none; compute them with --normalize receptive-field",
                    to_text(data.method)));
  }
  if (options.token) {
    const auto found = std::find(data.source.tokens.begin(), data.source.tokens.end(), *options.token);
    if (found == data.source.tokens.end()) {
      const std::size_t count = data.report.tokens.size();
      bad_generation_option(*options.token >= count
                                ? fmt::format("token: expected one of the {} generated tokens, counted from 0, found "
                                              "{}: the text ended before it",
                                              count, *options.token)
                                : fmt::format("token: expected one for which {} was computed ({}), found {}",
                                              to_text(data.method), listed(data.source.tokens), *options.token));
    }
    data.row = static_cast<std::size_t>(found - data.source.tokens.begin());
  }
  std::vector<std::size_t> layers = options.layers.empty() ? data.source.layers : options.layers;
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  for (const std::size_t layer : layers) {
    const auto found = std::find(data.source.layers.begin(), data.source.layers.end(), layer);
    if (found == data.source.layers.end()) {
      bad_generation_option(fmt::format("expected layers for which {} was computed ({}), found {}",
                                        to_text(data.method), listed(data.source.layers), layer));
    }
    data.layer_positions.push_back(static_cast<std::size_t>(found - data.source.layers.begin()));
  }
  for (std::size_t j = 0; j < report.prompt_tokens.size(); ++j) {
    data.prompt_labels.push_back(label_of(prompt_text(report, j), measure));
  }
  for (std::size_t t = 0; t < report.tokens.size(); ++t) {
    data.generated_labels.push_back(label_of(generated_text(report, t), measure));
  }
  return data;
}

std::string text_of(const GenerationReport& report) {
  std::string text = report.prompt + report.text + report.model.name;
  for (const InputToken& token : report.prompt_tokens) text += token.text;
  for (const GeneratedToken& token : report.tokens) text += token.text;
  for (const std::string& note : note_texts(report.notes)) text += note;
  return text;
}

ColorScale generation_scale(const GenerationData& data, const std::vector<ValueRow>& rows,
                            const std::vector<double>& others) {
  constexpr double kFar = 2.0;
  const auto parked = [&](const ValueRow& row, std::size_t j) {
    const bool itself = row.token == std::size_t{0} && j + 1 == data.prompt();
    return j == 0 || itself || data.report.prompt_tokens[j].special;
  };
  double largest_parked = 0.0;
  double largest_rest = 0.0;
  for (const ValueRow& row : rows) {
    for (std::size_t j = 0; j < row.values.size(); ++j) {
      if (data.left_out(j) || !std::isfinite(row.values[j])) continue;
      double& largest = parked(row, j) ? largest_parked : largest_rest;
      largest = std::max(largest, row.values[j]);
    }
  }
  const bool far_above = largest_parked > kFar * largest_rest;
  ScaleBuilder builder;
  for (const ValueRow& row : rows) {
    for (std::size_t j = 0; j < row.values.size(); ++j) {
      if (!data.left_out(j)) builder.add(row.values[j], far_above && parked(row, j));
    }
  }
  // What is next to nothing has no strong colour.
  constexpr double kFloor = 0.01;
  if (far_above && largest_rest > 0.0) builder.add(kFloor * largest_parked, false);
  for (const double value : others) builder.add(value, true);
  return builder.scale();
}

std::string share_sentence(const GenerationData& data) {
  const std::vector<double> values = data.shown();
  const double mass = sum(values);
  double left_out = 0.0;
  for (std::size_t j = 0; j < values.size(); ++j) left_out += data.left_out(j) ? values[j] : 0.0;
  const std::string average = data.shown_token() ? "" : "on average ";
  std::string text;
  if (const std::optional<double> share = generated_share(data, mass)) {
    text = fmt::format("Of what {} drew on, {}{} lies on generated tokens and {} on the prompt.", data.who(), average,
                       generation_percent(*share), generation_percent(1.0 - *share));
  } else if (data.method != Method::kFlow) {
    text = "Rows need not sum to 1, because columns were set aside.";
  } else {
    text = "How much of flow lies on generated tokens was not kept.";
  }
  if (data.report.dropped.empty()) return text;
  std::string rules;
  for (const DroppedTokens& rule : data.report.dropped) {
    rules += (rules.empty() ? "" : ", ") + clean_text(rule.rule);
  }
  return text + fmt::format(" Dropped tokens, hatched ({}), hold {}{} of the prompt's part.", rules, average,
                            generation_percent(mass > 0.0 ? left_out / mass : 0.0));
}

}  // namespace attnflow::internal
