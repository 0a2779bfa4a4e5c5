#include "attnflow/analysis/text/mixing_choice.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "attnflow/attribution/resolve.h"
#include "attnflow/base/progress.h"
#include "attnflow/model/decoder.h"
#include "attnflow/words/numbers.h"

namespace attnflow {
namespace {

// A forward pass, the layers once more, and a backward pass of twice the work.
constexpr double kPassesOfRelevance = 4.0;
// Measured upper bound of the contributions' cost in addition to the forward pass.
constexpr double kPassesOfContributions = 4.0;

bool names_prediction(const Settings& settings) {
  return (settings.target != "auto" || settings.against != "auto") && !settings.explains_prediction();
}

// The options given that mean something for attention alone.
std::vector<std::string> options_of_attention(const Settings& settings) {
  const Settings usual;
  std::vector<std::string> options;
  if (settings.heads != usual.heads) options.emplace_back("heads");
  if (settings.residual != usual.residual) options.emplace_back("residual");
  return options;
}

bool is_about_attention(const Settings& settings, const DefaultQuestion& question) {
  return question.only_row || !options_of_attention(settings).empty();
}

// Whether attention would fail to answer the question.
bool asks_why(const Settings& settings, const DefaultQuestion& question) {
  return question.predicts && settings.wants_aggregation() && !is_about_attention(settings, question);
}

double work_of_pass(const ModelInfo& info, const DefaultQuestion& question) {
  return 2.0 * static_cast<double>(info.active_parameters()) * static_cast<double>(question.tokens);
}

double work_of_relevance(const ModelInfo& info, const DefaultQuestion& question) {
  return kPassesOfRelevance * work_of_pass(info, question) * static_cast<double>(question.predictions);
}

double work_limit(const DefaultQuestion& question) { return question.predictions > 1 ? kWorkOfMany : kWorkOfOne; }

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
Mixing default_mixing(Model& model, const Settings& settings, const DefaultQuestion& question) {
  const ModelInfo& info = model.info();
  if (names_prediction(settings)) return Mixing::kRelevance;
  if (!asks_why(settings, question)) return Mixing::kAttention;
  const bool is_short = kPassesOfContributions * work_of_pass(info, question) <= kWorkOfOne;
  if (info.head == ModelHead::kEmbedding && is_short && model.has_terms()) return Mixing::kAlti;
  if (!question.as_it_runs && work_of_relevance(info, question) <= work_limit(question) &&
      can_prepare(model.gradients())) {
    return Mixing::kRelevance;
  }
  // Receptive fields of contributions are unknown while the model runs.
  const bool unknown =
      (question.predictions > 1 || question.as_it_runs) && settings.normalization == Normalization::kReceptiveField;
  return !unknown && is_short && model.has_terms() ? Mixing::kAlti : Mixing::kAttention;
}

// Which matrices are shown in place of relevance, and how long that would take, if that is the reason.
template <class Model>
Note not_the_answer(Mixing mixing, Model& model, const DefaultQuestion& question) {
  constexpr double kWorkOfASecond = kWorkOfOne / 60.0;
  const double work = work_of_relevance(model.info(), question);
  NoteValues values = {{"mixing", std::string(mixing_info(mixing).weights)}};
  if (work > work_limit(question) && can_prepare(model.gradients()))
    values.emplace("time", internal::about_time(work / kWorkOfASecond));
  return {NoteCode::kNotTheAnswer, std::move(values)};
}

}  // namespace

bool is_predicted_at(const ModelInfo& info, const Settings& settings, const InputText& input, std::size_t last) {
  const OutputToken& asked = settings.output_token;
  const bool is_auto = asked.kind == OutputToken::Kind::kAuto;
  if (asked.kind == OutputToken::Kind::kAll) return false;
  const auto position = [&] {
    std::vector<Note> notes;  // the report has them
    return resolve_output_token(asked, input, info.causal, settings.words, notes);
  };
  const auto at_class_token = [&] { return position() == 0 && input.tokens.front().special; };
  switch (info.head) {
    case ModelHead::kClassification:
      if (info.labels.size() < 2) return false;  // a number: nothing is chosen over anything
      if (info.causal) return is_auto || position() == last;
      return info.classifies_first_token && at_class_token();
    case ModelHead::kCausalLm:
      return is_auto || position() == last;
    case ModelHead::kMaskedLm:
      return is_mask_piece(input.tokens[position()].text);
    case ModelHead::kTokenClassification:
      return true;
    case ModelHead::kQuestionAnswering:
      return is_auto;
    case ModelHead::kEmbedding:
      return info.pooling == Pooling::kMean ? is_auto : at_class_token();
    case ModelHead::kNone:
      break;
  }
  return false;
}

template <typename Model>
void choose_mixing(Settings& settings, Model& model, const DefaultQuestion& given, std::vector<Note>& notes) {
  if (settings.mixing != Mixing::kAuto) return;  // before the model is asked for anything
  DefaultQuestion question = given;
  question.predicts = question.predicts && model.info().head != ModelHead::kNone;
  const bool for_target = names_prediction(settings);
  settings.mixing = default_mixing(model, settings, question);
  const bool asked = for_target || asks_why(settings, question);
  if (!asked) {
    std::vector<std::string> options = options_of_attention(settings);
    const bool would_ask = question.predicts && settings.wants_aggregation() && !question.only_row;
    if (would_ask && !options.empty()) {
      notes.push_back({NoteCode::kAttentionByOption, {{"options", std::move(options)}}});
    }
    return;
  }
  const bool is_of_state = model.info().head == ModelHead::kEmbedding && settings.mixing == Mixing::kAlti;
  if (settings.mixing != Mixing::kRelevance && !question.as_it_runs && !is_of_state) {
    notes.push_back(not_the_answer(settings.mixing, model, question));
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

template void choose_mixing(Settings&, TextModel&, const DefaultQuestion&, std::vector<Note>&);
template void choose_mixing(Settings&, Decoder&, const DefaultQuestion&, std::vector<Note>&);
template void choose_mixing(Settings&, VisionModel&, const DefaultQuestion&, std::vector<Note>&);

std::vector<Mixing> mixings_of(const ModelInfo& info) {
  std::vector<Mixing> mixings;
  for (const MixingInfo& one : all_mixings()) {
    if (one.mixing == Mixing::kAuto) continue;
    if (one.has_target() && info.head == ModelHead::kNone) continue;
    if (one.norms_after && !info.norms_after) continue;
    mixings.push_back(one.mixing);
  }
  return mixings;
}

std::vector<Method> methods_of(const ModelInfo& info) {
  std::vector<Method> methods;
  for (const MethodInfo& one : all_methods()) {
    if (!one.aggregates() && info.head == ModelHead::kNone) continue;
    if (one.needs == MethodNeeds::kLayers && info.norms_after) continue;
    methods.push_back(one.method);
  }
  return methods;
}

}  // namespace attnflow
