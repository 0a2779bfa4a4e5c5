#include "attnflow/analysis/text/prediction_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "attnflow/base/format_error.h"
#include "attnflow/base/parse_number.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/files/extension.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/words/lists.h"

namespace attnflow {
namespace {

using Against = AskedTarget::Against;

void check_head(const ModelInfo& info, const Settings& settings) {
  if (info.head != ModelHead::kNone) return;
  if (!info.unknown_embedding.empty()) {
    throw internal::model_error(
        "--{}: expected a sentence encoder whose embedding is a mean of tokens or the first token (pooling mean, "
        "mean_sqrt_len or cls), found {} in {}; choose --mixing attention or alti with raw, rollout or flow",
        explaining_option(settings), info.unknown_embedding, info.name);
  }
  throw internal::model_error(
      "--{}: expected a classifier or a language model, whose score for a class or a token is explained, found {}, "
      "which has no head that scores anything; choose such a model, or --mixing attention with raw, rollout or flow",
      explaining_option(settings), info.name);
}

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

std::size_t class_named(const char* option, const std::string& asked, const ModelInfo& info) {
  const std::vector<std::string>& labels = info.labels;
  if (const auto label = label_named(asked, labels)) return *label;
  const std::size_t spaces = std::min(asked.size(), asked.find_first_not_of(' '));
  if (const auto label = label_named(asked.substr(spaces), labels)) return *label;
  constexpr std::size_t kMaxNamed = 10;  // image models may have a thousand classes
  const std::size_t count = std::min(kMaxNamed, labels.size());
  std::vector<std::string> shown(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(count));
  if (labels.size() > kMaxNamed) shown.emplace_back("...");
  throw internal::usage_error("--{}: expected auto, a class of {} ({}) or a number from 0 to {}, found '{}'{}", option,
                              info.name, fmt::join(shown, ", "), labels.size() - 1, asked,
                              internal::did_you_mean(asked, keywords_and(labels, option)));
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

std::size_t token_named(const char* option, const std::string& asked, const ModelInfo& info, const TextCodec& codec,
                        std::vector<Note>& notes) {
  refuse_keyword(option, asked);
  if (asked.starts_with(kNumber)) {
    const auto id = number_below(info.vocabulary, std::string_view(asked).substr(kNumber.size()));
    if (id) return *id;
    throw internal::usage_error("--{}: expected the id of a token from id:0 to id:{}, found '{}'", option,
                                info.vocabulary - 1, asked);
  }
  const std::vector<std::int64_t> pieces =
      codec.word_to_ids(asked.substr(std::min(asked.size(), asked.find_first_not_of(' '))));
  if (pieces.empty() || pieces.front() < 0 || static_cast<std::size_t>(pieces.front()) >= info.vocabulary) {
    throw internal::usage_error("--{}: expected auto, a word or id:N, found '{}', which is {}", option, asked,
                                pieces.empty() ? "no token" : "not a token of the model");
  }
  if (pieces.size() > 1) {
    notes.push_back({NoteCode::kTargetFirstToken,
                     {{"option", std::string(option)},
                      {"word", asked},
                      {"tokens", pieces.size()},
                      {"token", codec.readable(pieces.front())}}});
  }
  return static_cast<std::size_t>(pieces.front());
}

std::size_t token_at(const char* option, const std::string& asked, std::size_t tokens) {
  const std::size_t spaces = std::min(asked.size(), asked.find_first_not_of(' '));
  if (const auto position = number_below(tokens, std::string_view(asked).substr(spaces))) return *position;
  throw internal::usage_error("--{}: expected auto or the position of a token, from 0 to {}, found '{}'", option,
                              tokens - 1, asked);
}

// The names in a list, "his,her"; a class alone may have commas.
std::vector<std::string> listed(const std::string& against, const std::vector<std::string>& labels) {
  const std::string stripped = against.substr(std::min(against.size(), against.find_first_not_of(' ')));
  const bool is_name = label_named(stripped, labels).has_value();
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

// named(option, asked): the number of a class (of these labels) or of a token (without labels).
template <typename Named>
AskedTarget asked_among(const Settings& settings, AskedTarget::Against usual, const std::vector<std::string>& labels,
                        const Named& named) {
  const char* const what = labels.empty() ? "token" : "class";
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
    const std::vector<std::string> parts = listed(against, labels);
    for (const std::string& name : parts) {
      const bool is_keyword = name == "auto" || name == "none" || name == "rest" || next_of(name);
      if (parts.size() > 1 && is_keyword && labels.empty()) {
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

void check_logits(std::span<const float> logits, std::optional<std::size_t> label) {
  const std::size_t named = label.value_or(0);
  if (named >= logits.size()) {
    throw internal::usage_error("target: expected one of {} logits, found {}", logits.size(), named);
  }
  // Tokens that a model never writes have -infinity.
  const auto is_fine = [](float x) { return std::isfinite(x) || x == -std::numeric_limits<float>::infinity(); };
  if ((label && !std::isfinite(logits[named])) || !std::all_of(logits.begin(), logits.end(), is_fine)) {
    throw internal::file_error(
        "expected finite logits, found a non-finite one; the model's weights are damaged or overflow in float32");
  }
}

// Those with the largest logits but those left out.
std::vector<std::size_t> largest(std::span<const float> logits, std::size_t count,
                                 std::span<const std::size_t> left_out) {
  return largest_logits(
      logits, count, [&](std::size_t i) { return std::find(left_out.begin(), left_out.end(), i) == left_out.end(); });
}

std::size_t target_of(const AskedTarget& asked, std::span<const float> logits) {
  if (asked.label) return *asked.label;
  // The best one that it is not compared with.
  std::optional<std::size_t> best;
  for (const std::size_t candidate : asked.candidates) {
    check_logits(logits, candidate);
    const bool is_other = std::find(asked.others.begin(), asked.others.end(), candidate) != asked.others.end();
    if (!is_other && (!best || logits[candidate] > logits[*best])) best = candidate;
  }
  if (asked.candidates.empty()) {
    const std::vector<std::size_t> found = largest(logits, 1, asked.others);
    if (!found.empty()) best = found.front();
  }
  if (!best) {
    throw internal::usage_error(
        "--against: expected to leave something to explain, found everything that could be the target; name fewer");
  }
  return *best;
}

}  // namespace

std::string explaining_option(const Settings& settings) {
  if (settings.has_target()) return "mixing " + to_text(settings.mixing);
  const auto found = std::find_if(settings.methods.begin(), settings.methods.end(),
                                  [](Method method) { return method_info(method).has_target(); });
  return found == settings.methods.end() ? "method" : "method " + to_text(*found);
}

std::optional<std::size_t> next_of(std::string_view against) {
  constexpr std::string_view kNext = "next";
  if (!against.starts_with(kNext)) return std::nullopt;
  const std::optional<std::size_t> count = internal::parse_number(against.substr(kNext.size()));
  return count && *count > 0 ? count : std::nullopt;
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

AskedTarget asked_target(const Settings& settings, const ModelInfo& info, const TextCodec* codec,
                         std::vector<Note>& notes) {
  check_head(info, settings);
  const bool of_class = predicts_classes(info.head);
  const auto named = [&](const char* option, const std::string& asked) {
    return of_class ? class_named(option, asked, info) : token_named(option, asked, info, *codec, notes);
  };
  return asked_among(settings, of_class ? Against::kRest : Against::kNext,
                     of_class ? info.labels : std::vector<std::string>(), named);
}

AskedTarget asked_begin(const Settings& settings, std::size_t tokens) {
  return asked_among(settings, Against::kRest, {},
                     [&](const char* option, const std::string& asked) { return token_at(option, asked, tokens); });
}

void ask_among(AskedTarget& asked, const Settings& settings, std::span<const std::int64_t> candidates) {
  if (candidates.size() < 2) return;
  for (const std::int64_t candidate : candidates) {
    const auto id = static_cast<std::size_t>(candidate);
    if (std::find(asked.candidates.begin(), asked.candidates.end(), id) == asked.candidates.end()) {
      asked.candidates.push_back(id);
    }
  }
  if (asked.candidates.size() < 2) {  // one word, perhaps in two spellings
    asked.candidates.clear();
    return;
  }
  if (settings.against == "auto" && !settings.weights_by_gradient()) asked.against = Against::kLabels;
}

ReportTarget target_among(const AskedTarget& asked, const std::string& kind, std::span<const float> logits,
                          const IdToText& name, std::optional<std::size_t> position) {
  check_logits(logits, asked.label);
  ReportTarget target;
  target.kind = kind;
  target.index = target_of(asked, logits);
  target.label = name(static_cast<std::int64_t>(target.index));
  target.logit = static_cast<double>(logits[target.index]);
  target.position = position;
  if (asked.against == Against::kNothing || logits.size() < 2) return target;
  ReportAgainst& other = target.against.emplace();
  if (asked.against == Against::kRest && logits.size() > 2) {
    double sum = 0.0;
    for (const float logit : logits) sum += static_cast<double>(logit);
    other.logit = (sum - target.logit) / static_cast<double>(logits.size() - 1);
    return target;
  }
  std::vector<std::size_t> others = asked.others.empty() ? asked.candidates : asked.others;
  if (asked.against != Against::kLabels)
    others = largest(logits, asked.against == Against::kRest ? 1 : asked.next, std::array{target.index});
  std::erase(others, target.index);
  for (const std::size_t index : others) {
    check_logits(logits, index);
    const auto logit = static_cast<double>(logits[index]);
    other.others.push_back({name(static_cast<std::int64_t>(index)), index, logit});
    other.logit += logit / static_cast<double>(others.size());
  }
  if (others.size() == 1) {
    other.index = others.front();
    other.label = other.others.front().label;
    other.others.clear();
  }
  return target;
}

std::string against_words(const ReportAgainst& against) {
  if (against.index) return against.label;
  std::vector<std::string> labels;
  for (const ReportOther& other : against.others) labels.push_back(other.label);
  return internal::first_few(std::move(labels));
}

ReportTarget chosen_target(const AskedTarget& asked, const ModelInfo& info, const TextCodec* codec,
                           std::span<const float> logits, std::optional<std::size_t> position) {
  const bool of_class = predicts_classes(info.head);
  const auto name = [&](std::int64_t id) {
    if (!of_class) return codec->readable(id);
    const auto label = static_cast<std::size_t>(id);
    return label < info.labels.size() ? info.labels[label] : std::to_string(label);
  };
  const char* const kind = of_class ? "class" : info.head == ModelHead::kCausalLm ? "next" : "masked";
  return target_among(asked, kind, logits, name, position);
}

ScoreTarget score_target(const ReportTarget& target) {
  using Kind = ScoreTarget::Kind;
  ScoreTarget score;
  score.kind = !target.against             ? Kind::kLogit
               : target.against->is_rest() ? Kind::kLogitAgainstRest
                                           : Kind::kLogitDifference;
  score.label = target.index;
  if (target.against) score.others = target.against->indices();
  score.position = target.position;
  return score;
}

}  // namespace attnflow
