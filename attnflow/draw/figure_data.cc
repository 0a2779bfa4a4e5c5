#include "attnflow/draw/figure_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnflow/base/error.h"

namespace attnflow::internal {
namespace {

[[noreturn]] void bad_report(const std::string& message) {
  throw Error(ErrorKind::kBadFile, "the report cannot be drawn: " + message);
}

[[noreturn]] void bad_option(const std::string& message) { throw Error(ErrorKind::kUsage, message); }

void check_shape(const char* name, const Shape& found, const Shape& expected) {
  if (found != expected) {
    bad_report(
        fmt::format("expected '{}' of shape {}, found {}", name, shape_to_string(expected), shape_to_string(found)));
  }
}

void check_positions(const char* name, const std::vector<std::size_t>& positions, std::size_t tokens) {
  for (std::size_t position : positions) {
    if (position >= tokens) {
      bad_report(fmt::format("expected '{}' below the {} tokens, found {}", name, tokens, position));
    }
  }
}

void check_report(const Report& report) {
  const std::size_t n = report.input.tokens.size();
  const std::size_t layers = report.settings.layers.size();
  if (n == 0) bad_report("expected at least one token, found none");
  if (layers == 0) bad_report("expected at least one layer in 'settings.layers', found none");
  if (report.output_token >= n) {
    bad_report(fmt::format("expected an output token below {}, found {}", n, report.output_token));
  }
  if (report.settings.layers.front() <= report.settings.start_layer) {
    bad_report(fmt::format("expected layers above 'to_layer' {}, found {}", report.settings.start_layer,
                           report.settings.layers.front()));
  }
  check_positions("output_tokens", report.output_tokens, n);
  check_positions("flow_output_tokens", report.flow_output_tokens, n);
  const Shape shape = {layers, report.output_tokens.size(), n};
  const Shape flow_shape = {layers, report.flow_output_tokens.size(), n};
  if (!report.raw.empty()) check_shape("raw", report.raw.shape(), shape);
  if (!report.rollout.empty()) check_shape("rollout", report.rollout.shape(), shape);
  if (!report.flow.empty()) check_shape("flow", report.flow.shape(), flow_shape);
  if (!report.flow_degenerate.empty()) check_shape("flow_degenerate", report.flow_degenerate.shape(), flow_shape);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// A token that shows nothing (empty, white space, marks without width) still needs a name: its position when no token
// of the report has a text, else a box.
std::vector<std::string> token_labels(const Report& report, const TextMeasurer& measure) {
  const std::size_t n = report.input.tokens.size();
  const TextStyle style{.size = 10.0};
  std::vector<std::string> labels(n);
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) {
    std::string text = clean_text(display_text(report.input, i));
    const std::size_t first = text.find_first_not_of(' ');
    text = first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
    // Only short texts can be all marks without width; measuring long ones would cost time.
    if (!text.empty() && text.size() <= 32 && measure.width(text, style) < 0.5) text.clear();
    labels[i] = text;
    any = any || !text.empty();
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (labels[i].empty()) labels[i] = any ? "\u25A1" : std::to_string(i);
    if (report.input.tokens[i].unknown) labels[i] += kUnknownMark;
  }
  return labels;
}

}  // namespace

std::string FigureData::output_name() const {
  return fmt::format("\u201c{}\u201d (position {})", measure.shortened(labels[output_token], {.size = 10.0}, 200.0),
                     output_token);
}

std::vector<Method> FigureData::methods_with_output_token() const {
  std::vector<Method> with;
  for (const Method method : methods) {
    if (row_index(*method_values(report, method).output_tokens, output_token)) with.push_back(method);
  }
  if (with.empty()) {
    bad_option(
        fmt::format("the figure was asked for output token {}; this report holds no values of it, but of {} "
                    "other output tokens",
                    output_token, method_values(report, methods.front()).output_tokens->size()));
  }
  return with;
}

double FigureData::value(Method method, std::size_t layer_at, std::size_t row, std::size_t input_token) const {
  return (*method_values(report, method).values)(layer_at, row, input_token);
}

std::size_t FigureData::row_of_output_token(Method method) const {
  return *row_index(*method_values(report, method).output_tokens, output_token);
}

FigureData make_figure_data(const Report& report, const FigureOptions& options, const TextMeasurer& measure,
                            double width) {
  check_report(report);
  FigureData data{.report = report,
                  .options = options,
                  .measure = measure,
                  .tokens = report.input.tokens.size(),
                  .labels = token_labels(report, measure),
                  .methods = {},
                  .layer = options.layer.value_or(report.settings.layers.back()),
                  .layer_position = 0,
                  .output_token = options.output_token.value_or(report.output_token),
                  .width = width};

  std::vector<Method> held;
  for (const Method method : {Method::kRaw, Method::kRollout, Method::kFlow}) {
    if (!method_values(report, method).values->empty()) held.push_back(method);
  }
  if (held.empty()) bad_report("expected values of raw, rollout or flow, found none");
  for (const Method method : options.methods) {
    if (std::find(held.begin(), held.end(), method) == held.end()) {
      bad_option(fmt::format("the figure was asked for method '{}'; this report holds {}", to_text(method),
                             joined(to_texts(held))));
    }
  }
  for (const Method method : held) {
    if (options.methods.empty() ||
        std::find(options.methods.begin(), options.methods.end(), method) != options.methods.end()) {
      data.methods.push_back(method);
    }
  }

  const auto layer = layer_index(report, data.layer);
  if (!layer) {
    std::vector<std::string> layers;
    for (std::size_t l : report.settings.layers) layers.push_back(std::to_string(l));
    bad_option(
        fmt::format("the figure was asked for layer {}; this report holds layers {}", data.layer, joined(layers)));
  }
  data.layer_position = *layer;

  if (data.output_token >= data.tokens) {
    bad_option(fmt::format("the figure was asked for output token {}; this report has {} tokens, counted from 0",
                           data.output_token, data.tokens));
  }
  return data;
}

std::string text_of(const Report& report) {
  std::string text = report.input.text + report.input.text_pair;
  for (const InputToken& token : report.input.tokens) text += token.text;
  return text;
}

bool has_graph(const Report& report) {
  const std::size_t n = report.input.tokens.size();
  return report.graph.rank() == 3 && !report.graph.empty() && report.graph.extent(1) == n &&
         report.graph.extent(2) == n && report.graph.extent(0) >= report.settings.layers.back();
}

std::string degeneracy_sentence(std::size_t flagged, std::size_t all) {
  if (2 * flagged <= all) return "";
  return fmt::format(
      "{:.0f}% of these flow values repeat the first layer's attention or are as large as they can be (degenerate: the "
      "layers between do not matter). Rollout or fewer layers tell more.",
      std::floor(100.0 * static_cast<double>(flagged) / static_cast<double>(all)));
}

std::string degeneracy_note(const FigureData& data, const FlowCells& cells) {
  const Tensor<std::uint8_t>& flags = data.report.flow_degenerate;
  if (flags.empty()) return "";
  const std::size_t first_row = cells.row.value_or(0);
  const std::size_t end_row = cells.row ? *cells.row + 1 : flags.extent(1);
  std::size_t flagged = 0;
  std::size_t all = 0;
  for (std::size_t l = cells.first_layer; l < cells.end_layer; ++l) {
    for (std::size_t row = first_row; row < end_row; ++row) {
      for (std::size_t j = 0; j < data.tokens; ++j, ++all) flagged += flags(l, row, j) != 0 ? 1 : 0;
    }
  }
  return degeneracy_sentence(flagged, all);
}

}  // namespace attnflow::internal
