#include "attnflow/analysis/evaluate/evaluate_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "attnflow/analysis/text/blank_token.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/base/format_error.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/metrics/importance.h"
#include "attnflow/model/prediction.h"

namespace attnflow {
namespace {

constexpr std::array<std::pair<std::string_view, ImportanceMethod>, 4> kMethods = {{
    {"blank-out", ImportanceMethod::kBlankOut},
    {"gradient", ImportanceMethod::kGradient},
    {"gradient-x-input", ImportanceMethod::kGradientTimesInput},
    {"gradient-sum", ImportanceMethod::kGradientSum},
}};

// Samples run in chunks: the most ids of blanked sequences (8 bytes each), and tokens with embeddings and gradients (8
// bytes for each dimension). Enough for batches of one length, in tens of megabytes.
constexpr std::size_t kMaxBlankedIds = std::size_t{1} << 22;
constexpr std::size_t kMaxGradientTokens = std::size_t{1} << 14;

// Ranges of samples whose costs add up to at most `most`, except single samples that cost more.
template <typename Cost>
std::vector<std::pair<std::size_t, std::size_t>> chunks(std::size_t count, std::size_t most, const Cost& cost) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  std::size_t sum = 0;
  for (std::size_t s = 0; s < count; ++s) {
    const std::size_t one = cost(s);
    if (ranges.empty() || sum + one > most) {
      ranges.emplace_back(s, s);
      sum = 0;
    }
    sum += one;
    ranges.back().second = s + 1;
  }
  return ranges;
}

ProgressFunction shifted(const ProgressFunction& progress, std::size_t before, std::size_t total) {
  if (!progress) return {};
  return [=](std::size_t done, std::size_t) { progress(before + done, total); };
}

ProgressFunction start_phase(const ScoringOptions& options, std::string_view phase) {
  return options.progress ? options.progress(phase) : ProgressFunction{};
}

void blank_out(TextModel& model, const TextCodec& tokenizer, const std::vector<EncodedSample>& samples,
               const std::vector<ScoreQuestion>& questions, const std::vector<std::size_t>& places,
               const ScoringOptions& options, ScoreResult& result) {
  const BlankToken blank = find_blank_token(tokenizer, model.info(), options.blank);
  result.blank = blank.piece;
  std::size_t total = 0;
  for (const EncodedSample& sample : samples) total += sample.input.ids.size();
  const ProgressFunction progress = start_phase(options, "blank-out");
  std::size_t before = 0;
  const auto cost = [&](std::size_t s) { return samples[s].input.ids.size() * samples[s].input.ids.size(); };
  for (const auto& [begin, end] : chunks(samples.size(), kMaxBlankedIds, cost)) {
    std::vector<TextInput> blanked;
    std::vector<std::size_t> owners;  // the sample of each
    for (std::size_t s = begin; s < end; ++s) {
      owners.resize(owners.size() + samples[s].input.ids.size(), s);
      const TextInput& input = samples[s].input;
      for (std::size_t j = 0; j < input.ids.size(); ++j) {
        blanked.push_back(input);
        std::int64_t& id = blanked.back().ids[j];
        if (id == blank.id) ++result.already_blank;
        id = blank.id;
      }
    }
    const BatchOptions batch{.progress = shifted(progress, before, total), .stop_token = options.stop_token};
    Tensor<double> values({places.size(), blanked.size()});
    model.logits_of_each(blanked, options.position, batch, [&](std::size_t i, std::span<const float> logits) {
      const EncodedSample& sample = samples[owners[i]];
      for (std::size_t p = 0; p < places.size(); ++p) {
        values(p, i) = target_value(resolve_target(questions[places[p]].target, sample), logits);
      }
    });
    before += blanked.size();
    std::size_t at = 0;
    for (std::size_t s = begin; s < end; ++s) {
      const std::size_t n = samples[s].input.ids.size();
      for (std::size_t p = 0; p < places.size(); ++p) {
        const ScoreQuestion& question = questions[places[p]];
        const double base = target_value(resolve_target(question.target, samples[s]), samples[s].logits);
        const std::span<double> of_sample = values[p].span().subspan(at, n);
        for (std::size_t j = 0; j < n; ++j) {
          // Nothing was replaced there: exactly 0, not the rounding of another batch.
          if (samples[s].input.ids[j] == blank.id) of_sample[j] = base;
        }
        result.scores[places[p]].values[s] = blank_out_importance(base, of_sample);
      }
      at += n;
    }
  }
}

bool same_target(const TargetRule& a, const TargetRule& b) {
  return a.kind == b.kind && a.which == b.which && (a.which != TargetClass::kNamed || a.label == b.label);
}

void gradients(TextModel& model, const std::vector<EncodedSample>& samples, const std::vector<ScoreQuestion>& questions,
               const std::vector<std::size_t>& places, const ScoringOptions& options, ScoreResult& result) {
  const ScoreQuestion& first = questions[places.front()];
  const ProgressFunction progress = start_phase(options, fmt::format("gradient of {}", first.target_name));
  std::size_t before = 0;
  const auto cost = [&](std::size_t s) { return samples[s].input.ids.size(); };
  for (const auto& [begin, end] : chunks(samples.size(), kMaxGradientTokens, cost)) {
    std::vector<TextInput> inputs;
    std::vector<ScoreTarget> targets;
    for (std::size_t s = begin; s < end; ++s) {
      inputs.push_back(samples[s].input);
      targets.push_back(resolve_target(first.target, samples[s]));
    }
    const BatchOptions batch{.progress = shifted(progress, before, samples.size()), .stop_token = options.stop_token};
    const std::vector<InputGradient> found = gradients_of(model).input_gradients(inputs, targets, batch);
    before += inputs.size();
    for (std::size_t s = begin; s < end; ++s) {
      const InputGradient& one = found[s - begin];
      for (const std::size_t q : places) {
        std::vector<double>& values = result.scores[q].values[s];
        switch (questions[q].method) {
          case ImportanceMethod::kGradient:
            values = gradient_norm(one.gradient.view());
            break;
          case ImportanceMethod::kGradientTimesInput:
            values = gradient_times_input(one.gradient.view(), one.embedding.view(), Sign::kAbsolute);
            break;
          case ImportanceMethod::kGradientSum: {
            GradientSum sum = gradient_sum(one.gradient.view());
            if (sum.is_rounding_noise) ++result.scores[q].noise;
            values = std::move(sum.scores);
            break;
          }
          case ImportanceMethod::kBlankOut:
            break;
        }
      }
    }
  }
}

}  // namespace

ImportanceMethod parse_importance_method(const std::string& name) {
  for (const auto& [known, method] : kMethods) {
    if (known == name) return method;
  }
  std::vector<std::string> names;
  for (const auto& [known, method] : kMethods) names.emplace_back(known);
  throw internal::usage_error("--scores: expected a comma-separated list of {}, found '{}'{}", fmt::join(names, ", "),
                              name, internal::did_you_mean(name, names));
}

std::string full_target_name(const std::string& name) {
  return name.find(':') == std::string::npos ? name + ":correct" : name;
}

TargetRule parse_target(const std::string& name, const ModelInfo& info) {
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  TargetRule rule;
  if (kind == "logit") {
    rule.kind = ScoreTarget::Kind::kLogit;
  } else if (kind == "probability") {
    rule.kind = ScoreTarget::Kind::kProbability;
  } else if (kind == "difference") {
    rule.kind = ScoreTarget::Kind::kProbabilityDifference;
  } else {
    throw internal::usage_error(
        "--targets: expected logit, probability or difference, with a class after a colon if it is not the correct "
        "one, found '{}'{}",
        name, internal::did_you_mean(kind, {"logit", "probability", "difference"}));
  }
  if (colon == std::string::npos) return rule;
  const std::string which = name.substr(colon + 1);
  if (which == "correct") return rule;
  if (which == "predicted") {
    rule.which = TargetClass::kPredicted;
    return rule;
  }
  const std::optional<std::size_t> label = label_named(which, info.labels);
  if (!label) {
    std::vector<std::string> classes = info.labels;
    classes.insert(classes.begin(), {"correct", "predicted"});
    throw internal::usage_error(
        "--targets: expected correct, predicted or a class of {} ({}) after the colon, found '{}'{}", info.name,
        fmt::join(info.labels, ", "), name, internal::did_you_mean(which, classes));
  }
  rule.which = TargetClass::kNamed;
  rule.label = *label;
  return rule;
}

ScoreTarget resolve_target(const TargetRule& rule, const EncodedSample& sample) {
  ScoreTarget target{.kind = rule.kind, .label = rule.label};
  if (rule.which == TargetClass::kCorrect) target.label = sample.correct();
  if (rule.which == TargetClass::kPredicted) target.label = sample.predicted;
  if (rule.kind == ScoreTarget::Kind::kProbabilityDifference) {
    std::size_t other = target.label == 0 ? 1 : 0;
    for (std::size_t c = 0; c < sample.logits.size(); ++c) {
      if (c != target.label && sample.logits[c] > sample.logits[other]) other = c;
    }
    target.others = {other};
  }
  return target;
}

void predict(TextModel& model, std::vector<EncodedSample>& samples, const ScoringOptions& options) {
  const ProgressFunction progress = start_phase(options, "predictions");
  std::vector<TextInput> inputs;
  inputs.reserve(samples.size());
  for (const EncodedSample& sample : samples) inputs.push_back(sample.input);
  const BatchOptions batch{.progress = progress, .stop_token = options.stop_token};
  model.logits_of_each(inputs, options.position, batch, [&](std::size_t s, std::span<const float> span) {
    if (!std::all_of(span.begin(), span.end(), [](float x) { return std::isfinite(x); })) {
      throw internal::file_error(
          "{}: expected finite logits, found non-finite ones for sample {}; the model's weights are unusable",
          model.info().name, samples[s].number + 1);
    }
    samples[s].logits.assign(span.begin(), span.end());
    samples[s].predicted = static_cast<std::size_t>(std::max_element(span.begin(), span.end()) - span.begin());
  });
}

ScoreResult importance_scores(TextModel& model, const TextCodec& tokenizer, const std::vector<EncodedSample>& samples,
                              const std::vector<ScoreQuestion>& questions, const ScoringOptions& options) {
  ScoreResult result;
  result.scores.resize(questions.size());
  for (SampleScores& scores : result.scores) scores.values.resize(samples.size());
  // Questions that one pass answers: all blank-outs, and all gradients of one target.
  std::vector<std::vector<std::size_t>> passes;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const bool blanks = questions[q].method == ImportanceMethod::kBlankOut;
    const auto joins = [&](const std::vector<std::size_t>& pass) {
      const ScoreQuestion& other = questions[pass.front()];
      if (blanks != (other.method == ImportanceMethod::kBlankOut)) return false;
      return blanks || same_target(questions[q].target, other.target);
    };
    const auto pass = std::find_if(passes.begin(), passes.end(), joins);
    if (pass == passes.end()) {
      passes.push_back({q});
    } else {
      pass->push_back(q);
    }
  }
  for (const std::vector<std::size_t>& pass : passes) {
    if (questions[pass.front()].method == ImportanceMethod::kBlankOut) {
      blank_out(model, tokenizer, samples, questions, pass, options, result);
    } else {
      gradients(model, samples, questions, pass, options, result);
    }
  }
  return result;
}

}  // namespace attnflow
