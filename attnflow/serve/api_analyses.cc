// POST /api/v1/explain, image, generate, evaluate.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "attnflow/analysis/evaluate/evaluate_text.h"
#include "attnflow/analysis/generate/generate.h"
#include "attnflow/analysis/image/explain_image.h"
#include "attnflow/analysis/text/explain_text.h"
#include "attnflow/attribution/note.h"
#include "attnflow/http/api_error.h"
#include "attnflow/image/picture.h"
#include "attnflow/report/compact_json.h"
#include "attnflow/report/note_json.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_json_parts.h"
#include "attnflow/serve/api.h"
#include "attnflow/serve/api_options.h"
#include "attnflow/serve/api_work.h"

namespace attnflow {
namespace {

using Json = nlohmann::ordered_json;

std::string document(const Report& report, bool compact) {
  return compact ? compact_report_json(report) : report_to_json(report);
}

std::string evaluation_json(const TextEvaluation& evaluation) {
  const Report& report = evaluation.report;
  Json json;
  json["format"] = "attnflow-text-evaluation";
  json["version"] = 2;
  json["model"] = internal::named_model_json(report.model);
  Json tokens = Json::array();
  for (std::size_t t = 0; t < report.input.tokens.size(); ++t) {
    tokens.push_back({{"text", report.input.tokens[t].text},
                      {"shown", display_text(report.input, t)},
                      {"special", report.input.tokens[t].special}});
  }
  json["input"] = {{"text", report.input.text}, {"text_pair", report.input.text_pair}, {"tokens", std::move(tokens)}};
  json["output_token"] = report.output_token;
  json["target"] = {{"label", evaluation.target.label}, {"probability", evaluation.target.probability}};
  json["blank"] = evaluation.blank;
  json["methods"] = to_texts(report.settings.methods);
  json["layers"] = report.settings.layers;
  json["scores"] = Json::array();
  for (const TextScore& score : evaluation.scores) {
    json["scores"].push_back({{"name", score.name}, {"target", score.target}, {"values", score.values}});
  }
  json["relevance"] = evaluation.relevance;
  json["correlations"] = Json::array();
  for (const TextCorrelation& one : evaluation.correlations) {
    json["correlations"].push_back({{"score", one.score},
                                    {"tokens", one.tokens},
                                    {"method", one.method},
                                    {"layer", one.layer},
                                    {"count", one.count},
                                    {"spearman", one.spearman ? Json(*one.spearman) : Json()}});
  }
  std::vector<Note> notes = report.notes;
  notes.insert(notes.end(), evaluation.notes.begin(), evaluation.notes.end());
  json["notes"] = internal::notes_json(notes);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// docs/serve.md, "Events".
std::string start_json(const GenerationStart& start) {
  const Json json = {{"model", internal::json_of(start.model)},
                     {"text", start.prompt},
                     {"layers", start.layers},
                     {"tokens", internal::json_of(start.tokens)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Four digits suffice for colors and tables, in a third of the bytes.
std::string step_json(const GenerationStep& step) {
  const auto text = [](std::string_view value) {
    return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string json = fmt::format(R"({{"index":{},"text":{},"piece":{},"special":{},"probability":{})", step.index,
                                 text(step.text), text(step.token.text), step.token.special, step.token.probability);
  json += ",\"choices\":" + internal::json_of(step.token.choices).dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!step.rollout.empty()) json += fmt::format(R"(,"rollout":[{:.4g}])", fmt::join(step.rollout, ","));
  if (!step.generated.empty()) json += fmt::format(R"(,"rollout_generated":[{:.4g}])", fmt::join(step.generated, ","));
  return json + "}";
}

// A row without matrices advances by layer.
const char* phase_of(const ExplainOptions& options) {
  if (!options.only_output_token) return "flow";
  return options.settings.wants(Method::kFlow) ? "step" : "layer";
}

}  // namespace

WorkOptions Api::work_options_for(const HttpRequest& request, const ShelfModel& shelf, bool events) const {
  WorkOptions options;
  options.streams = wants_events(request, events);
  options.timeout = options_.limits.timeout;
  options.exclusive = shelf.exclusive();
  options.model_path = shelf.path;
  options.model_name = shelf.name;
  return options;
}

template <typename Options>
void Api::limit(const Work& work, Options& options) const {
  options.threads = options_.load.threads;
  options.max_memory = options_.limits.max_memory;
  options.stop_token = work.stop_token();
  options.progress = work.progress("flow");
}

void Api::post_explain(const std::shared_ptr<HttpExchange>& exchange) {
  ExplainRequest request = read_explain_request(exchange->take_body());
  ShelfModel& shelf = model_for(request.model, kTextModels);
  const WorkOptions work_options = work_options_for(exchange->request(), shelf, false);
  queue_work(queue_, exchange, work_options, [this, &shelf, request = std::move(request)](const Work& work) {
    const LoadedModel& loaded = load(shelf);
    ExplainOptions options = request.options;
    limit(work, options);
    options.progress = work.progress(phase_of(options));
    options.reading = work.progress("token");
    const Report report = explain_text(*loaded.text.model, loaded.text.codec(), request.text, request.pair, options);
    if (options.stop_token.stop_requested()) throw Cancelled();
    return document(report, request.compact);
  });
}

void Api::post_image(const std::shared_ptr<HttpExchange>& exchange) {
  const auto query = parse_query(exchange->request().query);
  if (!query) throw ApiError(400, "bad_request", "expected options as name=value&name=value, percent-encoded");
  ImageRequest request = read_image_request(*query);
  ShelfModel& shelf = model_for(request.model, {ModelKind::kImage});
  WorkOptions work_options = work_options_for(exchange->request(), shelf, false);
  work_options.input_is_file = true;
  const auto body = std::make_shared<const std::string>(exchange->take_body());
  queue_work(queue_, exchange, work_options, [this, &shelf, body, request = std::move(request)](const Work& work) {
    PictureOptions limits;
    limits.max_pixels = options_.limits.max_pixels;
    const Picture picture =
        decode_picture(std::as_bytes(std::span(*body)), request.name.empty() ? "picture" : request.name, limits);
    if (work.stop_token().stop_requested()) throw Cancelled();
    const LoadedModel& loaded = load(shelf);
    ExplainOptions options = request.options;
    limit(work, options);
    const Report report =
        explain_image(*loaded.image.model, loaded.image.processor, shown_picture(picture, request.name), options);
    if (options.stop_token.stop_requested()) throw Cancelled();
    return document(report, request.compact);
  });
}

void Api::post_generate(const std::shared_ptr<HttpExchange>& exchange) {
  GenerateRequest request = read_generate_request(exchange->take_body());
  ShelfModel& shelf = model_for(request.model, {ModelKind::kGeneration});
  const WorkOptions work_options = work_options_for(exchange->request(), shelf, true);
  const auto stop = stops_.open(request.stop_id);
  queue_work(queue_, exchange, work_options, [this, &shelf, stop, request = std::move(request)](const Work& work) {
    const LoadedModel& loaded = load(shelf);
    GenerateOptions options = request.options;
    limit(work, options);
    options.enough = stop->get_token();
    options.phases = [&work](std::string_view phase) { return work.progress(phase); };
    if (work.streams()) {
      options.on_start = [&](const GenerationStart& start) { work.event("prompt", start_json(start)); };
      options.on_token = [&](const GenerationStep& step) { work.event("token", step_json(step)); };
    }
    Report report;
    try {
      report = generate(loaded.text.decoder(), loaded.text.codec(), request.prompt, options);
    } catch (const Cancelled&) {
      if (work.stop_token().stop_requested()) throw;
      throw ApiError(422, "stopped", "stopped before the first token");
    }
    // Return tokens generated within the time limit, unless the client has left.
    if (work.stop_reason() == StopReason::kClientLeft) throw Cancelled();
    if (work.stop_reason() == StopReason::kTimeLimit) {
      report.notes.emplace_back(NoteCode::kTimeLimit);
    }
    return document(report, request.compact);
  });
}

void Api::post_stop(const std::shared_ptr<HttpExchange>& exchange) {
  const bool stopped = stops_.stop(read_stop_request(exchange->take_body()));
  exchange->respond(
      {.headers = {{"Cache-Control", "no-store"}}, .body = stopped ? "{\"stopped\":true}\n" : "{\"stopped\":false}\n"});
}

void Api::post_evaluate(const std::shared_ptr<HttpExchange>& exchange) {
  EvaluateRequest request = read_evaluate_request(exchange->take_body());
  ShelfModel& shelf = model_for(request.model, kTextModels);
  WorkOptions work_options = work_options_for(exchange->request(), shelf, false);
  work_options.result_event = "result";
  queue_work(queue_, exchange, work_options, [this, &shelf, request = std::move(request)](const Work& work) {
    const LoadedModel& loaded = load(shelf);
    TextEvaluationOptions options = request.options;
    limit(work, options.explain);
    options.progress = [&](std::string_view phase) { return work.progress(phase); };
    const TextEvaluation evaluation =
        evaluate_text(*loaded.text.model, loaded.text.codec(), request.text, request.pair, options);
    if (options.explain.stop_token.stop_requested()) throw Cancelled();
    return evaluation_json(evaluation);
  });
}

}  // namespace attnflow
