#include "attnflow/cli/help_formatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "attnflow/cli/common_options.h"
#include "attnflow/words/wrap.h"

namespace attnflow {
namespace {

// Shorter lists stay on one line.
constexpr std::size_t kMinItems = 4;

std::size_t help_width() { return std::clamp<std::size_t>(terminal_width().value_or(100), 60, 120); }

// Lines that fit may contain columns and stay unchanged.
std::string wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.size() <= width) {
      lines.push_back(line);
    } else {
      for (std::string& part : internal::wrapped_lines(line, width)) lines.push_back(std::move(part));
    }
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// Splits "What it is: a (...); b (...)" into the text up to the colon and the items; a single part without such a list.
// Semicolons in parentheses belong to their item.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> items;
  std::size_t depth = 0;
  std::size_t from = text.find(": ");
  if (from == std::string::npos) return {text};
  from += 2;
  const std::string head = text.substr(0, from - 1);
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && depth > 0) --depth;
    if (depth == 0 && text.compare(i, 2, "; ") == 0) {
      items.push_back(text.substr(from, i - from));
      from = i + 2;
    }
  }
  items.push_back(text.substr(from));
  if (items.size() < kMinItems) return {text};
  items.insert(items.begin(), head);
  return items;
}

}  // namespace

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::vector<std::string> lines;
  for (const std::string& part : parts_of(option->get_description())) {
    lines.push_back(wrapped(part, help_width() - get_column_width()));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string HelpFormatter::make_subcommand(const CLI::App* app) const {
  std::ostringstream out;
  const std::size_t column = get_column_width();
  CLI::detail::format_help(out, app->get_display_name(), wrapped(app->get_description(), help_width() - column),
                           column);
  return out.str();
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  return app->get_footer().empty() ? "" : wrapped(app->get_footer(), help_width()) + "\n";
}

}  // namespace attnflow
