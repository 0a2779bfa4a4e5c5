#include "attnflow/draw/strips.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attnflow/report/report_answer.h"
#include "attnflow/report/report_check.h"
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

// The texts of a pair, each with its tokens; one where there is no second.
std::vector<RunningSource> input_parts(const FigureData& data) {
  const RunningSource whole = input_source(data);
  const auto second = std::ranges::find_if(whole.tokens, [](const RunningToken& token) { return token.text == 1; });
  if (second == whole.tokens.begin() || second == whole.tokens.end()) return {whole};
  return {{.texts = whole.texts, .tokens = {whole.tokens.begin(), second}},
          {.texts = whole.texts, .tokens = {second, whole.tokens.end()}}};
}

std::string value_text(double value) { return std::isfinite(value) ? short_number(value) : "no value"; }

TokenLook input_look(const FigureData& data, std::size_t i, const Strip& strip) {
  const ColorScale& scale = strip.head.scale;
  const ValueRow& row = strip.row;
  const double value = row.values[i];
  if (strip.of_drops && !std::isfinite(value)) {
    return {.ink = kGrey, .title = fmt::format("{} (position {}): not checked", data.labels[i], i)};
  }
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

// The drops of the output token shown; null if it was not checked.
const ReportCheck* check_shown(const FigureData& data) {
  const Report& report = data.report;
  if (!report.generation) return data.output_token == report.output_token ? answer_check(report) : nullptr;
  if (!data.options.output_token) return nullptr;
  const std::optional<ReportCheck>& check = report.generation->tokens[*data.options.output_token].check;
  return check ? &*check : nullptr;
}

// The scale of the drops in words. An embedding predicts nothing.
std::string drops_key(const Report& report, const ReportCheck& check) {
  const bool of_embedding = std::ranges::any_of(
      report.predictions, [](const ReportPrediction& prediction) { return prediction.kind == "embedding"; });
  const bool of_similarity = report.target && report.target->kind == "similarity";
  const char* const unit = internal::unit_of(report);
  if (of_embedding && !of_similarity)
    return fmt::format("the darker the blue, the more the embedding depends on the {}", unit);
  const char* const what = of_similarity ? "similarity" : "prediction";
  if (!check.has_rises()) return fmt::format("blue {}s speak for the {}", unit, what);
  return fmt::format("blue {}s speak for the {}, red ones, without which it rises, against it", unit, what);
}

}  // namespace

std::vector<StripText> lay_out_strips(const FigureData& data, std::optional<std::size_t> shown) {
  std::vector<RunningSource> sources =
      data.report.generation ? std::vector{input_source(data), generated_source(data)} : input_parts(data);
  std::vector<StripText> texts(sources.size());
  if (data.report.generation) {
    texts[1].is_generated = true;
    for (RunningSource& source : sources) source.breaks = RunningSource::Breaks::kMarks;
    sources[0] = cut(sources[0], stretches(data.tokens, std::nullopt), texts[0]);
    sources[1] = cut(sources[1], stretches(data.generated_labels.size(), shown), texts[1]);
  } else {
    std::size_t next = 0;
    for (std::size_t part = 0; part < texts.size(); ++part) {
      for (std::size_t k = 0; k < sources[part].tokens.size(); ++k) texts[part].tokens.emplace_back(next++);
    }
  }
  std::size_t tokens = 0;
  for (const RunningSource& source : sources) tokens += source.tokens.size();
  const TextStyle style{.size = data.options.width.on_paper() ? kLabelSize : tokens > 128 ? 11.0 : 13.0};
  for (std::size_t part = 0; part < texts.size(); ++part) {
    texts[part].text = lay_out_running_text(sources[part], style, data.width, data.measure);
  }
  return texts;
}

Strip make_strip(const FigureData& data, Method method, const MethodScores* scores) {
  Strip strip{.id = "strip-" + to_text(method),
              .method = method,
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

std::optional<Strip> drops_strip(const FigureData& data) {
  const ReportCheck* const check = check_shown(data);
  if (check == nullptr || check->tokens.empty()) return std::nullopt;
  std::vector<double> drops(data.tokens, std::numeric_limits<double>::quiet_NaN());
  for (const CheckedToken& one : check->tokens) drops[one.token] = one.drop;
  Strip strip{.id = "strip-check", .row = {.values = std::move(drops), .output = {}}, .of_drops = true};
  strip.head = {.title = fmt::format("without each {}", internal::unit_of(data.report)),
                .scale = scale_of_drops(*check)};
  strip.caption = fmt::format("How far the {} falls: {}.", clean_text(check->quantity), drops_key(data.report, *check));
  return strip;
}

Strip row_strip(const FigureData& data, const std::string& id, const std::string& title, std::vector<double> values) {
  Strip strip{.id = id, .row = {.values = std::move(values), .output = data.output_token}};
  strip.head = {.title = title, .scale = scale_of(data, Method::kRollout, {strip.row})};
  return strip;
}

double strips_width(const FigureData& data, const std::vector<StripText>& texts, const std::vector<Strip>& strips) {
  double width = 0.0;
  for (const StripText& text : texts) width = std::max(width, text.text.width);
  width = std::min(width, data.width);
  for (const Strip& strip : strips) width = std::max(width, panel_head_width(data.measure, strip.head));
  return width;
}

Scene draw_strip(const FigureData& data, const std::vector<StripText>& texts, double width, const Strip& strip) {
  const ColorScale& scale = strip.head.scale;
  Scene scene(data.measure);
  scene.width = width;
  scene.begin_group({.id = strip.id});
  draw_panel_head(strip.head, 0.0, scene.width, &scene);
  scene.height = kPanelHeadHeight;
  for (std::size_t part = 0; part < texts.size(); ++part) {
    const bool is_generated = texts[part].is_generated;
    if (is_generated) {
      scene.height += 6.0;
      scene.begin_group({.id = "strip-generated"});
      add_wrapped("generated", kSmallGrey, data.width, &scene);
    }
    std::vector<TokenLook> looks;
    for (const std::optional<std::size_t>& token : texts[part].tokens) {
      looks.push_back(!token         ? TokenLook{.ground = {}, .ink = kGrey, .title = ""}
                      : is_generated ? generated_look(data, *token, strip.shown, strip.generated, scale)
                                     : input_look(data, *token, strip));
    }
    draw_running_text(texts[part].text, looks, scene.height, &scene);
    scene.height += texts[part].text.height;
    if (is_generated) scene.end_group();
  }
  add_wrapped(strip.caption, kPanelNote, data.width, &scene);
  if (strip.method && method_info(*strip.method).aggregates()) {
    add_wrapped(
        degeneracy_note(data, *strip.method, data.layer_positions(*strip.method), data.row_shown(*strip.method)),
        kPanelNote, data.width, &scene);
  }
  scene.end_group();
  return scene;
}

}  // namespace attnflow::internal
