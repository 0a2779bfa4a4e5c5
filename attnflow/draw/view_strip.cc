// The running text on backgrounds colored by value, one strip per method, and one of the check's drops. For a
// generation: the prompt, and the generated text below it.
#include <fmt/format.h>

#include <utility>

#include "attnflow/draw/strips.h"
#include "attnflow/draw/views.h"
#include "attnflow/report/report_ranking.h"

namespace attnflow::internal {
namespace {

std::string caption(const FigureData& data, const Strip& strip, const std::vector<StripText>& texts) {
  if (!data.report.generation) {
    std::string signs;
    if (!data.scores.empty()) {
      std::vector<Method> scored;
      for (const MethodScores* const scores : data.scores) scored.push_back(scores->method);
      const std::string target = target_title(data.report.target);
      signs = fmt::format("{}: blue argues for {}, red against it.", fmt::join(to_texts(scored), ", "),
                          target.empty() ? std::string("the prediction") : target);
    }
    if (data.methods.empty() || !data.options.notes) return signs;  // colors need their legend
    return fmt::format("What {} depends on; bars above and below mark that token.", data.output_name(*strip.method)) +
           (signs.empty() ? "" : " " + signs);
  }
  if (!data.options.notes && method_info(*strip.method).aggregates()) return "";
  const std::string bars = strip.shown ? "; bars above and below mark that token" : ", on average";
  std::string text = method_info(*strip.method).aggregates()
                         ? fmt::format("What {} depended on in the prompt{}.", data.output_name(*strip.method), bars)
                         : fmt::format("How strongly each prompt token argues for {} (blue) or against {} (red){}.",
                                       data.output_name(*strip.method), strip.shown ? "it" : "them", bars);
  if (!strip.generated.empty()) text += " Generated tokens are colored too, on the same scale.";
  if (texts[0].left_out + texts[1].left_out > 0) {
    text += fmt::format(" Not shown: {} of the {} prompt tokens and {} of the {} generated ones.", texts[0].left_out,
                        data.tokens, texts[1].left_out, data.generated_labels.size());
  }
  return text;
}

}  // namespace

View strip_view(const FigureData& data) {
  std::vector<Strip> strips;
  if (!data.methods.empty() || data.scores.empty()) {
    for (const Method method : data.methods_with_output_token()) strips.push_back(make_strip(data, method));
  }
  for (const MethodScores* const scores : data.scores) strips.push_back(make_strip(data, scores->method, scores));
  const std::vector<StripText> texts = lay_out_strips(data, strips.front().shown);
  if (std::optional<Strip> drops = drops_strip(data)) strips.push_back(*std::move(drops));
  const double width = strips_width(data, texts, strips);
  View view{.scene = Scene(data.measure)};
  std::vector<Scene> scenes;
  for (const Strip& strip : strips) {
    scenes.push_back(draw_strip(data, texts, width, strip));
    if (strip.method) view.note(strip.head.scale, {strip.row});
  }
  view.scene =
      with_caption("strip", stacked(scenes, 10.0, data.measure), caption(data, strips.front(), texts), data.width);
  return view;
}

}  // namespace attnflow::internal
