#include "attnflow/explain/mixing_choice.h"

#include <algorithm>
#include <string>

#include "attnflow/attribution/resolve.h"

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

Mixing default_mixing(const DefaultFacts& facts, const Settings& settings, const DefaultQuestion& question) {
  if (names_prediction(settings)) return Mixing::kRelevance;
  if (!asks_why(settings, question)) return Mixing::kAttention;
  const double pass = 2.0 * static_cast<double>(facts.parameters) * static_cast<double>(question.tokens);
  const double limit = question.predictions > 1 ? kWorkOfMany : kWorkOfOne;
  if (!question.as_it_runs && kPassesOfRelevance * pass * static_cast<double>(question.predictions) <= limit &&
      facts.has_gradients()) {
    return Mixing::kRelevance;
  }
  // Receptive fields of contributions are unknown while the model runs.
  const bool unknown =
      (question.predictions > 1 || question.as_it_runs) && settings.normalization == Normalization::kReceptiveField;
  const bool is_short = kPassesOfContributions * pass <= kWorkOfOne;
  return facts.has_terms && !unknown && is_short ? Mixing::kAlti : Mixing::kAttention;
}

}  // namespace

bool is_predicted_at(PredictsAt at, const Settings& settings, const InputText& input, std::size_t last) {
  using Kind = OutputToken::Kind;
  const OutputToken& asked = settings.output_token;
  if (at == PredictsAt::kNowhere || asked.kind == Kind::kAll) return false;
  if (at == PredictsAt::kAnyToken) return true;
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
  if (settings.mixing == Mixing::kAttention) {
    if (asks_why(settings, question)) notes.emplace_back(NoteCode::kDefaultAttention);
    return;
  }
  const char* const reason = for_target                              ? "because a target is named"
                             : settings.mixing == Mixing::kRelevance ? "the default for predictions"
                             : question.as_it_runs ? "the default where values are shown as the text is written"
                                                   : "relevance, which shows more surely what the prediction depends "
                                                     "on, is not available or would take long here";
  notes.push_back({NoteCode::kDefaultMixing,
                   {{"mixing", std::string(mixing_info(settings.mixing).weights)}, {"reason", std::string(reason)}}});
}

}  // namespace attnflow
