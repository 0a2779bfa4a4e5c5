#include "attnflow/analysis/explain/prediction_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "attnflow/analysis/evaluate/evaluate_samples.h"
#include "attnflow/base/error.h"

namespace attnflow {
namespace {

// The class that `asked` names: its label, exactly or in other letters' case, its number, or id:N where labels are
// numbers.
std::size_t class_named(const char* option, const std::string& asked, const ModelInfo& info) {
  if (const auto label = find_label(asked, info)) return *label;
  constexpr std::size_t kMaxNamed = 10;  // a model of pictures may have a thousand
  std::vector<std::string> names(
      info.labels.begin(), info.labels.begin() + static_cast<std::ptrdiff_t>(std::min(kMaxNamed, info.labels.size())));
  if (info.labels.size() > kMaxNamed) names.emplace_back("...");
  throw Error(ErrorKind::kUsage,
              fmt::format("--{}: expected auto, a class of {} ({}) or a number from 0 to {}, found '{}'", option,
                          info.name, fmt::join(names, ", "), info.labels.size() - 1, asked));
}

// A word as it would follow a space, or id:N.
std::size_t token_named(const char* option, const std::string& asked, const TextCodec& codec, std::size_t vocabulary,
                        std::vector<Note>& notes) {
  constexpr std::string_view kId = "id:";
  if (asked.starts_with(kId)) {
    std::size_t id = 0;
    const char* const last = asked.data() + asked.size();
    const auto [end, error] = std::from_chars(asked.data() + kId.size(), last, id);
    if (error != std::errc{} || end != last || id >= vocabulary) {
      throw Error(ErrorKind::kUsage, fmt::format("--{}: expected the id of a token from id:0 to id:{}, found '{}'",
                                                 option, vocabulary - 1, asked));
    }
    return id;
  }
  // It stands after a space anyway.
  const std::vector<std::int64_t> pieces =
      codec.word_to_ids(asked.substr(std::min(asked.size(), asked.find_first_not_of(' '))));
  if (pieces.empty() || pieces.front() < 0 || static_cast<std::size_t>(pieces.front()) >= vocabulary) {
    throw Error(ErrorKind::kUsage, fmt::format("--{}: expected auto, a word or id:N, found '{}', which is {}", option,
                                               asked, pieces.empty() ? "none" : "no token of the model's"));
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

// A token with which an answer may begin.
std::size_t token_at(const char* option, const std::string& asked, std::size_t tokens) {
  std::size_t position = 0;
  const char* const last = asked.data() + asked.size();
  const auto [end, error] = std::from_chars(asked.data(), last, position);
  if (error == std::errc{} && end == last && position < tokens) return position;
  throw Error(ErrorKind::kUsage, fmt::format("--{}: expected auto or the position of a token, from 0 to {}, found '{}'",
                                             option, tokens - 1, asked));
}

// `usual`: of --against auto; `what` is named; named(option, asked) is its number.
template <typename Named>
AskedTarget asked_among(const Settings& settings, AskedTarget::Against usual, const char* what, const Named& named) {
  using Against = AskedTarget::Against;
  AskedTarget target;
  if (settings.target != "auto") target.label = named("target", settings.target);
  const std::string& against = settings.against;
  if (against == "auto") {
    if (!settings.weights_by_gradient()) target.against = usual;
  } else if (against == "rest") {
    target.against = Against::kRest;
  } else if (against != "none") {
    target.against = Against::kLabel;
    target.other = named("against", against);
  }
  if (target.against == Against::kLabel && target.label == target.other) {
    throw Error(ErrorKind::kUsage, fmt::format("--against: expected a {} other than --target {}, found {}", what,
                                               settings.target, against));
  }
  return target;
}

void check_head(const ModelInfo& info, const Settings& settings) {
  if (info.head != ModelHead::kNone) return;
  throw Error(ErrorKind::kUnsupportedModel,
              fmt::format("--{}: expected a classifier or a language model, whose score for a class or a token "
                          "is explained, found {}, which has no head that scores anything; choose such a model, or "
                          "--mixing attention with raw, rollout or flow",
                          explaining_option(settings), info.name));
}

}  // namespace

std::string explaining_option(const Settings& settings) {
  if (settings.has_target()) return "mixing " + to_text(settings.mixing);
  const auto found = std::find_if(settings.methods.begin(), settings.methods.end(),
                                  [](Method method) { return method_info(method).has_target(); });
  return found == settings.methods.end() ? "method" : "method " + to_text(*found);
}

AskedTarget asked_target(const Settings& settings, const ModelInfo& info, const TextCodec* codec,
                         std::vector<Note>& notes) {
  check_head(info, settings);
  const bool of_class = predicts_classes(info.head);
  const auto named = [&](const char* option, const std::string& asked) {
    return of_class ? class_named(option, asked, info) : token_named(option, asked, *codec, info.vocabulary, notes);
  };
  return asked_among(settings, usual_against(of_class), of_class ? "class" : "token", named);
}

AskedTarget asked_begin(const Settings& settings, std::size_t tokens) {
  return asked_among(settings, usual_against(/*of_class=*/true), "token",
                     [&](const char* option, const std::string& asked) { return token_at(option, asked, tokens); });
}

ReportTarget chosen_target(const AskedTarget& asked, const ModelInfo& info, const TextCodec* codec,
                           std::span<const float> logits, std::optional<std::size_t> position) {
  const bool of_class = predicts_classes(info.head);
  const auto name = [&](std::int64_t id) {
    if (!of_class) return codec->readable(id);
    const auto index = static_cast<std::size_t>(id);
    return index < info.labels.size() ? info.labels[index] : std::to_string(index);
  };
  const char* const kind = of_class ? "class" : info.head == ModelHead::kCausalLm ? "next" : "masked";
  return target_among(asked, kind, logits, name, position);
}

ScoreTarget score_target(const ReportTarget& target) {
  using Kind = ScoreTarget::Kind;
  ScoreTarget score;
  score.kind = !target.against         ? Kind::kLogit
               : target.against->index ? Kind::kLogitDifference
                                       : Kind::kLogitAgainstRest;
  score.label = target.index;
  if (target.against && target.against->index) score.other = *target.against->index;
  score.position = target.position;
  return score;
}

}  // namespace attnflow
