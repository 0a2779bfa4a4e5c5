#include "attnflow/analysis/generate/generation_scores.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>
#include <utility>

#include "attnflow/analysis/explain/blank_token.h"
#include "attnflow/analysis/explain/prediction_target.h"
#include "attnflow/analysis/methods/score_methods.h"
#include "attnflow/attribution/note.h"

namespace attnflow::internal {
namespace {

class Scorer {
 public:
  Scorer(Decoder& decoder, const TextCodec& codec, const GenerateOptions& options, const std::vector<std::int64_t>& ids,
         const TokenGroups& groups, Report& report)
      : decoder_(decoder), options_(options), prompt_(ids.size()), groups_(groups), report_(report) {
    const std::size_t tokens = report.generation->tokens.size();
    for (const Method method : report.settings.methods) {
      if (method_info(method).aggregates()) continue;
      MethodScores& scores = report.scores.emplace_back(MethodScores{.method = method});
      scores.values = Tensor<double>({tokens, report.input.tokens.size()});
      if (options.generated_columns) scores.generated = Tensor<double>({tokens, tokens});
      scores.sums.resize(tokens);
    }
    // A tokenizer without a blank token is an error only if blank-out was requested.
    asked_ = report.settings.wants(Method::kBlankOut);
    blank_ = asked_ || !options.check_tokens.empty() ? find_blank_token(codec, decoder.info())
                                                     : try_find_blank_token(codec, decoder.info());
    input_.ids = ids;
    for (std::size_t j = 0; j < groups.size(); ++j) {
      if (report.input.tokens[j].special) continue;
      content_.insert(content_.end(), groups[j].begin(), groups[j].end());
    }
  }

  // Scores generated token t; call with the tokens in order. Returns whether later ones need anything.
  bool score(std::size_t t) {
    GeneratedToken& token = report_.generation->tokens[t];
    if (!token.target) return false;
    if (t > 0) append(report_.generation->tokens[t - 1]);
    tokens_ += input_.ids.size();
    const bool agrees = blank_ && checks(t) && !stopped_;
    const bool waits = !options_.check_tokens.empty() && t < options_.check_tokens.back();
    if (report_.scores.empty() && !agrees) return waits;
    const TextQuestion question = question_of(token, asked_ || !report_.scores.empty());
    // Without a request for blank-out, only the prompt is blanked, for agreement.
    const TextQuestion of_prompt = question_of(token, asked_);
    const std::optional<BlankOut> blanked = agrees ? blanked_of(of_prompt) : std::nullopt;
    for (MethodScores& scores : report_.scores) set_row(scores, t, method_scores(scores.method, question, blanked));
    if (blanked) {
      token.agreement = blank_out_agreement(report_, report_.output_tokens[t], *blanked, blanked_input(of_prompt));
    }
    return true;
  }

 private:
  bool checks(std::size_t t) const {
    const std::vector<std::size_t>& wanted = options_.check_tokens;
    if (!wanted.empty()) return std::binary_search(wanted.begin(), wanted.end(), t);
    return asked_ || agreement_is_cheap(decoder_.info().active_parameters(), tokens_, groups_.size());
  }

  // About the prediction that chose a token: for the prompt's tokens, or for all before it.
  TextQuestion question_of(const GeneratedToken& token, bool of_all) {
    TokenGroups groups = groups_;
    for (std::size_t position = prompt_; of_all && position < input_.ids.size(); ++position) {
      groups.push_back({position});
    }
    TextQuestion question = text_question(decoder_, input_, score_target(*token.target), std::move(groups), blank_);
    question.content = content_;
    question.steps = options_.integration_steps;
    question.threads = options_.threads;
    if (!options_.check_tokens.empty()) question.phases = options_.phases;
    question.stop_token = options_.stop_token;
    return question;
  }

  void append(const GeneratedToken& token) {
    if (!token.special) content_.push_back(input_.ids.size());
    input_.ids.push_back(token.id);
  }

  std::optional<BlankOut> blanked_of(const TextQuestion& question) {
    try {
      return blank_out(question);
    } catch (const Cancelled&) {
      throw;
    } catch (const std::exception&) {
      if (asked_) throw;
      stopped_ = true;  // what cannot be blanked now cannot with more tokens
      return std::nullopt;
    }
  }

  void set_row(MethodScores& scores, std::size_t t, const MethodScores& found) const {
    const std::size_t m = scores.values.extent(1);
    const double* const row = found.values.data();
    std::copy_n(row, m, scores.values[t].data());
    scores.sums[t] = found.sums.front();
    if (!scores.generated.empty()) {
      std::copy_n(row + m, t, scores.generated[t].data());
    } else if (t > 0) {
      scores.sums[t].parts.insert(scores.sums[t].parts.begin(),
                                  {"earlier generated tokens", std::accumulate(row + m, row + m + t, 0.0)});
    }
  }

  Decoder& decoder_;
  const GenerateOptions& options_;
  std::size_t prompt_;  // its positions
  const TokenGroups& groups_;
  Report& report_;
  std::optional<BlankToken> blank_;
  TextInput input_;
  std::vector<std::size_t> content_;
  std::size_t tokens_ = 0;  // run so far, were it one run for each token of the prompt
  bool asked_ = false;      // for blank-out
  bool stopped_ = false;    // no agreement any more
};

}  // namespace

void add_generation_scores(Decoder& decoder, const TextCodec& codec, const GenerateOptions& options,
                           const std::vector<std::int64_t>& ids, const TokenGroups& groups, Report& report) {
  const std::size_t tokens = report.generation->tokens.size();
  try {
    Scorer scorer(decoder, codec, options, ids, groups, report);
    for (std::size_t t = 0; t < tokens && scorer.score(t); ++t) {
      if (!report.scores.empty() && options.progress) options.progress(t + 1, tokens);
    }
    note_integration_error(report.scores, options.integration_steps, report.notes);
  } catch (const Cancelled&) {  // a generation keeps what it has
    if (!report.scores.empty()) report.notes.emplace_back(NoteCode::kScoresInterrupted);
    report.scores.clear();
  }
  const std::vector<GeneratedToken>& all = report.generation->tokens;
  if (!all.empty() && all.front().agreement) note_agreement(*all.front().agreement, report.input, report.notes);
}

}  // namespace attnflow::internal
