#include "attnflow/analysis/explain/default_mixing.h"

#include <exception>
#include <string>

#include "attnflow/base/progress.h"

namespace attnflow {
namespace {

// A pass forward, the layers once more, and a pass back of twice the work.
constexpr double kPassesOfRelevance = 4.0;
// Measured: contributions cost up to that beside the pass forward.
constexpr double kPassesOfContributions = 4.0;

bool is_about_attention(const Settings& settings, const DefaultQuestion& question) {
  using Kind = OutputToken::Kind;
  const Settings usual;
  const bool of_last = settings.output_token.kind == Kind::kAuto || settings.output_token.kind == Kind::kLast;
  return settings.heads != usual.heads || settings.residual != usual.residual || question.only_row || !of_last;
}

// A target that nothing else explains.
bool names_prediction(const Settings& settings) {
  return (settings.target != "auto" || settings.against != "auto") && !settings.explains_prediction();
}

bool can_prepare(Gradients<TextInput>* gradients) {
  if (gradients == nullptr || gradients->preparation_bytes() > kDefaultPreparation) return false;
  try {
    gradients->prepare();
    return true;
  } catch (const Cancelled&) {
    throw;
  } catch (const std::exception&) {  // a family that cannot be converted, no room: nobody asked for gradients
    return false;
  }
}

// Whether attention would not answer what a decoder is asked.
bool asks_of_decoder(const ModelInfo& info, const Settings& settings, const DefaultQuestion& question) {
  return info.causal && info.head != ModelHead::kNone && settings.wants_aggregation() &&
         !is_about_attention(settings, question);
}

// What kAuto stands for.
Mixing default_mixing(TextModel& model, const Settings& settings, const DefaultQuestion& question) {
  const ModelInfo& info = model.info();
  if (names_prediction(settings)) return Mixing::kRelevance;
  if (!asks_of_decoder(info, settings, question)) return Mixing::kAttention;
  const double pass = 2.0 * static_cast<double>(info.parameters) * static_cast<double>(question.tokens);
  if (!question.as_it_runs && kPassesOfRelevance * pass * static_cast<double>(question.predictions) <= kDefaultWork &&
      can_prepare(model.gradients())) {
    return Mixing::kRelevance;
  }
  // Receptive fields of contributions are not known while the model runs.
  const bool of_many =
      (question.predictions > 1 || question.as_it_runs) && settings.normalization != Normalization::kReceptiveField;
  if (of_many && model.has_terms() && kPassesOfContributions * pass <= kDefaultWork) return Mixing::kAlti;
  return Mixing::kAttention;
}

}  // namespace

void choose_mixing(Settings& settings, TextModel& model, const DefaultQuestion& question, std::vector<Note>& notes) {
  if (settings.mixing != Mixing::kAuto) return;
  const bool for_target = names_prediction(settings);
  settings.mixing = default_mixing(model, settings, question);
  if (settings.mixing == Mixing::kAttention) {
    if (asks_of_decoder(model.info(), settings, question)) notes.emplace_back(NoteCode::kDefaultAttention);
    return;
  }
  const char* const reason = for_target                              ? "since a target is named"
                             : settings.mixing == Mixing::kRelevance ? "the default for decoders"
                                                                     : "the default for long generations";
  notes.push_back({NoteCode::kDefaultMixing,
                   {{"mixing", std::string(mixing_info(settings.mixing).weights)}, {"reason", std::string(reason)}}});
}

void choose_mixing_of_image(Settings& settings) {
  if (settings.mixing != Mixing::kAuto) return;
  settings.mixing = names_prediction(settings) ? Mixing::kRelevance : Mixing::kAttention;
}

void note_preparation(const Gradients<TextInput>& gradients, std::vector<Note>& notes) {
  const std::size_t bytes = gradients.preparation_bytes();
  if (bytes > 0) notes.push_back({NoteCode::kDequantisedGradients, {{"mib", bytes >> 20U}}});
}

}  // namespace attnflow
