#include "attnflow/analysis/evaluate/picture_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "attnflow/analysis/check/patch_check.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/analysis/image/blank_patches.h"
#include "attnflow/analysis/image/explain_image.h"
#include "attnflow/analysis/methods/score_methods.h"
#include "attnflow/analysis/text/memory_check.h"
#include "attnflow/attribution/attribute.h"
#include "attnflow/attribution/probabilities.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/checked_size.h"
#include "attnflow/base/random.h"
#include "attnflow/metrics/perturbation_curve.h"

namespace attnflow {
namespace {

constexpr std::size_t kMaxSteps = 50;

std::vector<double> probabilities_of(VisionModel& model, const PixelInput& input, const std::stop_token& stop_token) {
  return softmax(model.classify({&input, 1}, {.stop_token = stop_token}).front().span());
}

}  // namespace

std::vector<PatchOrder> patch_orders(const ImageEvaluationOptions& options) {
  std::vector<PatchOrder> orders;
  for (const Mixing mixing : options.mixings) {
    for (const Method method : options.settings.methods) {
      if (method_info(method).aggregates()) orders.push_back({to_text(method), mixing});
    }
  }
  for (const Method method : options.settings.methods) {
    if (!method_info(method).aggregates()) orders.push_back({to_text(method), std::nullopt});
  }
  if (options.check) orders.push_back({"check", std::nullopt});
  return orders;
}

class PictureScorer::Prepared {
 public:
  Prepared(const ImageModel& model, const ImageEvaluationOptions& options, const Picture& picture,
           const PictureSet::Entry& entry)
      : made_(image_input(picture, entry.name, model.processor, model.model->info())), info_(model.model->info()) {
    for (std::size_t c = 0; c < info_.image->channels; ++c) {
      const ImageProcessor& processor = model.processor;
      const bool shifted = processor.do_normalize && options.blank == PictureBlank::kBlack;
      blank_.push_back(shifted ? static_cast<float>(-processor.image_mean[c] / processor.image_std[c]) : 0.0F);
    }
    spreads_neighbors_ = options.blank == PictureBlank::kNeighbors;
    const std::size_t n = made_.tokens.size();
    const std::array<std::size_t, 5> extents = {options.mixings.size() + 1, info_.layers, n, n, sizeof(double)};
    require_memory(checked_product(extents).value_or(std::numeric_limits<std::size_t>::max()),
                   fmt::format("the matrices of {} layers between {} patches and tokens", info_.layers, n),
                   "A smaller image size in preprocessor_config.json, or fewer --mixing values, needs less");
    probabilities_ = probabilities_of(*model.model, made_.input, options.stop_token);
    const auto best = std::max_element(probabilities_.begin(), probabilities_.end());
    label_ = options.own_class ? *entry.label : static_cast<std::size_t>(best - probabilities_.begin());
  }

  const PixelInput& input() const { return made_.input; }
  const std::vector<double>& probabilities() const { return probabilities_; }
  std::size_t label() const { return label_; }
  std::size_t patches() const { return made_.image.rows * made_.image.columns; }
  std::size_t first_patch() const { return made_.image.first_patch; }

  PixelInput without(std::span<const std::size_t> patches) const {
    PixelInput input{.pixels = made_.input.pixels};
    if (spreads_neighbors_) {
      spread_neighbors(input, made_.image, *info_.image, patches, blank_);
    } else {
      blank_patches(input, made_.image, *info_.image, patches, blank_);
    }
    return input;
  }
  std::size_t output_token(const OutputToken& asked) const {
    InputText text;
    text.kind = "image";
    text.tokens = made_.tokens;
    std::vector<Note> ignored;
    return resolve_output_token(asked, text, info_.causal, /*merges_words=*/false, ignored);
  }

  // The class against all others; for gradient-adjusted attention its logit alone.
  ScoreTarget target(ScoreTarget::Kind kind) const { return {.kind = kind, .label = label_}; }
  PictureGraphsQuestion graphs_question(const ImageEvaluationOptions& options) const {
    return {.input = made_.input,
            .tokens = made_.tokens,
            .target = target(ScoreTarget::Kind::kLogitAgainstRest),
            .gradient_target = target(ScoreTarget::Kind::kLogit),
            .threads = options.threads,
            .stop_token = options.stop_token};
  }
  ImageQuestion image_question(VisionModel& model, const char* blank) const {
    return attnflow::image_question(model, made_.input, made_.image, made_.tokens,
                                    target(ScoreTarget::Kind::kLogitAgainstRest), blank_, blank);
  }

 private:
  ImageInput made_;
  const ModelInfo& info_;
  std::vector<float> blank_;
  bool spreads_neighbors_ = false;
  std::vector<double> probabilities_;
  std::size_t label_ = 0;
};

PictureScorer::PictureScorer(const ImageModel& model, const ImageEvaluationOptions& options)
    : model_(model), options_(options) {
  check_methods(options.settings, *model.model, options.integration_steps);
}

void PictureScorer::attempt(const Picture& picture, const PictureSet::Entry& entry, Mixing mixing) const {
  const Prepared prepared(model_, options_, picture, entry);
  mixed_graphs(*model_.model, settings_of_mixings(options_.settings, std::span(&mixing, 1)),
               prepared.graphs_question(options_));
}

std::vector<PictureScorer::PatchValues> PictureScorer::values_of_orders(const Prepared& prepared) const {
  const auto of_patches = [&](std::span<const double> values) {
    const auto some = values.subspan(prepared.first_patch(), prepared.patches());
    return std::vector<double>(some.begin(), some.end());
  };
  const Settings& settings = options_.settings;
  const ModelInfo& info = model_.model->info();
  const std::size_t output = prepared.output_token(settings.output_token);
  std::vector<PatchValues> result;
  if (settings.wants_aggregation()) {
    MixedGraphs found = mixed_graphs(*model_.model, settings_of_mixings(settings, options_.mixings),
                                     prepared.graphs_question(options_));
    for (AttentionGraph& graph : found.graphs) {
      GraphSource source(std::move(graph), info.causal);
      for (const Method method : settings.methods) {
        if (!method_info(method).aggregates()) continue;
        const Query query{.method = method,
                          .layers = settings.layers,
                          .start_layer = settings.start_layer,
                          .outputs = {{output}},
                          .flow_tolerance = settings.flow_tolerance};
        const Attribution answer =
            attribute(source, query, {.threads = options_.threads, .stop_token = options_.stop_token});
        PatchValues& one = result.emplace_back();
        one.values = of_patches(std::as_const(answer.values)[0][0].span());
        if (!answer.gap.empty()) one.gaps = of_patches(std::as_const(answer.gap)[0][0].span());
      }
    }
  }
  ImageQuestion question =
      prepared.image_question(*model_.model, options_.blank == PictureBlank::kBlack ? "black" : "mean color");
  question.steps = options_.integration_steps;
  question.stop_token = options_.stop_token;
  for (const Method method : settings.methods) {
    if (method_info(method).aggregates()) continue;
    result.push_back({of_patches(method_scores(method, question).values.span()), {}});
  }
  if (options_.check) {
    std::vector<double> drops;
    const std::vector<bool> wanted(question.groups.size(), true);
    for (const PlaceDrop& place : check_patches(question, wanted).places) drops.push_back(place.drop);
    result.push_back({of_patches(drops), {}});
  }
  return result;
}

PictureCurves PictureScorer::score(const Picture& picture, const PictureSet::Entry& entry, std::size_t index) const {
  const Prepared prepared(model_, options_, picture, entry);
  const std::size_t patches = prepared.patches();
  PictureCurves result;
  result.probabilities = prepared.probabilities();
  result.points = curve_points(patches, options_.steps == 0 ? std::min(patches, kMaxSteps) : options_.steps);

  const std::uint64_t seed = stream_seed(options_.seed, index);
  std::vector<std::vector<std::size_t>> orders;
  for (const PatchValues& found : values_of_orders(prepared)) {
    orders.push_back(importance_order(found.values, seed, found.gaps));
  }
  const std::size_t methods = orders.size();
  const std::vector<double> nothing(patches, 0.0);
  for (std::size_t r = 0; r < options_.random_orders; ++r) {
    orders.push_back(importance_order(nothing, stream_seed(seed, r + 1)));
  }

  const CurveQuestion question{
      .model = *model_.model,
      .label = prepared.label(),
      .without = [&](std::span<const std::size_t> removed) { return prepared.without(removed); },
      .stop_token = options_.stop_token};
  for (const std::vector<std::size_t>& order : orders) {
    result.curves.push_back(patch_curves(question, order, result.points));
  }
  const std::size_t points = result.points.size();
  PatchCurves random{std::vector<double>(points, 0.0), std::vector<double>(points, 0.0)};
  const auto share = 1.0 / static_cast<double>(options_.random_orders);
  for (std::size_t o = methods; o < result.curves.size(); ++o) {
    for (std::size_t j = 0; j < points; ++j) {
      random.deletion[j] += share * result.curves[o].deletion[j];
      random.insertion[j] += share * result.curves[o].insertion[j];
    }
  }
  result.curves.resize(methods);
  result.curves.push_back(std::move(random));
  return result;
}

}  // namespace attnflow
