// The running text on backgrounds colored by value, one strip per method. For a generation: the prompt, and the
// generated text below it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnflow/draw/parts.h"
#include "attnflow/draw/running_text.h"
#include "attnflow/draw/views.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/words/numbers.h"

namespace attnflow::internal {
namespace {

// Larger generations lose their middle, or tokens far from the one shown.
constexpr std::size_t kMaxTokens = 600;

struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<Stretch> stretches(std::size_t tokens, std::optional<std::size_t> center) {
  if (tokens <= kMaxTokens) return {{0, tokens}};
  if (!center) return {{0, kMaxTokens / 2}, {tokens - kMaxTokens / 2, tokens}};
  const std::size_t begin = std::min(*center - std::min(*center, kMaxTokens / 2), tokens - kMaxTokens);
  return {{begin, begin + kMaxTokens}};
}

struct StripText {
  RunningText text;
  std::vector<std::optional<std::size_t>> tokens;  // per running token; absent: a sign for omitted ones
  std::size_t left_out = 0;
};

RunningSource cut(const RunningSource& whole, const std::vector<Stretch>& kept, StripText& strip) {
  RunningSource source{.texts = {}, .tokens = {}, .breaks = whole.breaks};
  const auto gap = [&](std::size_t tokens) {
    if (tokens == 0) return;
    strip.left_out += tokens;
    source.tokens.push_back(
        {.label = fmt::format("\u2026 {} tokens \u2026", tokens), .begin = {}, .end = {}, .italic = true});
    strip.tokens.emplace_back();
  };
  std::size_t last = 0;
  for (const Stretch& stretch : kept) {
    gap(stretch.begin - last);
    std::size_t from = whole.texts.front().size();
    std::size_t to = 0;
    const auto has_text = [](const RunningToken& token) { return token.begin && *token.begin < *token.end; };
    for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
      if (!has_text(whole.tokens[i])) continue;
      from = std::min(from, *whole.tokens[i].begin);
      to = std::max(to, *whole.tokens[i].end);
    }
    from = std::min(from, to);
    const std::size_t number = source.texts.size();
    source.texts.push_back(whole.texts.front().substr(from, to - from));
    for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
      RunningToken token = whole.tokens[i];
      token.text = number;
      if (has_text(token)) {
        token.begin = *token.begin - from;
        token.end = *token.end - from;
      } else {
        token.begin = token.end = std::nullopt;
      }
      source.tokens.push_back(std::move(token));
      strip.tokens.emplace_back(i);
    }
    last = stretch.end;
  }
  gap(whole.tokens.size() - last);
  return source;
}

RunningSource input_source(const FigureData& data) {
  const ReportInput& input = data.report.input;
  RunningSource source{.texts = {input.text, input.text_pair}, .tokens = {}};
  for (std::size_t i = 0; i < data.tokens; ++i) {
    const InputToken& token = input.tokens[i];
    source.tokens.push_back({.label = data.labels[i],
                             .begin = token.begin,
                             .end = token.end,
                             .text = token.segment == 0 ? std::size_t{0} : std::size_t{1},
                             .italic = token.special});
  }
  return source;
}

RunningSource generated_source(const FigureData& data) {
  RunningSource source{.texts = {data.report.generation->text}, .tokens = {}};
  for (std::size_t t = 0; t < data.generated_labels.size(); ++t) {
    const GeneratedToken& token = data.report.generation->tokens[t];
    source.tokens.push_back(
        {.label = data.generated_labels[t], .begin = token.begin, .end = token.end, .italic = token.special});
  }
  return source;
}

// For a long generation, the surroundings of `shown`.
std::vector<StripText> lay_out(const FigureData& data, std::optional<std::size_t> shown) {
  std::vector<StripText> texts(data.report.generation ? 2 : 1);
  std::vector<RunningSource> sources = {input_source(data)};
  if (data.report.generation) {
    sources.push_back(generated_source(data));
    for (RunningSource& source : sources) source.breaks = RunningSource::Breaks::kMarks;
    sources[0] = cut(sources[0], stretches(data.tokens, std::nullopt), texts[0]);
    sources[1] = cut(sources[1], stretches(data.generated_labels.size(), shown), texts[1]);
  } else {
    for (std::size_t i = 0; i < data.tokens; ++i) texts[0].tokens.emplace_back(i);
  }
  std::size_t tokens = 0;
  for (const RunningSource& source : sources) tokens += source.tokens.size();
  const TextStyle style{.size = data.options.width.on_paper() ? kLabelSize : tokens > 128 ? 11.0 : 13.0};
  for (std::size_t part = 0; part < texts.size(); ++part) {
    texts[part].text = lay_out_running_text(sources[part], style, data.width, data.measure);
  }
  return texts;
}

std::string value_text(double value) { return std::isfinite(value) ? short_number(value) : "no value"; }

TokenLook input_look(const FigureData& data, std::size_t i, const ValueRow& row, const ColorScale& scale) {
  const double value = row.values[i];
  TokenLook look{.ground = scale.color(value),
                 .above = scale.is_above(value),
                 .selected = !data.report.generation && row.output == i,
                 .dashed = data.unknown(i),
                 .title = fmt::format("{} (position {}): {}", data.labels[i], i, value_text(value))};
  if (data.is_excluded(i)) {
    look.ground = kExcluded;
    look.ink = kGrey;
    look.above = false;
    look.hatched = true;
    look.title += ", excluded: " + clean_text(data.excluded[i]);
  }
  return look;
}

// Colored if the columns were kept; gray after the shown token.
TokenLook generated_look(const FigureData& data, std::size_t s, std::optional<std::size_t> shown,
                         const std::vector<double>& values, const ColorScale& scale) {
  TokenLook look{.title = fmt::format("{} (generated token {})", data.generated_labels[s], s)};
  if (!shown) return look;
  if (s > *shown) look.ink = kGrey;
  if (!values.empty() && s < *shown) {
    look.ground = scale.color(values[s]);
    look.above = scale.is_above(values[s]);
    look.title += ": " + value_text(values[s]);
  }
  look.selected = s == *shown;
  return look;
}

struct Strip {
  Method method = Method::kRollout;
  ValueRow row;
  std::optional<std::size_t> shown = {};  // the generated token shown
  std::vector<double> generated = {};
  PanelHead head = {};
};

// For a method with layers, or for scores, whose scale has signs.
Strip make_strip(const FigureData& data, Method method, const MethodScores* scores = nullptr) {
  Strip strip{.method = method,
              .row = scores != nullptr ? data.shown(*scores) : data.shown(method, data.layer_positions(method))};
  if (data.report.generation && strip.row.output) {
    strip.shown = chosen_token(data.report, *strip.row.output);
    // Averaged colors would mean little, since each token counts only for those after it.
    strip.generated = data.shown_generated(method);
  }
  if (scores != nullptr) {
    strip.head = {.title = to_text(method), .scale = scale_of_scores(data, {strip.row}, strip.generated)};
  } else {
    strip.head = {.title = fmt::format("{}, {}", to_text(method), data.span(method)),
                  .scale = scale_of(data, method, {strip.row}, strip.generated)};
  }
  return strip;
}

Scene draw_strip(const FigureData& data, const std::vector<StripText>& texts, double width, const Strip& strip) {
  const ColorScale& scale = strip.head.scale;
  Scene scene(data.measure);
  scene.width = width;
  scene.begin_group({.id = "strip-" + to_text(strip.method)});
  draw_panel_head(strip.head, 0.0, scene.width, &scene);
  scene.height = kPanelHeadHeight;
  for (std::size_t part = 0; part < texts.size(); ++part) {
    if (part == 1) {
      scene.height += 6.0;
      scene.begin_group({.id = "strip-generated"});
      add_wrapped("generated", kSmallGrey, data.width, &scene);
    }
    std::vector<TokenLook> looks;
    for (const std::optional<std::size_t>& token : texts[part].tokens) {
      looks.push_back(!token      ? TokenLook{.ground = {}, .ink = kGrey, .title = ""}
                      : part == 0 ? input_look(data, *token, strip.row, scale)
                                  : generated_look(data, *token, strip.shown, strip.generated, scale));
    }
    draw_running_text(texts[part].text, looks, scene.height, &scene);
    scene.height += texts[part].text.height;
    if (part == 1) scene.end_group();
  }
  if (method_info(strip.method).aggregates()) {
    add_wrapped(degeneracy_note(data, strip.method, data.layer_positions(strip.method), data.row_shown(strip.method)),
                kPanelNote, data.width, &scene);
  }
  scene.end_group();
  return scene;
}

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
    return fmt::format("What {} depends on; bars above and below mark that token.", data.output_name(strip.method)) +
           (signs.empty() ? "" : " " + signs);
  }
  if (!data.options.notes && method_info(strip.method).aggregates()) return "";
  const std::string bars = strip.shown ? "; bars above and below mark that token" : ", on average";
  std::string text = method_info(strip.method).aggregates()
                         ? fmt::format("What {} depended on in the prompt{}.", data.output_name(strip.method), bars)
                         : fmt::format("How strongly each prompt token argues for {} (blue) or against {} (red){}.",
                                       data.output_name(strip.method), strip.shown ? "it" : "them", bars);
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
  const std::vector<StripText> texts = lay_out(data, strips.front().shown);
  double width = 0.0;
  for (const StripText& text : texts) width = std::max(width, text.text.width);
  width = std::min(width, data.width);
  for (const Strip& strip : strips) width = std::max(width, panel_head_width(data.measure, strip.head));
  View view{.scene = Scene(data.measure)};
  std::vector<Scene> scenes;
  for (const Strip& strip : strips) {
    scenes.push_back(draw_strip(data, texts, width, strip));
    view.note(strip.head.scale, {strip.row});
  }
  view.scene =
      with_caption("strip", stacked(scenes, 10.0, data.measure), caption(data, strips.front(), texts), data.width);
  return view;
}

}  // namespace attnflow::internal
