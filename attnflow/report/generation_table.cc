// Tables of a generation: per token its probability, the prompt's share of its dependence and the prompt tokens that it
// depends on most, by the leading method, in the usual layers; then one table per method outside the graph.
#include "attnflow/report/generation_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/words.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/numbers.h"
#include "attnflow/words/text_table.h"
#include "attnflow/words/wrap.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kMinGenerationWidth = 40;
constexpr std::size_t kMaxGeneratedToken = 16;

struct Line {
  std::size_t number = 0;
  std::string token;
  double probability = 0.0;
  double prompt_share = 0.0;
  std::vector<RankedToken> ranking;
};

struct Content {
  std::string title;      // "Prompt tokens that each generated token depends on most, by rollout, layer 30."
  bool has_share = true;  // flows and scores do not add up, and masked columns may leave rows empty
  std::vector<Line> lines;
  double excluded_share = 0.0;  // mean over lines
};

// "the ten most probable other tokens": what generated tokens are compared with, each with its own; "" for nothing.
std::string contrast_of_each(const Report& report) {
  constexpr std::size_t kUsual = 10;
  const std::optional<ReportTarget>& target = report.generation->tokens.front().target;
  if (!target || !target->against) return "";
  if (target->against->index) return "the most probable other token";
  const std::size_t others = target->against->others.size();
  return fmt::format("the {} most probable other tokens", others == kUsual ? "ten" : std::to_string(others));
}

std::string aggregation_title(const Report& report, Method method) {
  std::vector<std::size_t> layers;
  const std::vector<std::size_t>& all = *method_values(report, method).layers;
  for (const std::size_t at : usual_layers(report, all.size())) layers.push_back(all[at]);
  std::string span;
  if (layers.size() == 1) {
    span = fmt::format("{}, layer {}", to_text(method), layers.front());
  } else if (layers.back() - layers.front() + 1 == layers.size()) {
    span = fmt::format("{}, mean over layers {} to {}", to_text(method), layers.front(), layers.back());
  } else {
    span = fmt::format("{}, mean over layers {}", to_text(method), fmt::join(layers, ", "));
  }
  const MixingInfo& mixing = mixing_info(report.settings.mixing);
  if (mixing.mixing != Mixing::kAttention) span += fmt::format(" over {}", mixing.weights);
  std::string title = fmt::format("Prompt tokens that each generated token depends on most, by {}.", span);
  if (const std::string contrast = contrast_of_each(report); mixing.has_target() && !contrast.empty()) {
    title += fmt::format(" They explain why each was chosen rather than {}.", contrast);
  }
  return title;
}

Line line_of(const Report& report, Method method, std::size_t output) {
  Line line;
  line.number = chosen_token(report, output);
  const std::string text = generated_text(*report.generation, line.number);
  line.token = without_leading_spaces(text);
  if (line.token.empty()) line.token = text;  // spaces alone
  line.probability = report.generation->tokens[line.number].probability;
  line.ranking = rank_input_tokens(report, method, output, {});
  return line;
}

Content content_of_aggregation(const Report& report, Method method) {
  Content content;
  content.title = aggregation_title(report, method);
  content.has_share = method != Method::kFlow && !report.settings.weights_by_gradient() && rows_sum_to_one(report);
  const MethodValues found = method_values(report, method);
  for (std::size_t row = 0; row < found.output_tokens->size(); ++row) {
    const std::vector<double> values =
        mean_over_layers(*found.values, row, usual_layers(report, found.values->extent(0)));
    Line line = line_of(report, method, (*found.output_tokens)[row]);
    line.prompt_share = std::accumulate(values.begin(), values.end(), 0.0);
    content.excluded_share += excluded_share(report, values) / static_cast<double>(found.output_tokens->size());
    content.lines.push_back(std::move(line));
  }
  return content;
}

Content content_of_scores(const Report& report, Method method) {
  const std::string contrast = contrast_of_each(report);
  Content content{
      .title = fmt::format("Prompt tokens that argue for each generated token{} (below 0: against it), by {}.",
                           contrast.empty() ? "" : " rather than " + contrast, to_text(method)),
      .has_share = false,
      .lines = {}};
  for (const std::size_t output : report.output_tokens) content.lines.push_back(line_of(report, method, output));
  return content;
}

std::vector<Content> contents_of(const Report& report) {
  std::vector<Content> contents;
  const std::vector<Method> methods = methods_present(report);
  if (!methods.empty()) {
    contents.push_back(content_of_aggregation(report, leading_method(report, methods)));
  }
  for (const MethodScores& scores : report.scores) {
    if (!scores.values.empty()) contents.push_back(content_of_scores(report, scores.method));
  }
  return contents;
}

std::vector<std::string> closing_lines(const Report& report, const std::vector<Content>& contents, OptionNames names) {
  std::vector<std::string> lines;
  double sink = 0.0;
  std::size_t sinks = 0;
  for (const Content& content : contents) {
    for (const Line& line : content.lines) {
      if (line.ranking.empty() || !line.ranking.back().sink) continue;
      sink += line.ranking.back().value;
      ++sinks;
    }
  }
  if (sinks > 0) {
    lines.push_back(fmt::format("The first token, {}, is excluded as an attention sink: it holds {:.3f} on average.",
                                quoted_token(report, 0), sink / static_cast<double>(sinks)));
  }
  std::string rules;
  for (const ExcludedTokens& rule : report.generation->excluded) {
    rules += fmt::format("{}{} ({})", rules.empty() ? "" : ", ", clean_line(rule.rule), rule.tokens.size());
  }
  if (!rules.empty()) {
    const bool shares = !methods_present(report).empty();
    lines.push_back(fmt::format(
        "Excluded from the rankings: {}{}.", rules,
        shares ? fmt::format("; they hold {} of the prompt's share", percent(contents.front().excluded_share)) : ""));
  }
  for (const Note& note : report.notes) {
    if (note.code != NoteCode::kNotTheAnswer) lines.push_back("Note: " + clean_line(note_text(note, names)));
  }
  return lines;
}

}  // namespace

std::string generation_terminal_table(const Report& report, const TableOptions& options) {
  const std::size_t width = std::max(options.width, kMinGenerationWidth);
  const std::string_view ellipsis = options.ascii ? "..." : "\u2026";
  const std::vector<Content> contents = contents_of(report);
  std::string out;
  const auto paragraph = [&](const std::string& text) {
    for (const std::string& line : wrapped_lines(text, width, {.ellipsis = ellipsis})) out += line + "\n";
  };
  paragraph(model_line(report));
  for (const Note& note : report.notes) {
    if (note.code == NoteCode::kNotTheAnswer) paragraph(clean_line(note_text(note, options.option_names)));
  }
  for (const Content& content : contents) {
    paragraph(content.title + (content.has_share
                                   ? " The column \"prompt\" holds the prompt's share; the rest falls on generated "
                                     "tokens."
                                   : ""));
    std::size_t token_width = 5;
    const std::size_t most = std::min(kMaxGeneratedToken, width / 4);  // leaves room for the ranking
    for (const Line& line : content.lines)
      token_width = std::max(token_width, std::min(most, display_width(quoted_name(line.token, most, ellipsis))));
    const std::size_t number_width = std::to_string(report.generation->tokens.size() - 1).size();
    out +=
        shorten(fmt::format("{:>{}} {} {:>5}{}  depends most on", "", number_width,
                            fit_to_cells("token", token_width, ellipsis), "prob.", content.has_share ? " prompt" : ""),
                width, ellipsis) +
        "\n";
    for (const Line& line : content.lines) {
      std::string text =
          fmt::format("{:>{}} {} {:>4.0f}%", line.number, number_width,
                      fit_to_cells(quoted_name(line.token, token_width - 2, ellipsis), token_width, ellipsis),
                      100.0 * line.probability);
      if (content.has_share) text += fmt::format(" {:>5.0f}%", 100.0 * line.prompt_share);
      text += "  ";
      std::size_t used = display_width(text);
      bool first = true;
      for (const RankedToken& ranked : line.ranking) {
        if (ranked.sink) break;  // stated below the table
        const std::string name = isolated(quoted_token(report, ranked.token, kMaxGeneratedToken, ellipsis));
        const std::string piece = fmt::format("{}{} {:.3f}", first ? "" : ", ", name, ranked.value);
        if (used + display_width(piece) > width) break;
        text += piece;
        used += display_width(piece);
        first = false;
      }
      out += without_trailing_spaces(text) + "\n";
    }
  }
  for (const std::string& line : closing_lines(report, contents, options.option_names)) paragraph(line);
  return options.ascii ? with_ascii_marks(std::move(out)) : out;
}

std::string generation_markdown_table(const Report& report, OptionNames option_names) {
  // Leading spaces stay outside: "** hot**" would not be bold.
  const auto bold = [](const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string::npos) return std::string();
    const std::size_t end = text.find_last_not_of(' ') + 1;
    return (first > 0 ? " **" : "**") + text.substr(first, end - first) + "**";
  };
  const std::vector<Content> contents = contents_of(report);
  std::string out = markdown_escaped(model_line(report)) + "\n\n> " + markdown_escaped_line(report.input.text) +
                    (source_tokens(report) > 0 ? "\n>\n> " : "") + bold(markdown_escaped(report.generation->text)) +
                    "\n\n";
  for (const Content& content : contents) {
    if (&content != &contents.front()) out += "\n";
    TextTable table{{{""}, {"token", Align::kLeft}, {"probability"}}};
    if (content.has_share) table.columns.push_back({"share of the prompt"});
    table.columns.push_back({"depends most on", Align::kLeft});
    for (const Line& line : content.lines) {
      std::string ranked;
      for (const RankedToken& token : line.ranking) {
        if (token.sink) break;
        ranked +=
            fmt::format("{}{} {:.3f}", ranked.empty() ? "" : ", ", quoted_token(report, token.token), token.value);
      }
      std::vector<std::string>& cells = table.rows.emplace_back();
      cells = {std::to_string(line.number), quoted_name(line.token), fmt::format("{:.3f}", line.probability)};
      if (content.has_share) cells.push_back(fmt::format("{:.3f}", line.prompt_share));
      cells.push_back(std::move(ranked));
    }
    out += content.title + "\n\n" + markdown_text(table);
  }
  for (const std::string& line : closing_lines(report, contents, option_names)) {
    out += "\n" + markdown_escaped(line) + "\n";
  }
  return out;
}

}  // namespace attnflow::internal
