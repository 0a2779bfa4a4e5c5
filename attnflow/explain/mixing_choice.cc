#include "attnflow/explain/mixing_choice.h"

#include <algorithm>
#include <string>
#include <utility>

#include "attnflow/attribution/resolve.h"
#include "attnflow/words/numbers.h"

namespace attnflow {
namespace {

// A forward pass, the layers once more, and a backward pass of twice the work.
constexpr double kPassesOfRelevance = 4.0;
// Measured upper bound of the contributions' cost in addition to the forward pass.
constexpr double kPassesOfContributions = 4.0;

bool is_about_attention(const Settings& settings, const DefaultQuestion& question) {
  const Settings usual;
  return settings.heads != usual.heads || settings.residual != usual.residual || question.only_row;
}

// Whether attention would fail to answer the question.
bool asks_why(const Settings& settings, const DefaultQuestion& question) {
  return question.predicts && settings.wants_aggregation() && !is_about_attention(settings, question);
}

double work_of_pass(const DefaultFacts& facts, const DefaultQuestion& question) {
  return 2.0 * static_cast<double>(facts.parameters) * static_cast<double>(question.tokens);
}

double work_of_relevance(const DefaultFacts& facts, const DefaultQuestion& question) {
  return kPassesOfRelevance * work_of_pass(facts, question) * static_cast<double>(question.predictions);
}

double work_limit(const DefaultQuestion& question) { return question.predictions > 1 ? kWorkOfMany : kWorkOfOne; }

Mixing default_mixing(const DefaultFacts& facts, const Settings& settings, const DefaultQuestion& question) {
  if (names_prediction(settings)) return Mixing::kRelevance;
  if (!asks_why(settings, question)) return Mixing::kAttention;
  const bool is_short = kPassesOfContributions * work_of_pass(facts, question) <= kWorkOfOne;
  if (question.of_state && facts.has_terms && is_short) return Mixing::kAlti;
  if (!question.as_it_runs && work_of_relevance(facts, question) <= work_limit(question) && facts.has_gradients()) {
    return Mixing::kRelevance;
  }
  // Receptive fields of contributions are unknown while the model runs.
  const bool unknown =
      (question.predictions > 1 || question.as_it_runs) && settings.normalization == Normalization::kReceptiveField;
  return facts.has_terms && !unknown && is_short ? Mixing::kAlti : Mixing::kAttention;
}

// Which matrices are shown in place of relevance, and how long that would take, if that is the reason.
Note not_the_answer(Mixing mixing, const DefaultFacts& facts, const DefaultQuestion& question) {
  constexpr double kWorkOfASecond = kWorkOfOne / 60.0;
  const double work = work_of_relevance(facts, question);
  NoteValues values = {{"mixing", std::string(mixing_info(mixing).weights)}};
  if (work > work_limit(question) && facts.has_gradients())
    values.emplace("time", internal::about_time(work / kWorkOfASecond));
  return {NoteCode::kNotTheAnswer, std::move(values)};
}

}  // namespace

bool is_predicted_at(PredictsAt at, const Settings& settings, const InputText& input, std::size_t last) {
  using Kind = OutputToken::Kind;
  const OutputToken& asked = settings.output_token;
  if (at == PredictsAt::kNowhere || asked.kind == Kind::kAll) return false;
  if (at == PredictsAt::kAnyToken) return true;
  if (at == PredictsAt::kAllTokens) return asked.kind == Kind::kAuto;
  const bool causal = at == PredictsAt::kLastToken;
  if (at == PredictsAt::kAnswer || causal) {
    if (asked.kind == Kind::kAuto) return true;
    if (!causal) return false;
  }
  std::vector<Note> notes;  // the report has them
  const std::size_t position = resolve_output_token(asked, input, causal, settings.words, notes);
  if (causal) return position == last;
  if (at == PredictsAt::kMask) return is_mask_piece(input.tokens[position].text);
  return position == 0 && input.tokens[position].special;
}

bool names_prediction(const Settings& settings) {
  return (settings.target != "auto" || settings.against != "auto") && !settings.explains_prediction();
}

void choose_mixing(Settings& settings, const DefaultFacts& facts, const DefaultQuestion& question,
                   std::vector<Note>& notes) {
  if (settings.mixing != Mixing::kAuto) return;
  const bool for_target = names_prediction(settings);
  settings.mixing = default_mixing(facts, settings, question);
  const bool asked = for_target || asks_why(settings, question);
  if (!asked) return;
  const bool is_of_state = question.of_state && settings.mixing == Mixing::kAlti;
  if (settings.mixing != Mixing::kRelevance && !question.as_it_runs && !is_of_state) {
    notes.push_back(not_the_answer(settings.mixing, facts, question));
    return;
  }
  if (settings.mixing == Mixing::kAttention) return;
  const char* const reason = for_target                              ? "because a prediction is named"
                             : settings.mixing == Mixing::kRelevance ? "the default for predictions"
                             : is_of_state                           ? "the default for embeddings"
                                                                     : "the default where values are shown as the "
                                                                       "text is written";
  notes.push_back({NoteCode::kDefaultMixing,
                   {{"mixing", std::string(mixing_info(settings.mixing).weights)}, {"reason", std::string(reason)}}});
}

}  // namespace attnflow
