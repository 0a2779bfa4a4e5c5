// GET /api/v1/models
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/analysis/text/mixing_choice.h"
#include "attnflow/base/base64.h"
#include "attnflow/serve/api.h"

namespace attnflow {
namespace {

using Json = nlohmann::ordered_json;

const char* head_name(ModelHead head) {
  switch (head) {
    case ModelHead::kMaskedLm:
      return "masked";
    case ModelHead::kClassification:
      return "classification";
    case ModelHead::kTokenClassification:
      return "token-classification";
    case ModelHead::kQuestionAnswering:
      return "question-answering";
    case ModelHead::kCausalLm:
      return "causal";
    case ModelHead::kEmbedding:
      return "embedding";
    case ModelHead::kNone:
      break;
  }
  return "none";
}

Json examples_json(const std::vector<Example>& examples) {
  Json json = Json::array();
  for (const Example& example : examples) {
    if (example.picture.empty()) {
      json.push_back({{"text", example.text}});
      continue;
    }
    std::string data;
    base64_append(data, std::as_bytes(std::span(example.picture)));
    json.push_back({{"name", example.name}, {"type", "image/png"}, {"data", std::move(data)}});
  }
  return json;
}

template <typename Choice>
Json names_of(const std::vector<Choice>& choices) {
  Json names = Json::array();
  for (const Choice choice : choices) names.push_back(to_text(choice));
  return names;
}

Json model_json(const ShelfModel& model) {
  const ModelInfo& info = model.info;
  return {{"name", model.name},
          {"kind", model_kind_name(model.kind)},
          {"architecture", info.architecture},
          {"layers", info.layers},
          {"heads", info.heads},
          {"head", head_name(info.head)},
          {"labels", info.labels},
          {"max_tokens", info.max_tokens},
          {"built_in", model.built_in},
          {"mixings", names_of(mixings_of(info))},
          {"methods", names_of(methods_of(info))},
          {"blanks", model.blanks},
          {"evaluates", model.evaluates},
          {"chat", model.chat},
          {"takes_target", info.target.has_value()},
          {"mask", model.mask.empty() ? Json() : Json(model.mask)},
          {"examples", examples_json(model.examples)},
          {"loaded", model.loaded()}};
}

}  // namespace

void Api::get_models(const std::shared_ptr<HttpExchange>& exchange) {
  const ApiLimits& limits = options_.limits;
  Json json;
  json["models"] = Json::array();
  for (const ShelfModel& model : shelf_.models()) json["models"].push_back(model_json(model));
  const auto default_of = [&](const std::vector<ModelKind>& kinds) {
    const ShelfModel* const model = shelf_.first(kinds);
    return model == nullptr ? Json() : Json(model->name);
  };
  json["default"] = {{"text", default_of(kTextModels)},
                     {"image", default_of({ModelKind::kImage})},
                     {"generation", default_of({ModelKind::kGeneration})}};
  json["limits"] = {{"queue", limits.queue},
                    {"workers", limits.workers},
                    {"body_bytes", limits.max_body_bytes},
                    {"json_bytes", std::min(limits.max_json_bytes, limits.max_body_bytes)},
                    {"pixels", limits.max_pixels},
                    {"memory_bytes", limits.max_memory},
                    {"timeout_seconds", limits.timeout.count()}};
  // Folder names need not be UTF-8.
  exchange->respond({.headers = {{"Cache-Control", "no-store"}},
                     .body = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"});
}

}  // namespace attnflow
