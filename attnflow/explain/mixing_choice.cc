#include "attnflow/explain/mixing_choice.h"

#include <string>

namespace attnflow {
namespace {

// A forward pass, the layers once more, and a backward pass of twice the work.
constexpr double kPassesOfRelevance = 4.0;
// Measured upper bound of the contributions' cost in addition to the forward pass.
constexpr double kPassesOfContributions = 4.0;

bool is_about_attention(const Settings& settings, const DefaultQuestion& question) {
  using Kind = OutputToken::Kind;
  const Settings usual;
  const bool of_last = settings.output_token.kind == Kind::kAuto || settings.output_token.kind == Kind::kLast;
  return settings.heads != usual.heads || settings.residual != usual.residual || question.only_row || !of_last;
}

// Whether attention would fail to answer a decoder's question.
bool asks_of_decoder(const DefaultFacts& facts, const Settings& settings, const DefaultQuestion& question) {
  return facts.causal && facts.predicts && settings.wants_aggregation() && !is_about_attention(settings, question);
}

Mixing default_mixing(const DefaultFacts& facts, const Settings& settings, const DefaultQuestion& question) {
  if (names_prediction(settings)) return Mixing::kRelevance;
  if (!asks_of_decoder(facts, settings, question)) return Mixing::kAttention;
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

bool names_prediction(const Settings& settings) {
  return (settings.target != "auto" || settings.against != "auto") && !settings.explains_prediction();
}

void choose_mixing(Settings& settings, const DefaultFacts& facts, const DefaultQuestion& question,
                   std::vector<Note>& notes) {
  if (settings.mixing != Mixing::kAuto) return;
  const bool for_target = names_prediction(settings);
  settings.mixing = default_mixing(facts, settings, question);
  if (settings.mixing == Mixing::kAttention) {
    if (asks_of_decoder(facts, settings, question)) notes.emplace_back(NoteCode::kDefaultAttention);
    return;
  }
  const char* const reason = for_target                              ? "because a target is named"
                             : settings.mixing == Mixing::kRelevance ? "the default for decoders"
                             : question.as_it_runs ? "the default where values are shown as the text is written"
                                                   : "relevance, which shows more surely what the prediction depends "
                                                     "on, is not available or would take long here";
  notes.push_back({NoteCode::kDefaultMixing,
                   {{"mixing", std::string(mixing_info(settings.mixing).weights)}, {"reason", std::string(reason)}}});
}

}  // namespace attnflow
