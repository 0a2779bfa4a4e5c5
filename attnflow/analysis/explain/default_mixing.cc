#include "attnflow/analysis/explain/default_mixing.h"

#include <exception>

#include "attnflow/base/progress.h"

namespace attnflow {
namespace {

bool can_prepare(Gradients<TextInput>* gradients) {
  if (gradients == nullptr) return false;
  try {
    gradients->prepare();
    return true;
  } catch (const Cancelled&) {
    throw;
  } catch (const std::exception&) {  // a family that cannot be converted, no room: nobody asked for gradients
    return false;
  }
}

}  // namespace

void choose_mixing(Settings& settings, TextModel& model, const DefaultQuestion& question, std::vector<Note>& notes) {
  const ModelInfo& info = model.info();
  choose_mixing(settings,
                {.causal = info.causal,
                 .predicts = info.head != ModelHead::kNone,
                 .parameters = info.parameters,
                 .has_terms = model.has_terms(),
                 .has_gradients = [&] { return can_prepare(model.gradients()); }},
                question, notes);
}

void choose_mixing_of_image(Settings& settings) {
  if (settings.mixing != Mixing::kAuto) return;
  settings.mixing = names_prediction(settings) ? Mixing::kRelevance : Mixing::kAttention;
}

}  // namespace attnflow
