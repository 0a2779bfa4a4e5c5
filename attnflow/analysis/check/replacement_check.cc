#include "attnflow/analysis/check/replacement_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "attnflow/analysis/check/replacements.h"
#include "attnflow/attribution/probabilities.h"
#include "attnflow/model/prediction.h"

namespace attnflow {
namespace {

constexpr std::size_t kMostProbable = 11;  // tokens, whose probability says how well a replacement fits
constexpr double kOwnWeight = 0.06;        // of the token itself beside each candidate, if what is compared is certain

double probability_of(std::span<const float> logits, std::span<const std::size_t> chosen) {
  const std::vector<double> probabilities = softmax(logits);
  double kept = 0.0;
  for (const std::size_t id : chosen) kept += probabilities[id];
  return kept;
}

// The input with a candidate in the place of a group, which may have more tokens than it.
TextInput replaced(const TextInput& input, const std::vector<std::size_t>& group,
                   const internal::Candidate& candidate) {
  TextInput result = input;
  const auto put = [&](std::vector<std::int64_t>& values, std::size_t count, const auto& value) {
    if (values.empty()) return;
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(group.front());
    values.erase(at + static_cast<std::ptrdiff_t>(count), at + static_cast<std::ptrdiff_t>(group.size()));
    for (std::size_t i = 0; i < count; ++i) values[group.front() + i] = value(i);
  };
  const std::int64_t type = input.type_ids.empty() ? 0 : input.type_ids[group.front()];
  put(result.ids, candidate.size(), [&](std::size_t i) { return candidate[i]; });
  put(result.type_ids, candidate.size(), [&](std::size_t) { return type; });
  return result;
}

// The text as far as the prediction sees it, and where it is made: the last token, if nothing is said.
struct Read {
  TextInput input;
  std::optional<std::size_t> position;
};

Read read_text(const ReplacementQuestion& question) {
  // Replaced words may be shorter.
  if (internal::predicts_next(question.model.info()) && question.target.position) {
    return {question.input.up_to(*question.target.position), std::nullopt};
  }
  return {question.input, question.target.position};
}

class Check {
 public:
  Check(const ReplacementQuestion& question, const std::vector<bool>& wanted, const ReplacementOptions& options)
      : question_(question), options_(options), read_(read_text(question)) {
    const ModelHead head = question.model.info().head;
    of_tokens_ = head == ModelHead::kMaskedLm || head == ModelHead::kCausalLm;
    for (std::size_t g = 0; g < question.groups.size(); ++g) {
      if (wanted[g] && question.groups[g].back() < read_.input.ids.size()) places_.push_back(g);
    }
  }

  ReplacementCheck run() {
    candidates_ = internal::find_candidates(
        {question_.model, question_.codec, read_.input, question_.target, question_.groups}, places_, options_);
    result_.places.resize(question_.groups.size());
    look_at_text();
    const std::size_t first = first_candidates(options_.replacements, question_.groups.size());
    std::vector<std::size_t> all(places_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    look_at(all, 0, first);
    if (first < options_.replacements) look_at(contested(), first, options_.replacements);
    result_.reliability = reliability_of(result_);
    return std::move(result_);
  }

 private:
  // Where in result_ the value of a text belongs.
  struct Text {
    std::size_t place = 0;  // a group
    std::size_t number = 0;
  };

  double value_of(std::span<const float> logits) const {
    const bool is_finite = std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); });
    return is_finite ? target_value(question_.target, logits) : std::numeric_limits<double>::quiet_NaN();
  }

  double fit_of(std::span<const float> logits) const {
    return share_ > 0.0 ? std::min(1.0, probability_of(logits, likely_) / share_) : 0.0;
  }

  // The probability of the target's token and those that it is compared with.
  double compared_share(std::span<const float> logits) const {
    if (!question_.target.has_others()) return share_;
    std::vector<std::size_t> compared = question_.target.others;
    compared.push_back(question_.target.label);
    return probability_of(logits, compared);
  }

  void look_at_text() {
    question_.model.logits_of_each(std::span(&read_.input, 1), read_.position, {.stop_token = options_.stop_token},
                                   [&](std::size_t, std::span<const float> logits) {
                                     result_.value = value_of(logits);
                                     if (!of_tokens_) return;
                                     likely_ = largest_logits(logits, kMostProbable);
                                     share_ = probability_of(logits, likely_);
                                     result_.own_weight = kOwnWeight * compared_share(logits);
                                   });
  }

  // Runs the texts with candidates from `begin` to before `end` at some of the places.
  void look_at(const std::vector<std::size_t>& some, std::size_t begin, std::size_t end) {
    std::vector<TextInput> inputs = {read_.input};  // the others' trunk
    std::vector<Text> texts = {{}};
    for (const std::size_t p : some) {
      PlaceDrop& place = result_.places[places_[p]];
      for (std::size_t c = begin; c < std::min(end, candidates_[p].size()); ++c) {
        std::string text;
        for (const std::int64_t id : candidates_[p][c]) text += question_.codec.readable(id);
        texts.push_back({places_[p], place.tried.size()});
        place.tried.push_back({.text = std::move(text)});
        inputs.push_back(replaced(read_.input, question_.groups[places_[p]], candidates_[p][c]));
      }
    }
    if (inputs.size() == 1) return;
    BatchOptions batch{.stop_token = options_.stop_token};
    if (options_.progress) {
      // Until all is known, as if every place tried all candidates.
      const std::size_t others = begin == 0 && end < options_.replacements ? inputs.size() - 1 : 0;
      batch.progress = [this, others](std::size_t done, std::size_t all) {
        options_.progress(looked_at_ + done, looked_at_ + all + others);
      };
    }
    question_.model.logits_of_each(inputs, read_.position, batch, [&](std::size_t i, std::span<const float> logits) {
      if (i == 0) return;
      TriedReplacement& one = result_.places[texts[i].place].tried[texts[i].number];
      one.value = value_of(logits);
      one.fit = of_tokens_ && std::isfinite(one.value) ? fit_of(logits) : 1.0;
    });
    looked_at_ += inputs.size();
    for (const std::size_t p : some) summarize_drop(result_, places_[p]);
  }

  // For each of places_.
  std::vector<std::size_t> contested() const {
    const std::vector<bool> may = may_decide(result_);
    std::vector<std::size_t> found;
    for (std::size_t p = 0; p < places_.size(); ++p) {
      if (may[places_[p]]) found.push_back(p);
    }
    return found;
  }

  const ReplacementQuestion& question_;
  const ReplacementOptions& options_;
  Read read_;
  bool of_tokens_ = false;  // are predicted, not classes
  std::vector<std::size_t> places_;
  std::vector<std::vector<internal::Candidate>> candidates_;  // of each place
  std::vector<std::size_t> likely_;                           // the text's most probable tokens
  double share_ = 0.0;                                        // their probability
  std::size_t looked_at_ = 0;                                 // texts
  ReplacementCheck result_;
};

}  // namespace

double replacement_tokens(const ReplacementQuestion& question, std::size_t group, std::size_t replacements) {
  const std::size_t n = read_text(question).input.ids.size();
  const bool shares = internal::predicts_next(question.model.info());
  const std::size_t each = shares ? n - std::min(n, question.groups[group].front()) : n;
  const auto first = static_cast<double>(first_candidates(replacements, question.groups.size()));
  return (first + (static_cast<double>(replacements) - first) * kMayDecide) * static_cast<double>(each);
}

ReplacementCheck check_by_replacement(const ReplacementQuestion& question, const std::vector<bool>& wanted,
                                      const ReplacementOptions& options) {
  return Check(question, wanted, options).run();
}

}  // namespace attnflow
