// The answer (report/report_answer.h): the headline, the text colored by the best map, the check's drops below it, the
// verdicts, and the paper's attention as a second line.
#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/draw/strips.h"
#include "attnflow/draw/views.h"
#include "attnflow/report/report_answer.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow::internal {
namespace {

constexpr TextStyle kHeadline{.size = 15.0, .bold = true};
constexpr TextStyle kVerdict{.size = 11.0};

// Names in quotes that run from right to left keep their places in an English sentence, which runs from left to right
// even where it begins with one.
std::string sentence_with_names(std::string_view text) {
  constexpr std::string_view kOpen = "\u201c";
  constexpr std::string_view kClose = "\u201d";
  std::string result = "\u200e";
  while (!text.empty()) {
    const std::size_t open = text.find(kOpen);
    const std::size_t close = open == std::string_view::npos ? open : text.find(kClose, open);
    if (close == std::string_view::npos) break;
    result += text.substr(0, open + kOpen.size());
    result += isolated(text.substr(open + kOpen.size(), close - open - kOpen.size()));
    result += kClose;
    text.remove_prefix(close + kClose.size());
  }
  return result += text;
}

Scene sentences(const FigureData& data, const std::string& id, const std::vector<std::string>& texts,
                const TextStyle& style) {
  Scene scene(data.measure);
  scene.width = data.width;
  scene.begin_group({.id = id});
  for (const std::string& text : texts) add_wrapped(sentence_with_names(text), style, data.width, &scene);
  scene.end_group();
  return scene;
}

std::vector<std::string> verdict_texts(const ReportAnswer& answer) {
  std::vector<std::string> texts;
  for (const AnswerVerdict& verdict : answer.verdicts) texts.push_back(verdict.text);
  return texts;
}

// The map that was asked for, else the best, if it has a row of the output token.
Method map_shown(const FigureData& data) {
  const std::optional<Method> best = data.options.methods.empty() ? best_map(data.report) : std::nullopt;
  if (best && !answer_row(data.report, *best).values.empty()) return *best;
  return data.methods.empty() ? data.first_method() : data.methods_with_output_token().front();
}

Strip map_strip(const FigureData& data, const ReportAnswer& answer) {
  Strip strip = make_strip(data, *answer.method, method_scores(data.report, *answer.method));
  if (data.options.layers.empty()) strip.head.title = answer.map;
  return strip;
}

void check_question(const FigureData& data) {
  if (data.report.generation) {
    throw Error(ErrorKind::kUsage,
                "the view answer: expected the explanation of one output token, found a generation; choose another "
                "view, such as strip");
  }
  if (data.output_token != data.report.output_token) {
    throw Error(ErrorKind::kUsage,
                fmt::format("the view answer: expected the explained output token {}, found {}; choose another view, "
                            "such as strip",
                            data.report.output_token, data.output_token));
  }
}

}  // namespace

View answer_view(const FigureData& data) {
  check_question(data);
  const Report& report = data.report;
  const ReportAnswer answer = report_answer(report, map_shown(data));
  std::vector<Strip> strips = {map_strip(data, answer)};
  if (std::optional<Strip> drops = drops_strip(data)) strips.push_back(*std::move(drops));
  const std::size_t above_verdicts = strips.size();
  const std::optional<AnswerRow> attention = attention_row(report);
  if (attention && (!data.options.notes || !holds_nearly_all(*attention))) {
    strips.push_back(row_strip(data, "strip-attention", attention->title, attention->values));
  }
  const std::vector<StripText> texts = lay_out_strips(data, std::nullopt);
  const double width = strips_width(data, texts, strips);

  View view{.scene = Scene(data.measure)};
  std::vector<Scene> scenes;
  for (const Strip& strip : strips) {
    scenes.push_back(draw_strip(data, texts, width, strip));
    if (!strip.of_drops) view.note(strip.head.scale, {strip.row});
  }
  if (data.options.notes) {
    if (attention && holds_nearly_all(*attention)) {
      scenes.push_back(sentences(data, "attention", {top_tokens_line(report, *attention)}, kVerdict));
    }
    scenes.insert(scenes.begin() + static_cast<std::ptrdiff_t>(above_verdicts),
                  sentences(data, "verdicts", verdict_texts(answer), kVerdict));
    scenes.insert(scenes.begin(), sentences(data, "headline", {answer.headline}, kHeadline));
  }
  std::erase_if(scenes, [](const Scene& scene) { return scene.height == 0.0; });
  view.scene = stacked(scenes, 10.0, data.measure);
  return view;
}

}  // namespace attnflow::internal
