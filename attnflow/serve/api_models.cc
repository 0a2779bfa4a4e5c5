// GET /api/v1/models: what there is to ask, with good inputs to begin with.
#include <nlohmann/json.hpp>

#include "attnflow/model/model_card.h"
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
    case ModelHead::kCausalLm:
      return "causal";
    case ModelHead::kNone:
      break;
  }
  return "none";
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
          {"gradients", model.gradients},
          {"loaded", model.loaded()}};
}

Json examples_json() {
  // What the built-in classifier was trained on: sentences up to their verb.
  return {
      {"text",
       {"The key to the cabinets", "The keys to the cabinet", "The author that the critics met",
        "The picture of the old bridges near the towns"}},
      {"masked",
       {"The author talked to Sara about [MASK] book.", "The key to the cabinets [MASK] on the table.",
        "Paris is the [MASK] of France."}},
      {"image", Json::array()},
      {"generation", {"The capital of France is", "Once upon a time, there was a little", "The key to the cabinets"}}};
}

}  // namespace

void Api::get_models(const std::shared_ptr<HttpExchange>& exchange) {
  const ApiLimits& limits = options_.limits;
  Json json;
  json["models"] = Json::array();
  for (const ShelfModel& model : shelf_.models()) json["models"].push_back(model_json(model));
  const auto default_of = [&](ModelKind kind) {
    const ShelfModel* const model = shelf_.first(kind);
    return model == nullptr ? Json() : Json(model->name);
  };
  json["default"] = {{"text", default_of(ModelKind::kText)},
                     {"image", default_of(ModelKind::kImage)},
                     {"generation", default_of(ModelKind::kGeneration)}};
  json["examples"] = examples_json();
  json["limits"] = {{"queue", limits.queue},
                    {"workers", limits.workers},
                    {"body_bytes", limits.most_body_bytes},
                    {"json_bytes", std::min(limits.most_json_bytes, limits.most_body_bytes)},
                    {"pixels", limits.most_pixels},
                    {"memory_bytes", limits.most_memory},
                    {"timeout_seconds", limits.timeout.count()}};
  HttpResponse response;
  response.headers = {{"Cache-Control", "no-store"}};
  // Names of folders need not be UTF-8.
  response.body = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  exchange->respond(std::move(response));
}

}  // namespace attnflow
