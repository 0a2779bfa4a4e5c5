#include "attnflow/analysis/explain/default_mixing.h"

#include <exception>

#include "attnflow/analysis/explain/model_choices.h"
#include "attnflow/base/progress.h"

namespace attnflow {
namespace {

template <class Input>
bool can_prepare(Gradients<Input>* gradients) {
  if (gradients == nullptr) return false;
  try {
    gradients->prepare();
    return true;
  } catch (const Cancelled&) {
    throw;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage) throw;
    return false;
  } catch (const std::exception&) {  // a family that cannot be converted, no room: nobody asked for gradients
    return false;
  }
}

template <class Model>
void choose(Settings& settings, Model& model, DefaultQuestion question, std::vector<Note>& notes) {
  if (settings.mixing != Mixing::kAuto) return;  // before the model is asked for anything
  const ModelInfo& info = model.info();
  question.predicts = question.predicts && has_target(info);
  choose_mixing(settings,
                {.parameters = info.active_parameters(),
                 .has_terms = model.has_terms(),
                 .has_gradients = [&] { return can_prepare(model.gradients()); }},
                question, notes);
}

}  // namespace

void choose_mixing(Settings& settings, TextModel& model, const DefaultQuestion& question, std::vector<Note>& notes) {
  choose(settings, model, question, notes);
}
void choose_mixing(Settings& settings, VisionModel& model, const DefaultQuestion& question, std::vector<Note>& notes) {
  choose(settings, model, question, notes);
}

PredictsAt predicts_at(const ModelInfo& info) {
  switch (info.head) {
    case ModelHead::kClassification:
      if (info.labels.size() < 2) break;  // a number: nothing is chosen over anything
      if (info.causal) return PredictsAt::kLastToken;
      if (!info.classifies_first_token) break;
      return PredictsAt::kClassToken;
    case ModelHead::kCausalLm:
      return PredictsAt::kLastToken;
    case ModelHead::kMaskedLm:
      return PredictsAt::kMask;
    case ModelHead::kTokenClassification:
      return PredictsAt::kAnyToken;
    case ModelHead::kQuestionAnswering:
      return PredictsAt::kAnswer;
    case ModelHead::kEmbedding:
      return info.pooling == Pooling::kMean ? PredictsAt::kAllTokens : PredictsAt::kClassToken;
    case ModelHead::kNone:
      break;
  }
  return PredictsAt::kNowhere;
}

}  // namespace attnflow
