#include "attnflow/model/model_card.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "attnflow/unicode/unicode.h"

namespace attnflow {

namespace {

constexpr std::size_t kMaxCardBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxShownBytes = 300;

std::string_view trim(std::string_view text) {
  const std::string_view space = " \t\r";
  const std::size_t begin = text.find_first_not_of(space);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(trim(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Makes text safe to print in a terminal: whole characters, no control characters, limited length.
std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const auto c = next_code_point(text, at);
    if (!c || is_control(*c)) continue;
    if (out.size() + (at - start) > kMaxShownBytes) return out + "...";
    out += text.substr(start, at - start);
  }
  return out;
}

std::string_view value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key) || line.substr(key.size()).substr(0, 1) != ":") return {};
  std::string_view value = trim(line.substr(key.size() + 1));
  const bool quoted =
      value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.front() == value.back();
  return quoted ? value.substr(1, value.size() - 2) : value;
}

bool is_prose(std::string_view line) {
  if (line.empty() || std::string_view("#|<>!-=*+`[").find(line.front()) != std::string_view::npos) {
    // Emphasis and links may begin a sentence; lists, rules, images and badges do not.
    return line.starts_with("**") || (line.starts_with("[") && !line.starts_with("[!"));
  }
  return true;
}

}  // namespace

ModelCard parse_model_card(std::string text) {
  ModelCard card;
  card.text = std::move(text);
  const std::vector<std::string_view> lines = split_lines(card.text);
  std::size_t at = 0;
  if (!lines.empty() && lines[0] == "---") {
    std::string_view licence;
    std::string_view licence_name;
    for (at = 1; at < lines.size() && lines[at] != "---"; ++at) {
      if (licence.empty()) licence = value_of(lines[at], "license");
      if (licence_name.empty()) licence_name = value_of(lines[at], "license_name");
    }
    card.licence = printable(licence == "other" && !licence_name.empty() ? licence_name : licence);
    ++at;
  }
  bool in_code = false;
  std::string paragraph;
  for (; at < lines.size(); ++at) {
    const std::string_view line = lines[at];
    if (line.starts_with("```")) in_code = !in_code;
    const bool prose = !in_code && is_prose(line);
    if (!prose && !paragraph.empty()) break;
    if (prose) paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
  }
  card.summary = printable(paragraph);
  return card;
}

std::optional<ModelCard> read_model_card(const Folder& folder) {
  constexpr const char* kCard = "README.md";
  if (!folder.has(kCard)) return std::nullopt;
  return parse_model_card(folder.read(kCard, kMaxCardBytes));
}

}  // namespace attnflow
