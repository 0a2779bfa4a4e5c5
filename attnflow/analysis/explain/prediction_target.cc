#include "attnflow/analysis/explain/prediction_target.h"

#include <algorithm>

#include "attnflow/base/format_error.h"

namespace attnflow {
namespace {

// `codec` may be null for a model that predicts classes.
TargetNames names_of(const ModelInfo& info, const TextCodec* codec) {
  TargetNames names{.model = info.name, .of_class = predicts_classes(info.head)};
  if (names.of_class) {
    names.labels = info.labels;
    return names;
  }
  names.vocabulary = info.vocabulary;
  names.word_to_ids = [codec](const std::string& word) { return codec->word_to_ids(word); };
  names.readable = [codec](std::int64_t id) { return codec->readable(id); };
  return names;
}

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
  return asked_target(settings, names_of(info, codec), notes);
}

ReportTarget chosen_target(const AskedTarget& asked, const ModelInfo& info, const TextCodec* codec,
                           std::span<const float> logits, std::optional<std::size_t> position) {
  const TargetNames names = names_of(info, codec);
  const char* const kind = names.of_class ? "class" : info.head == ModelHead::kCausalLm ? "next" : "masked";
  return target_among(
      asked, kind, logits, [&](std::int64_t id) { return names.name(id); }, position);
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
