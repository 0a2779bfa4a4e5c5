#include "attnflow/explain/asked_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "attnflow/base/format_error.h"
#include "attnflow/base/parse_number.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/files/extension.h"

namespace attnflow {
namespace {

constexpr std::string_view kNumber = "id:";

std::optional<std::size_t> number_below(std::size_t limit, std::string_view digits) {
  const std::optional<std::size_t> number = internal::parse_number(digits);
  return number && *number < limit ? number : std::nullopt;
}

std::vector<std::string> keywords_and(const std::vector<std::string>& labels, std::string_view option) {
  std::vector<std::string> names = {"auto"};
  if (option == "against") names.insert(names.end(), {"rest", "none", "next10"});
  names.insert(names.end(), labels.begin(), labels.end());
  return names;
}

std::size_t class_named(const char* option, const std::string& asked, const TargetNames& names) {
  if (const auto label = label_named(asked, names.labels)) return *label;
  const std::size_t spaces = std::min(asked.size(), asked.find_first_not_of(' '));
  if (const auto label = label_named(asked.substr(spaces), names.labels)) return *label;
  constexpr std::size_t kMaxNamed = 10;  // image models may have a thousand classes
  std::vector<std::string> shown(names.labels.begin(), names.labels.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                                  kMaxNamed, names.labels.size())));
  if (names.labels.size() > kMaxNamed) shown.emplace_back("...");
  throw internal::usage_error("--{}: expected auto, a class of {} ({}) or a number from 0 to {}, found '{}'{}", option,
                              names.model, fmt::join(shown, ", "), names.labels.size() - 1, asked,
                              internal::did_you_mean(asked, keywords_and(names.labels, option)));
}

// Refuses keywords of other options or in other case: --against all would otherwise be taken for the word.
void refuse_keyword(const std::string& option, const std::string& asked) {
  const std::string word = internal::lower(asked);
  const bool of_all = word == "all" || word == "others";
  if (!of_all && word != "auto" && word != "none" && word != "rest") return;
  std::string meant;
  if (option == "against") meant = fmt::format("; did you mean {}?", of_all ? "rest" : word);
  if (option == "target" && word == "auto") meant = "; did you mean auto?";
  throw internal::usage_error(
      "--{}: expected auto,{} a word or id:N, found '{}'{} For the word itself, write ' {}' with a space before it",
      option, option == "against" ? " next10, rest, none," : "", asked, meant.empty() ? "." : meant, asked);
}

std::size_t token_named(const char* option, const std::string& asked, const TargetNames& names,
                        std::vector<Note>& notes) {
  refuse_keyword(option, asked);
  if (asked.starts_with(kNumber)) {
    const auto id = number_below(names.vocabulary, std::string_view(asked).substr(kNumber.size()));
    if (id) return *id;
    throw internal::usage_error("--{}: expected the id of a token from id:0 to id:{}, found '{}'", option,
                                names.vocabulary - 1, asked);
  }
  const std::vector<std::int64_t> pieces =
      names.word_to_ids(asked.substr(std::min(asked.size(), asked.find_first_not_of(' '))));
  if (pieces.empty() || pieces.front() < 0 || static_cast<std::size_t>(pieces.front()) >= names.vocabulary) {
    throw internal::usage_error("--{}: expected auto, a word or id:N, found '{}', which is {}", option, asked,
                                pieces.empty() ? "no token" : "not a token of the model");
  }
  if (pieces.size() > 1) {
    notes.push_back({NoteCode::kTargetFirstToken,
                     {{"option", std::string(option)},
                      {"word", asked},
                      {"tokens", pieces.size()},
                      {"token", names.readable(pieces.front())}}});
  }
  return static_cast<std::size_t>(pieces.front());
}

std::size_t token_at(const char* option, const std::string& asked, std::size_t tokens) {
  const std::size_t spaces = std::min(asked.size(), asked.find_first_not_of(' '));
  if (const auto position = number_below(tokens, std::string_view(asked).substr(spaces))) return *position;
  throw internal::usage_error("--{}: expected auto or the position of a token, from 0 to {}, found '{}'", option,
                              tokens - 1, asked);
}

// The names in a list, "his,her"; a name alone may have commas.
std::vector<std::string> listed(const std::string& against, const TargetNames* names) {
  const std::string stripped = against.substr(std::min(against.size(), against.find_first_not_of(' ')));
  const bool is_name = names != nullptr && names->of_class && label_named(stripped, names->labels).has_value();
  std::vector<std::string> parts;
  for (std::size_t begin = 0; !is_name;) {
    const std::size_t end = against.find(',', begin);
    parts.push_back(against.substr(begin, end == std::string::npos ? end : end - begin));
    if (parts.back().find_first_not_of(' ') == std::string::npos) break;  // a comma is a token itself
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
  return {against};
}

// `usual`: the value of --against auto; `what`: class or token, for messages; named(option, asked): its number.
template <typename Named>
AskedTarget asked_among(const Settings& settings, AskedTarget::Against usual, const char* what, const Named& named,
                        const TargetNames* names) {
  using Against = AskedTarget::Against;
  AskedTarget target;
  if (settings.target != "auto") target.label = named("target", settings.target);
  const std::string& against = settings.against;
  if (against == "auto") {
    if (!settings.weights_by_gradient()) target.against = usual;
  } else if (against == "rest") {
    target.against = Against::kRest;
  } else if (const auto next = next_of(against)) {
    target.against = Against::kNext;
    target.next = *next;
  } else if (against == "next0") {
    throw internal::usage_error("--against: expected at least one after next, such as next10, found next0");
  } else if (against != "none") {
    target.against = Against::kLabels;
    const std::vector<std::string> parts = listed(against, names);
    for (const std::string& name : parts) {
      const bool is_keyword = name == "auto" || name == "none" || name == "rest" || next_of(name);
      if (parts.size() > 1 && is_keyword && (names == nullptr || !names->of_class)) {
        throw internal::usage_error(
            "--against: expected a {} in a list, found '{}', which stands alone; for the word itself, write ' {}' with "
            "a "
            "space before it",
            what, name, name);
      }
      const std::size_t other = named("against", name);
      if (target.label == other) {
        throw internal::usage_error("--against: expected a {} other than --target {}, found '{}'", what,
                                    settings.target, name);
      }
      if (std::find(target.others.begin(), target.others.end(), other) != target.others.end()) {
        throw internal::usage_error("--against: expected each {} once, found '{}' twice", what, name);
      }
      target.others.push_back(other);
    }
  }
  return target;
}

}  // namespace

std::optional<std::size_t> next_of(std::string_view against) {
  constexpr std::string_view kNext = "next";
  if (!against.starts_with(kNext)) return std::nullopt;
  const std::optional<std::size_t> count = internal::parse_number(against.substr(kNext.size()));
  return count && *count > 0 ? count : std::nullopt;
}

std::string TargetNames::name(std::int64_t id) const {
  if (!of_class) return readable(id);
  const auto index = static_cast<std::size_t>(id);
  return index < labels.size() ? labels[index] : std::to_string(index);
}

std::optional<std::size_t> label_named(const std::string& label, const std::vector<std::string>& labels) {
  if (label.starts_with(kNumber)) return number_below(labels.size(), std::string_view(label).substr(kNumber.size()));
  const auto place = [&](auto is_same) -> std::optional<std::size_t> {
    const auto found = std::find_if(labels.begin(), labels.end(), is_same);
    if (found == labels.end()) return std::nullopt;
    return static_cast<std::size_t>(found - labels.begin());
  };
  if (const auto exact = place([&](const std::string& name) { return name == label; })) return exact;
  if (const auto any = place([&](const std::string& name) { return internal::lower(name) == internal::lower(label); }))
    return any;
  return number_below(labels.size(), label);
}

AskedTarget asked_target(const Settings& settings, const TargetNames& names, std::vector<Note>& notes) {
  const auto named = [&](const char* option, const std::string& asked) {
    return names.of_class ? class_named(option, asked, names) : token_named(option, asked, names, notes);
  };
  return asked_among(settings, usual_against(names.of_class), names.of_class ? "class" : "token", named, &names);
}

AskedTarget asked_begin(const Settings& settings, std::size_t tokens) {
  return asked_among(
      settings, usual_against(/*of_class=*/true), "token",
      [&](const char* option, const std::string& asked) { return token_at(option, asked, tokens); }, nullptr);
}

}  // namespace attnflow
