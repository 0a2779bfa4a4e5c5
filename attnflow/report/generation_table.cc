#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/report/generation_output.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace {

constexpr std::size_t kMinGenerationWidth = 40;
constexpr std::size_t kMaxGeneratedToken = 16;

// What the table shows of each generated token.
struct Line {
  std::string token;
  double probability = 0.0;
  double prompt_share = 0.0;
  GenerationRanking ranking;
};

struct Content {
  Method method = Method::kRollout;
  std::string span;  // "rollout, mean over layers 1 to 30"
  std::vector<Line> lines;
  double dropped_share = 0.0;  // mean over lines
};

std::string quoted_token(const std::string& text) {
  const std::string clean = clean_line(text);
  return runs_right_to_left(clean) ? "\u2068" + clean + "\u2069" : clean;
}

Content content_of(const GenerationReport& report) {
  Content content;
  const std::vector<Method> methods = methods_present(report);
  if (methods.empty()) return content;
  const bool has_rollout = std::find(methods.begin(), methods.end(), Method::kRollout) != methods.end();
  content.method = has_rollout ? Method::kRollout : methods.front();
  const GenerationMethod method = generation_method(report, content.method);
  const auto& layers = method.layers;
  if (layers.size() == 1) {
    content.span = fmt::format("{}, layer {}", to_text(content.method), layers.front());
  } else if (layers.back() - layers.front() + 1 == layers.size()) {
    content.span = fmt::format("{}, mean over layers {} to {}", to_text(content.method), layers.front(), layers.back());
  } else {
    content.span = fmt::format("{}, mean over layers {}", to_text(content.method), fmt::join(layers, ", "));
  }
  for (std::size_t row = 0; row < method.tokens.size(); ++row) {
    const std::size_t t = method.tokens[row];
    const std::vector<double> values = mean_over_layers(method.values->prompt, row);
    Line line;
    line.token = generated_text(report, t);
    line.probability = report.tokens[t].probability;
    line.prompt_share = std::accumulate(values.begin(), values.end(), 0.0);
    line.ranking = rank_prompt_tokens(report, values);
    content.dropped_share += line.ranking.dropped_share / static_cast<double>(method.tokens.size());
    content.lines.push_back(std::move(line));
  }
  return content;
}

std::string title_of(const GenerationReport& report) {
  return fmt::format("{} ({}{} layers, {} heads), {} prompt token{}, {} generated", clean_line(report.model.name),
                     report.model.architecture.empty() ? "" : clean_line(report.model.architecture) + ", ",
                     report.model.layers, report.model.heads, report.prompt_tokens.size(),
                     report.prompt_tokens.size() == 1 ? "" : "s", report.tokens.size());
}

std::string dropped_text(const GenerationReport& report, const Content& content) {
  if (report.dropped.empty()) return "";
  std::string rules;
  for (const DroppedTokens& rule : report.dropped) {
    rules += fmt::format("{}{} ({})", rules.empty() ? "" : ", ", clean_line(rule.rule), rule.tokens.size());
  }
  return fmt::format("Left out of the rankings: {}; they hold {:.0f}% of what was drawn on the prompt.", rules,
                     100.0 * content.dropped_share);
}

std::vector<std::string> closing_lines(const GenerationReport& report, const Content& content) {
  std::vector<std::string> lines;
  if (const std::string dropped = dropped_text(report, content); !dropped.empty()) lines.push_back(dropped);
  for (const Note& note : report.notes) lines.push_back("Note: " + clean_line(note_text(note)));
  return lines;
}

// Clean text broken at spaces into lines of at most `width` cells; a word that fits on no line is shortened.
std::string wrapped(std::string_view text, std::size_t width, std::string_view ellipsis) {
  constexpr std::size_t kIndent = 2;
  std::string out;
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = shorten(text.substr(at, end - at), width - kIndent, ellipsis);
    at = end + 1;
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      out += line + "\n";
      line.assign(kIndent, ' ');
      line += word;
      continue;
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  return out + line + "\n";
}

}  // namespace

std::string generation_terminal_table(const GenerationReport& report, const TableOptions& options) {
  const std::size_t width = std::max(options.width, kMinGenerationWidth);
  const std::string_view ellipsis = options.ascii ? "..." : "\u2026";
  const Content content = content_of(report);
  std::string out = wrapped(title_of(report), width, ellipsis);
  if (!content.lines.empty()) {
    // Flows do not add up, and rows that setting aside left empty hold nothing.
    const bool no_share = content.method == Method::kFlow || !rows_sum_to_one(report);
    out += wrapped(
        fmt::format("What each generated token drew on in the prompt by {}{}.", content.span,
                    no_share ? "" : "; \"prompt\": the share that lies there, the rest lies on generated tokens"),
        width, ellipsis);
    std::size_t token_width = 5;
    const std::size_t most = std::min(kMaxGeneratedToken, width / 4);  // leaves room for what it drew on
    for (const Line& line : content.lines) {
      token_width = std::max(token_width, std::min(most, display_width(clean_line(line.token))));
    }
    const std::size_t number_width = fmt::format("{}", report.tokens.size() - 1).size();
    const std::string share_title = no_share ? "" : " prompt";
    const std::string head = fmt::format("{:>{}} {} {:>5}{}  drew most on", "", number_width,
                                         fit_to_cells("token", token_width, ellipsis), "prob.", share_title);
    out += shorten(head, width, ellipsis) + "\n";
    const GenerationMethod method = generation_method(report, content.method);
    for (std::size_t row = 0; row < content.lines.size(); ++row) {
      const Line& line = content.lines[row];
      std::string text =
          fmt::format("{:>{}} {} {:>4.0f}%", method.tokens[row], number_width,
                      fit_to_cells(clean_line(line.token), token_width, ellipsis), 100.0 * line.probability);
      if (!no_share) text += fmt::format(" {:>5.0f}%", 100.0 * line.prompt_share);
      text += "  ";
      std::size_t used = display_width(text);
      bool first = true;
      for (const RankedPromptToken& ranked : line.ranking.tokens) {
        const std::string piece = fmt::format(
            "{}{} {:.3f}", first ? "" : ", ",
            quoted_token(shorten(clean_line(prompt_text(report, ranked.token)), kMaxGeneratedToken, ellipsis)),
            ranked.value);
        if (used + display_width(piece) > width) break;
        text += piece;
        used += display_width(piece);
        first = false;
      }
      while (text.back() == ' ') text.pop_back();
      out += text + "\n";
    }
  }
  for (const std::string& line : closing_lines(report, content)) out += wrapped(line, width, ellipsis);
  return out;
}

std::string generation_markdown_table(const GenerationReport& report) {
  const auto cell = [](const std::string& text) {
    std::string escaped;
    for (const char c : clean_line(text)) {
      if (std::string_view("\\`*_{}[]<>()#+-!|").find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
    return escaped;
  };
  // The space that the text begins with stays outside: "** hot**" would not be bold.
  const auto bold = [](const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string::npos) return std::string();
    const std::size_t end = text.find_last_not_of(' ') + 1;
    return (first > 0 ? " **" : "**") + text.substr(first, end - first) + "**";
  };
  const Content content = content_of(report);
  // Flows do not add up, and rows that setting aside left empty hold nothing.
  const bool no_share = content.method == Method::kFlow || !rows_sum_to_one(report);
  std::string out = cell(title_of(report)) + "\n\n";
  out += "> " + cell(report.prompt) + bold(cell(report.text)) + "\n\n";
  if (!content.lines.empty()) {
    out += fmt::format("What each generated token drew on in the prompt, by {}.\n\n", content.span);
    // Flow values of different tokens share arcs: their sum is no share.
    out += fmt::format("| | token | probability |{} most on |\n| ---: | --- | ---: |{} --- |\n",
                       no_share ? "" : " on the prompt |", no_share ? "" : " ---: |");
    const GenerationMethod method = generation_method(report, content.method);
    for (std::size_t row = 0; row < content.lines.size(); ++row) {
      const Line& line = content.lines[row];
      std::string ranked;
      for (const RankedPromptToken& token : line.ranking.tokens) {
        ranked +=
            fmt::format("{}{} {:.3f}", ranked.empty() ? "" : ", ", cell(prompt_text(report, token.token)), token.value);
      }
      out += fmt::format("| {} | {} | {:.3f} |{} {} |\n", method.tokens[row], cell(line.token), line.probability,
                         no_share ? "" : fmt::format(" {:.3f} |", line.prompt_share), ranked);
    }
  }
  for (const std::string& line : closing_lines(report, content)) out += "\n" + cell(line) + "\n";
  return out;
}

}  // namespace attnflow
