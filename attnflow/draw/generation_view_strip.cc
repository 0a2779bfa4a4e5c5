// The prompt as running text, coloured by what was drawn on it, and what was generated below.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnflow/draw/generation_data.h"
#include "attnflow/draw/parts.h"
#include "attnflow/draw/running_text.h"

namespace attnflow::internal {
namespace {

// A text of more tokens is drawn without its middle, or without what is far from the token shown.
constexpr std::size_t kMaxTokens = 600;

struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Both ends of a long text, or the surroundings of `center`.
std::vector<Stretch> stretches(std::size_t tokens, std::optional<std::size_t> center) {
  if (tokens <= kMaxTokens) return {{0, tokens}};
  if (!center) return {{0, kMaxTokens / 2}, {tokens - kMaxTokens / 2, tokens}};
  const std::size_t begin = std::min(*center - std::min(*center, kMaxTokens / 2), tokens - kMaxTokens);
  return {{begin, begin + kMaxTokens}};
}

// What a part of the strip is made of: tokens of one text with their looks.
struct Part {
  std::string text;
  std::vector<RunningToken> tokens;
  std::vector<TokenLook> looks;
};

struct Cut {
  RunningSource source;
  std::vector<TokenLook> looks;
  std::size_t left_out = 0;  // tokens
};

// The stretches of a part, with a sign in each gap.
Cut cut(const Part& part, const std::vector<Stretch>& kept) {
  Cut result;
  result.source.breaks = RunningSource::Breaks::kMarks;
  const auto gap = [&](std::size_t tokens) {
    if (tokens == 0) return;
    result.left_out += tokens;
    result.source.tokens.push_back(
        {.label = fmt::format("\u2026 {} tokens \u2026", tokens), .begin = {}, .end = {}, .italic = true});
    result.looks.push_back({.ground = {}, .ink = kGrey, .title = ""});
  };
  std::size_t last = 0;
  for (const Stretch& stretch : kept) {
    gap(stretch.begin - last);
    // The text of a stretch runs from its first range to its last.
    std::size_t from = part.text.size();
    std::size_t to = 0;
    for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
      const RunningToken& token = part.tokens[i];
      if (!token.begin || !token.end || *token.begin >= *token.end) continue;
      from = std::min(from, *token.begin);
      to = std::max(to, *token.end);
    }
    from = std::min(from, to);
    const std::size_t number = result.source.texts.size();
    result.source.texts.push_back(part.text.substr(from, to - from));
    for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
      RunningToken token = part.tokens[i];
      token.text = number;
      if (token.begin && token.end && *token.begin < *token.end) {
        token.begin = *token.begin - from;
        token.end = *token.end - from;
      } else {
        token.begin = token.end = std::nullopt;
      }
      result.source.tokens.push_back(std::move(token));
      result.looks.push_back(part.looks[i]);
    }
    last = stretch.end;
  }
  gap(part.tokens.size() - last);
  return result;
}

std::string value_text(double value) { return std::isfinite(value) ? short_number(value) : "no value"; }

Part prompt_part(const GenerationData& data, const std::vector<double>& values, const ColorScale& scale) {
  Part part{.text = data.report.prompt, .tokens = {}, .looks = {}};
  for (std::size_t j = 0; j < data.prompt(); ++j) {
    const InputToken& token = data.report.prompt_tokens[j];
    part.tokens.push_back(
        {.label = data.prompt_labels[j], .begin = token.begin, .end = token.end, .italic = token.special});
    TokenLook look{.ground = scale.color(values[j]),
                   .ink = {},
                   .above = scale.is_above(values[j]),
                   .title = fmt::format("{} (token {}): {}", data.prompt_labels[j], j, value_text(values[j]))};
    if (data.left_out(j)) {
      look.ground = kLeftOut;
      look.ink = kGrey;
      look.above = false;
      look.hatched = true;
      look.title += ", dropped: " + clean_text(data.dropped[j]);
    }
    part.looks.push_back(std::move(look));
  }
  return part;
}

// Generated tokens are coloured where their columns were kept; those that came after the one shown are grey.
Part generated_part(const GenerationData& data, const std::vector<double>& values, const ColorScale& scale) {
  Part part{.text = data.report.text, .tokens = {}, .looks = {}};
  const std::size_t shown = data.shown_token().value_or(data.report.tokens.size());
  for (std::size_t s = 0; s < data.report.tokens.size(); ++s) {
    const GeneratedToken& token = data.report.tokens[s];
    part.tokens.push_back(
        {.label = data.generated_labels[s], .begin = token.begin, .end = token.end, .italic = token.special});
    TokenLook look{.title = fmt::format("{} (generated token {})", data.generated_labels[s], s)};
    if (s > shown) look.ink = kGrey;
    if (!values.empty() && s < shown) {
      look.ground = scale.color(values[s]);
      look.above = scale.is_above(values[s]);
      look.title += ": " + value_text(values[s]);
    }
    look.selected = s == shown;
    part.looks.push_back(std::move(look));
  }
  return part;
}

}  // namespace

View generation_strip(const GenerationData& data) {
  const std::vector<double> values = data.shown();
  const std::optional<std::size_t> shown = data.shown_token();
  // In a mean each of them counts for the tokens after it only, so colours would say little.
  const std::vector<double> generated = shown ? data.shown_generated() : std::vector<double>();
  const ColorScale scale = generation_scale(data, {{values, shown}}, generated);
  const Cut prompt = cut(prompt_part(data, values, scale), stretches(data.prompt(), std::nullopt));
  const Cut said = cut(generated_part(data, generated, scale), stretches(data.report.tokens.size(), shown));

  const TextStyle style{.size = prompt.source.tokens.size() + said.source.tokens.size() > 128 ? 11.0 : 13.0};
  const RunningText prompt_text = lay_out_running_text(prompt.source, style, data.width, data.measure);
  const RunningText said_text = lay_out_running_text(said.source, style, data.width, data.measure);
  const PanelHead head{.title = fmt::format("{}, {}", to_text(data.method), data.span()), .scale = scale};
  Scene scene(data.measure);
  scene.width =
      std::min(data.width, std::max({prompt_text.width, said_text.width, panel_head_width(data.measure, head)}));
  scene.begin_group({.id = "strip-prompt"});
  draw_panel_head(head, 0.0, scene.width, &scene);
  draw_running_text(prompt_text, prompt.looks, kPanelHeadHeight, &scene);
  scene.end_group();
  scene.height = kPanelHeadHeight + prompt_text.height + 6.0;
  scene.begin_group({.id = "strip-generated"});
  scene.height +=
      draw_wrapped("generated", {.size = kSmallSize, .color = kGrey}, {0.0, scene.height}, data.width, &scene);
  draw_running_text(said_text, said.looks, scene.height, &scene);
  scene.end_group();
  scene.height += said_text.height;

  std::string caption = shown ? fmt::format("What {} drew on in the prompt; bars above and below mark it.", data.who())
                              : fmt::format("What {} drew on in the prompt, on average.", data.who());
  if (!generated.empty()) caption += " Generated tokens are coloured too, on the same scale.";
  if (prompt.left_out + said.left_out > 0) {
    caption += fmt::format(" Not shown: {} of the {} prompt tokens and {} of the {} generated ones.", prompt.left_out,
                           data.prompt(), said.left_out, data.report.tokens.size());
  }
  View view{.scene = with_caption("strip", scene, caption, data.width)};
  view.above = scale.above.has_value();
  for (const double value : values) view.without_value = view.without_value || !std::isfinite(value);
  return view;
}

}  // namespace attnflow::internal
