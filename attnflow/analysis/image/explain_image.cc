#include "attnflow/analysis/image/explain_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attnflow/analysis/check/make_check.h"
#include "attnflow/analysis/image/blank_patches.h"
#include "attnflow/analysis/image/patch_curves.h"
#include "attnflow/analysis/methods/score_methods.h"
#include "attnflow/analysis/text/begin_report.h"
#include "attnflow/analysis/text/memory_check.h"
#include "attnflow/analysis/text/model_graph.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/format_error.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/image/patch_grid.h"
#include "attnflow/model/image_info.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/prediction.h"
#include "attnflow/report/report_ranking.h"

namespace attnflow {
namespace {

std::string token_text(TokenRole role, std::size_t number) {
  if (role == TokenRole::kClass) return "[CLS]";
  if (role == TokenRole::kDistillation) return "[DIST]";
  return role == TokenRole::kRegister ? fmt::format("[REG {}]", number) : "";
}

std::vector<InputToken> report_tokens(const ImageTokens& tokens) {
  std::vector<InputToken> result;
  std::size_t registers = 0;
  for (std::size_t t = 0; t < tokens.roles.size(); ++t) {
    const TokenRole role = tokens.roles[t];
    InputToken token;
    token.role = token_role_name(role);
    token.special = role != TokenRole::kPatch;
    if (role == TokenRole::kPatch) {
      const std::size_t patch = t - tokens.leading();
      token.text = fmt::format("{},{}", patch / tokens.columns, patch % tokens.columns);
    } else {
      token.text = token_text(role, role == TokenRole::kRegister ? ++registers : 0);
    }
    result.push_back(std::move(token));
  }
  return result;
}

// A model of few classes that sees little of a picture assigns any photograph to one of them.
void note_few_classes(Report& report, const ModelInfo& info) {
  constexpr std::size_t kFew = 20;
  const ReportImage& image = *report.input.image;
  const bool sees_little = image.width >= 2 * image.input_width && image.height >= 2 * image.input_height;
  if (info.multi_label || info.labels.size() > kFew || !sees_little) return;
  report.notes.push_back({NoteCode::kFewClasses,
                          {{"width", image.input_width},
                           {"height", image.input_height},
                           {"classes", info.labels.size()},
                           {"labels", info.labels}}});
}

void check_explain_image_options(const ExplainOptions& options) {
  validate(options.settings);
  const auto refuse = [](const char* option, const char* what) {
    throw internal::usage_error("{}: expected a text, found an image, which has no {}", option, what);
  };
  if (options.settings.words) refuse("--words", "words");
  if (!options.candidates.empty()) refuse("--candidates", "masked words");
  if (!options.referents.empty()) refuse("--referents", "words");
  if (!options.blank.empty()) refuse("--blank", "mask or unknown token");
  if (options.only_output_token) refuse("--only-output-token", "decoder");
  if (options.truncate) refuse("--truncate", "maximum length");
  if (options.renormalize || options.any_weights) refuse("--renormalize and --any-weights", "attention file");
}

// Leaves a part of the check's operations to the curve, if that takes no more than a quarter of them.
bool reserve_curve(ImageQuestion& question) {
  constexpr double kMostOfCheck = 0.25;
  if (!has_curve(question.model.info())) return false;
  const auto runs = static_cast<double>(report_curve_runs(*question.grid));
  const double work = run_work(question.model.info(), runs * static_cast<double>(question.groups.size()));
  const std::optional<double> limit = check_limit(question);
  if (!limit) return true;
  if (work > kMostOfCheck * *limit) return false;
  question.reserved_work = work;
  return true;
}

// Scores of the predicted or requested class. A blank patch has the color that the preprocessing takes for the middle,
// or is black if it takes none.
void add_scores(Report& report, VisionModel& model, const ImageProcessor& processor, const PixelInput& input,
                const ReportTarget& target, const ExplainOptions& options) {
  ImageQuestion question = image_question(model, input, *report.input.image, report.input.tokens, score_target(target),
                                          std::vector<float>(model.info().image->channels, 0.0F),
                                          processor.do_normalize ? "mean color" : "black");
  question.is_explained = report.target.has_value();
  question.quantity = target_quantity(target);
  question.steps = options.integration_steps;
  question.check = options.check;
  question.replacements = options.check_replacements;
  question.phases = options.phases;
  question.stop_token = options.stop_token;
  const bool has_time_for_curve = reserve_curve(question);
  score_methods(report, question);
  if (report.check && has_time_for_curve) report.curve = report_curve(report, question);
}

void add_prediction(Report& report, const ModelInfo& info, const ModelOutput& output, const ExplainOptions& options) {
  if (info.head != ModelHead::kClassification) return;
  ReportPrediction prediction{.kind = "classification", .position = {}, .choices = {}, .candidates = {}};
  for (const Prediction& p : class_predictions(info, output.logits.span())) {
    if (prediction.choices.size() == std::max<std::size_t>(1, options.settings.top_k)) break;  // there may be 1,000
    prediction.choices.push_back({p.text, p.probability});
  }
  report.predictions.push_back(std::move(prediction));
  note_few_classes(report, info);
}

}  // namespace

ImageInput image_input(const Picture& picture, const std::string& name, const ImageProcessor& processor,
                       const ModelInfo& info) {
  check_takes_pictures(info);
  ImageInput result;
  const InputGeometry geometry = input_geometry(picture.height(), picture.width(), processor);
  const PatchGrid grid = patch_grid(geometry, info.image->patch_height, info.image->patch_width);
  result.input.pixels = whole_patches(pixel_values(picture, processor).view(), grid);
  const ImageTokens tokens = image_tokens(*info.image, grid.height(), grid.width());
  result.tokens = report_tokens(tokens);
  ReportImage& image = result.image;
  image.name = name;
  image.width = picture.width();
  image.height = picture.height();
  image.rows = tokens.rows;
  image.columns = tokens.columns;
  image.first_patch = tokens.leading();
  const Rectangle seen = grid_rectangle(grid, geometry);
  image.left = seen.left;
  image.top = seen.top;
  image.right = seen.right;
  image.bottom = seen.bottom;
  image.input_width = grid.width();
  image.input_height = grid.height();
  image.input_channels = info.image->channels;
  return result;
}

Report explain_image(VisionModel& model, const ImageProcessor& processor, const PictureGiven& given,
                     const ExplainOptions& asked_options) {
  ExplainOptions options = asked_options;
  check_explain_image_options(options);
  const ModelInfo& info = model.info();
  ImageInput prepared = image_input(given.picture, given.name, processor, info);
  const std::size_t n = prepared.tokens.size();

  Report report;
  report.input.kind = "image";
  report.input.tokens = std::move(prepared.tokens);
  report.input.image = std::move(prepared.image);
  const bool predicts = is_predicted_at(info, options.settings, report.input, 0);
  begin_report(report, options.settings, model, {.tokens = n, .predicts = predicts});
  ReportImage& image = *report.input.image;
  image.png = given.png;
  image.png_width = given.png_width;
  image.png_height = given.png_height;
  for (Note& note : info.notes_for(n)) report.notes.push_back(std::move(note));
  if (info.head != ModelHead::kClassification) report.notes.emplace_back(NoteCode::kNoHead);

  AskedTarget asked;
  const bool explains = options.settings.explains_prediction();
  check_methods(options.settings, model, options.integration_steps);
  // Maps of attention end in the class token, so its prediction is what they are checked against.
  const ReportQuestion question = resolve_question(report, options);
  const std::size_t shown = question.settings.output_token;
  const bool checks = options.check != CheckWhen::kNever && !explains && info.head == ModelHead::kClassification &&
                      shown == 0 && report.input.tokens[shown].special;
  if (explains || checks) asked = asked_target(options.settings, info, nullptr, report.notes);
  require_memory(report_bytes(report, options, n),
                 fmt::format("the matrices of {} layers between {} patches and tokens", info.layers, n),
                 "A smaller image size in preprocessor_config.json, or fewer --layers, needs less", options.max_memory);

  std::optional<ReportTarget> predicted;
  ModelGraph made = model_graph(model, prepared.input,
                                {.mixing = question.settings,
                                 .options = options,
                                 .beside = {.tokens = {shown},
                                            .top = question.settings.layers.back(),
                                            .start_layer = options.settings.start_layer},
                                 .tokens = n},
                                [&](const ModelOutput& output) {
                                  add_prediction(report, info, output, options);
                                  if (!explains && !checks) {
                                    require_check(options.check, report, info, shown, 0);
                                    return std::optional<ScoreTarget>();
                                  }
                                  predicted = chosen_target(asked, info, nullptr, output.logits.span(), std::nullopt);
                                  if (explains) report.target = predicted;
                                  return std::optional(score_target(*predicted));
                                });
  fill_report_of_model(report, std::move(made), single_tokens(n), question, options);
  if (predicted) add_scores(report, model, processor, prepared.input, *predicted, options);
  return report;
}

}  // namespace attnflow
