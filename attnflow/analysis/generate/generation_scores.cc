#include "attnflow/analysis/generate/generation_scores.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>
#include <utility>

#include "attnflow/analysis/check/make_check.h"
#include "attnflow/analysis/methods/score_methods.h"
#include "attnflow/analysis/text/blank_token.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/attribution/note.h"

namespace attnflow::internal {
namespace {

class Scorer {
 public:
  Scorer(Decoder& decoder, const TextCodec& codec, const GenerateOptions& options, const TextInput& prompt,
         const TokenGroups& groups, Report& report)
      : decoder_(decoder),
        codec_(codec),
        options_(options),
        prompt_(prompt.ids.size()),
        groups_(groups),
        report_(report),
        input_(prompt) {
    const std::size_t tokens = report.generation->tokens.size();
    for (const Method method : report.settings.methods) {
      if (method_info(method).aggregates()) continue;
      MethodScores& scores = report.scores.emplace_back(MethodScores{.method = method});
      scores.values = Tensor<double>({tokens, report.input.tokens.size()});
      if (options.generated_columns) scores.generated = Tensor<double>({tokens, tokens});
      scores.sums.resize(tokens);
    }
    asked_ = report.settings.wants(Method::kBlankOut);
    blank_ = blank_token_for(report.settings, codec, decoder.info());
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
    const bool waits = !options_.check_tokens.empty() && t < options_.check_tokens.back();
    const bool is_checked = checks(t);
    if (report_.scores.empty() && !is_checked) return waits;
    const TextQuestion question = question_of(token, true);
    const std::optional<BlankOut> blanked = asked_ ? std::optional(blank_out(question)) : std::nullopt;
    for (MethodScores& scores : report_.scores) set_row(scores, t, method_scores(scores.method, question, blanked));
    if (is_checked) token.check = check_of(question_of(token, false), report_.output_tokens[t]);
    return true;
  }

 private:
  bool checks(std::size_t t) const {
    const std::vector<std::size_t>& wanted = options_.check_tokens;
    return wanted.empty() ? left_ > 0.0 : std::binary_search(wanted.begin(), wanted.end(), t);
  }

  // Checks the prompt's tokens.
  std::optional<ReportCheck> check_of(const TextQuestion& question, std::size_t output_token) {
    const bool is_asked = !options_.check_tokens.empty();
    try {
      std::optional<ReportCheck> check =
          make_check(report_, output_token, question, is_asked ? std::nullopt : std::optional(left_));
      if (!is_asked) left_ = check ? left_ - work_of(*check) : 0.0;
      return check;
    } catch (const Cancelled&) {
      throw;
    } catch (const std::exception&) {
      if (is_asked) throw;
      left_ = 0.0;  // what cannot be replaced now cannot with more tokens
      return std::nullopt;
    }
  }

  // As if half of each text ran again.
  double work_of(const ReportCheck& check) const {
    double texts = 0.0;
    for (const CheckedToken& one : check.tokens) texts += static_cast<double>(one.replacements.size());
    return run_work(decoder_.info(), texts * static_cast<double>(input_.ids.size()) / 2.0);
  }

  // About the prediction that chose a token: for the prompt's tokens, or for all before it.
  TextQuestion question_of(const GeneratedToken& token, bool of_all) {
    TokenGroups groups = groups_;
    for (std::size_t position = prompt_; of_all && position < input_.ids.size(); ++position) {
      groups.push_back({position});
    }
    TextQuestion question = text_question(decoder_, input_, score_target(*token.target), std::move(groups), blank_);
    question.content = content_;
    question.codec = &codec_;
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
  const TextCodec& codec_;
  const GenerateOptions& options_;
  std::size_t prompt_;  // its positions
  const TokenGroups& groups_;
  Report& report_;
  std::optional<BlankToken> blank_;
  TextInput input_;
  std::vector<std::size_t> content_;
  double left_ = kExplanationCheckWork;  // for the checks of later tokens
  bool asked_ = false;                   // for blank-out
};

}  // namespace

void add_generation_scores(Decoder& decoder, const TextCodec& codec, const GenerateOptions& options,
                           const TextInput& prompt, const TokenGroups& groups, Report& report) {
  const std::size_t tokens = report.generation->tokens.size();
  try {
    Scorer scorer(decoder, codec, options, prompt, groups, report);
    for (std::size_t t = 0; t < tokens && scorer.score(t); ++t) {
      if (!report.scores.empty() && options.progress) options.progress(t + 1, tokens);
    }
    note_integration_error(report.scores, options.integration_steps, report.notes);
  } catch (const Cancelled&) {  // a generation keeps what it has
    if (!report.scores.empty()) report.notes.emplace_back(NoteCode::kScoresInterrupted);
    report.scores.clear();
  }
}

}  // namespace attnflow::internal
