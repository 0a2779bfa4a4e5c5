#include "attnflow/draw/figure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/base/format_error.h"
#include "attnflow/draw/cairo_canvas.h"
#include "attnflow/draw/parts.h"
#include "attnflow/draw/running_text.h"
#include "attnflow/draw/svg_canvas.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/extension.h"
#include "attnflow/report/color_scale.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/numbers.h"

namespace attnflow::internal {
namespace {

std::string prediction_line(const ReportPrediction& prediction, const FigureData& data) {
  constexpr std::size_t kMost = 5;
  std::string line =
      prediction.kind == "next"     ? "predicted next: "
      : prediction.kind == "answer" ? "answer: "
      : prediction.kind == "token-class"
          ? fmt::format("class of {} (position {}): ", data.labels[*prediction.position], *prediction.position)
      : prediction.position ? fmt::format("predicted at position {}: ", *prediction.position)
                            : "predicted: ";
  const auto list = [&](const auto& choices) { return choice_list(prediction, choices, kMost, /*isolates=*/true); };
  line += list(prediction.choices);
  if (!prediction.candidates.empty()) line += "; of the candidates: " + list(prediction.candidates);
  return line;
}

// Among token classes, only the output token's class is shown.
bool is_told(const ReportPrediction& prediction, const Report& report) {
  return prediction.kind != "token-class" || prediction.position == report.output_token;
}

bool any_unknown(const FigureData& data) {
  const std::vector<InputToken>& tokens = data.report.input.tokens;
  return std::any_of(tokens.begin(), tokens.end(), [](const InputToken& token) { return token.unknown; });
}

// The text and its pair, each on one line; nothing for an attention file.
std::vector<std::string> quoted_texts(const FigureData& data, const TextStyle& style) {
  std::vector<std::string> lines;
  for (const std::string* const text : {&data.report.input.text, &data.report.input.text_pair}) {
    const std::string clean = clean_text(*text);
    if (clean.find_first_not_of(' ') == std::string::npos) continue;
    const double room = data.width - data.measure.width("\u201c\u201d", style);
    lines.push_back("\u201c" + data.measure.shortened(clean, style, room) + "\u201d");
  }
  return lines;
}

}  // namespace

Scene fitted_page(const PageSize& size, const TextMeasurer& measure,
                  const std::function<Scene(double width)>& lay_out) {
  constexpr double kTolerance = 1.0;
  // Needed by any layout's labels.
  constexpr double kLeastLayout = 110.0;
  // On a screen, a page that is not narrow may exceed the requested width slightly; on paper it must not.
  constexpr double kNarrow = 320.0;
  const bool grows = !size.width.on_paper() && size.layout_width() >= kNarrow;
  const double width = size.layout_width();
  const auto excess = [&](double page) {
    return page < kLeastLayout ? kLeastLayout : lay_out(page - 2.0 * size.margin).width + 2.0 * size.margin - page;
  };
  if (width >= kLeastLayout) {
    const Scene content = lay_out(width - 2.0 * size.margin);
    const double used = content.width + 2.0 * size.margin;
    if (grows || used <= width + kTolerance) {
      Scene page(measure);
      page.add(content, size.margin, size.margin);
      page.width = grows ? std::ceil(std::max(width, used)) : width;
      page.height = std::ceil(content.height + 2.0 * size.margin);
      page.size = size;
      if (grows) page.size->width = page.width * size.scale;
      return page;
    }
  }
  double low = width;
  double high = std::max(width, kLeastLayout);
  while (excess(high) > kTolerance && high < 10000.0) low = high, high *= 1.5;
  for (int halving = 0; halving < 6; ++halving) {
    const double middle = (low + high) / 2.0;
    (excess(middle) > kTolerance ? low : high) = middle;
  }
  Length least(high * size.scale * size.width.value / size.width.pixels(), size.width.unit);
  const double step = least.unit == LengthUnit::kInches || least.unit == LengthUnit::kCentimeters ? 0.05 : 1.0;
  least.value = std::ceil(least.value / step) * step;
  // Words wrap in steps, so a wider page may need more room than a narrower one.
  while (excess(least.pixels() / size.scale) > kTolerance && least.pixels() / size.scale < 10000.0) {
    least.value = std::ceil(least.value * 1.02 / step) * step;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("--width: expected at least {} for this figure and text of {:.3g} points, found {}; choose a "
                          "wider figure, smaller text, or a view with less in it",
                          to_text(least), size.scale * kLabelPoints, to_text(size.width)));
}

void write_page(const std::filesystem::path& path, const Scene& page, const std::string& description) {
  const std::string ending = lower_extension(path);
  if (ending == ".svg") {
    write_file(path, scene_to_svg(page, description));
  } else if (ending == ".pdf") {
    write_file(path, scene_to_pdf(page, description));
  } else if (ending == ".png") {
    write_file(path, scene_to_png(page));
  } else {
    throw usage_error("expected a figure ending in .svg, .pdf or .png, found '{}'", path.string());
  }
}

std::string settings_line(const ReportModel& model, const Settings& settings, const std::string& size,
                          const std::optional<ReportTarget>& target) {
  std::string line;
  const auto add = [&](const std::string& part) { line += (line.empty() ? "" : " \u00b7 ") + part; };
  if (!model.architecture.empty()) add(clean_text(model.architecture));
  if (model.layers > 0) add(counted(model.layers, "layer"));
  const bool aggregates = settings.wants_aggregation();
  const bool of_attention = aggregates && mixing_info(settings.mixing).needs == MixingNeeds::kAttention;
  if (model.heads > 0) {
    const std::string heads = counted(model.heads, "head");
    add(!of_attention                ? heads
        : settings.heads.is_single() ? fmt::format("head {} of {}", settings.heads.head, model.heads)
                                     : fmt::format("{} of {}", to_text(settings.heads), heads));
  }
  add(size);
  if (of_attention) {
    add(fmt::format("residual {}", short_number(settings.residual)));
  } else if (!aggregates) {
    add(clean_text(target_title(target)));
  } else {
    add(clean_text(mixing_title(settings, target)));
  }
  if (settings.start_layer > 0) add(fmt::format("down to layer {}", settings.start_layer));
  if (settings.discard > 0.0) add(fmt::format("smallest {:.3g}% discarded", 100.0 * settings.discard));
  if (settings.column_mask.kind != ColumnMask::Kind::kNone) add(mask_words(settings.column_mask));
  if (settings.normalization != Normalization::kNone) add("normalized: " + to_text(settings.normalization));
  return line;
}

namespace {

class TitleWriter {
 public:
  explicit TitleWriter(const FigureData& data) : data_(data), scene_(data.measure) {
    scene_.width = data.width;
    scene_.begin_group({.id = "title"});
  }
  void line(const std::string& text, const TextStyle& style) { add_wrapped(text, style, data_.width, &scene_); }
  Scene take() {
    scene_.end_group();
    return std::move(scene_);
  }

 private:
  const FigureData& data_;
  Scene scene_;
};

constexpr TextStyle kLargeTitle{.size = 15.0, .bold = true};
constexpr TextStyle kSettingsStyle{.size = 10.5, .color = kGrey};
constexpr TextStyle kPlainStyle{.size = 10.5};

std::string sampling_text(const Generation& generation) {
  const SamplingSettings& sampling = generation.sampling;
  std::string text = sampling.temperature > 0.0
                         ? fmt::format("temperature {}, top-p {}, seed {}", short_number(sampling.temperature),
                                       short_number(sampling.top_p), sampling.seed)
                         : "most probable tokens";
  if (generation.chat) text += " \u00b7 chat template";
  return text;
}

std::string quoted(const std::string& text, const TextStyle& style, double width, const TextMeasurer& measure) {
  const double room = width - measure.width("\u201c\u201d", style);
  return "\u201c\u2068" + measure.shortened(clean_text(marked_breaks(text)), style, room) + "\u2069\u201d";
}

Scene generation_title(const FigureData& data) {
  const Report& report = data.report;
  const Generation& generation = *report.generation;
  const Method method = data.first_method();
  TitleWriter title(data);
  const TextStyle continued{.size = 12.0};
  title.line(quoted(report.input.text, kLargeTitle, data.width, data.measure), kLargeTitle);
  // The mark makes the line run left to right regardless of the generated text.
  const std::string arrow = "\u200e\u2192 ";
  const double indent = data.measure.width(arrow, continued);
  if (!generation.text.empty()) {
    title.line(arrow + quoted(generation.text, continued, data.width - indent, data.measure), continued);
  }
  Settings settings = report.settings;
  if (!data.options.normalized) settings.normalization = Normalization::kNone;
  const std::string size =
      fmt::format("{} in the prompt \u00b7 {} generated", counted(data.tokens, settings.words ? "word" : "token"),
                  counted(generation.tokens.size(), "token"));
  std::string name = clean_text(report.model.name);
  if (name.empty()) name = "Model";
  title.line(fmt::format("{} \u00b7 {} \u00b7 {}", name, settings_line(report.model, settings, size),
                         sampling_text(generation)),
             kSettingsStyle);
  std::string shown =
      method_info(method).aggregates()
          ? fmt::format("What {} depended on, by {}, {}", data.output_name(method), to_text(method), data.span(method))
          : fmt::format("What argues for {}, by {}", data.output_name(method), to_text(method));
  if (data.options.normalized) shown += ", after " + to_text(report.settings.normalization) + " normalization";
  if (const std::optional<std::size_t> row = data.row_shown(method)) {
    const std::size_t token = chosen_token(report, data.outputs(method)[*row]);
    shown += fmt::format(" (its probability was {})", short_number(generation.tokens[token].probability));
  }
  title.line(shown + ".", kPlainStyle);
  return title.take();
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// The generated tokens' share of everything that the shown tokens depend on, as far as the report has it.
std::optional<double> generated_share(const FigureData& data, Method method, const ValueRow& row) {
  if (row.output && chosen_token(data.report, *row.output) == 0) return 0.0;
  // Rows of raw, rollout and all normalized methods sum to 1 over prompt and generated tokens, unless a mask left a row
  // empty.
  const double prompt = sum(row.values);
  if (data.options.normalized) return std::clamp(1.0 - prompt, 0.0, 1.0);
  if (method != Method::kFlow) {
    return rows_sum_to_one(data.report) ? std::optional(std::clamp(1.0 - prompt, 0.0, 1.0)) : std::nullopt;
  }
  const std::vector<double> generated = data.shown_generated(method);
  const double all = prompt + sum(generated);
  if (generated.empty() || !(all > 0.0)) return std::nullopt;
  return sum(generated) / all;
}

std::string share_sentence(const FigureData& data) {
  const Method method = data.methods.front();
  const ValueRow row = data.shown(method, data.layer_positions(method));
  const std::string average = row.output ? "" : "on average ";
  std::string text;
  if (const std::optional<double> share = generated_share(data, method, row)) {
    text = fmt::format("Measured in shares, {} depended {}{} on generated tokens and {} on the prompt.",
                       data.output_name(method), average, share_percent(*share), share_percent(1.0 - *share));
  } else if (method != Method::kFlow) {
    text = "Rows need not sum to 1, because columns are masked.";
  } else {
    text = "The report does not record how much of the flow falls on generated tokens.";
  }
  std::string rules;
  for (const ExcludedTokens& rule : data.report.generation->excluded) {
    rules += (rules.empty() ? "" : ", ") + clean_text(rule.rule);
  }
  if (rules.empty()) return text;
  return text + fmt::format(" The hatched tokens, which rankings exclude ({}), hold {}{} of the prompt's share.", rules,
                            average, share_percent(excluded_share(data.report, row.values)));
}

}  // namespace

std::string sink_sentence(const FigureData& data, Method method) {
  if (!data.report.generation || data.report.generation->sink_share.empty()) return "";
  const Tensor<double>& share = data.report.generation->sink_share;
  const std::vector<std::size_t>& layers = data.report.settings.layers;
  const std::optional<std::size_t> row = data.row_shown(method);
  const std::size_t first =
      row ? chosen_token(data.report, (*method_values(data.report, method).output_tokens)[*row]) : 0;
  const std::size_t end = row ? first + 1 : share.extent(1);
  std::vector<double> means;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    means.push_back(std::accumulate(share[l].data() + first, share[l].data() + end, 0.0) /
                    static_cast<double>(end - first));
  }
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  const auto layer = [&](auto at) { return layers[static_cast<std::size_t>(at - means.begin())]; };
  if (means.size() == 1) {
    return fmt::format(" The first token receives {:.0f}% of the attention itself.", 100.0 * *most);
  }
  return fmt::format(" The first token receives {:.0f}% (layer {}) to {:.0f}% (layer {}) of the attention itself.",
                     100.0 * *least, layer(least), 100.0 * *most, layer(most));
}

namespace {

std::string model_name(const FigureData& data) {
  const std::string name = clean_text(data.report.model.name);
  return name.empty() ? "Attention" : name;
}

std::string settings_of(const FigureData& data) {
  return settings_line(data.report.model, data.report.settings,
                       input_counts(data.report, data.report.settings.words ? "word" : "token"), data.report.target);
}

}  // namespace

Scene settings_block(const FigureData& data) {
  TitleWriter title(data);
  title.line(model_name(data) + " \u00b7 " + settings_of(data), kSettingsStyle);
  return title.take();
}

Scene title_block(const FigureData& data) {
  if (data.report.generation) return generation_title(data);
  TitleWriter title(data);
  const std::vector<std::string> texts = quoted_texts(data, kLargeTitle);
  for (const std::string& text : texts) title.line(text, kLargeTitle);
  if (texts.empty()) {
    title.line(model_name(data), kLargeTitle);
    title.line(settings_of(data), kSettingsStyle);
  } else {
    title.line(model_name(data) + " \u00b7 " + settings_of(data), kSettingsStyle);
  }
  for (const ReportPrediction& prediction : data.report.predictions) {
    if (prediction.choices.empty() && prediction.candidates.empty()) continue;
    if (is_told(prediction, data.report)) title.line(prediction_line(prediction, data), kPlainStyle);
  }
  return title.take();
}

Scene legend_block(const FigureData& data, const View& view) {
  std::vector<std::string> sentences;
  if (data.report.generation && !data.methods.empty()) sentences.push_back(data.told(share_sentence(data)));
  std::erase(sentences, "");
  if (view.above) {
    sentences.push_back(
        fmt::format("{}, and an output token's own position where rows share a scale, are ignored in setting the top "
                    "of the scale if they lie far above the rest. Gray cells with a white corner exceed the scale; the "
                    "largest value is printed next to it.",
                    data.report.model.causal ? "Special tokens, the first token" : "Special tokens"));
  }
  if (view.without_value) sentences.emplace_back("Warm gray cells have no value.");
  if (any_unknown(data)) {
    sentences.emplace_back(
        "[?] or a dashed line marks words that are not in the model's vocabulary: the model cannot tell them apart.");
  }
  Scene scene(data.measure);
  scene.width = data.width;
  scene.begin_group({.id = "legend"});
  add_wrapped(fmt::format("{}", fmt::join(sentences, " ")), kSmallGrey, data.width, &scene);
  scene.end_group();
  return scene;
}

std::vector<AxisLabel> input_axis(const FigureData& data) {
  std::vector<AxisLabel> axis;
  for (std::size_t j = 0; j < data.tokens; ++j) {
    std::string title = fmt::format("position {}", j);
    if (data.is_excluded(j)) title += ", excluded: " + clean_text(data.excluded[j]);
    axis.push_back(
        {.text = data.labels[j], .special = data.special(j) || data.is_excluded(j), .title = std::move(title)});
  }
  return axis;
}

Scene notes_block(const std::vector<std::string>& notes, double width, const TextMeasurer& measure) {
  Scene scene(measure);
  scene.width = width;
  scene.begin_group({.id = "notes"});
  scene.line({0.0, 0.0}, {width, 0.0}, stroked(kLightGrey, 0.8));
  scene.height = 6.0;
  for (const std::string& note : notes) add_wrapped("Note: " + clean_text(note), kSmallGrey, width, &scene);
  scene.end_group();
  return scene;
}

}  // namespace attnflow::internal
