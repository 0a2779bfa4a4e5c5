#include "attnflow/attribution/option.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <string_view>

#include "attnflow/attribution/option_names.h"
#include "attnflow/attribution/settings.h"

namespace attnflow {

std::string OptionInfo::dashed() const {
  std::string text = name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string OptionInfo::field_help() const {
  std::string text = help;
  if (const std::string_view of_files = "With --attention: "; text.starts_with(of_files)) {
    text.erase(0, of_files.size());
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  }
  if (const std::string_view repeated = ". May be repeated"; text.ends_with(repeated)) {
    text.erase(text.size() - repeated.size());
  }
  return with_field_names(text);
}

std::vector<std::size_t> parse_numbers(const OptionInfo& option, const std::string& text) {
  if (option.form == OptionForm::kLayers) return parse_layers(text);
  assert(option.form == OptionForm::kPositions);
  return text.empty() ? std::vector<std::size_t>{} : parse_positions(text, option.dashed());
}

void sort_once(std::vector<std::size_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace attnflow
