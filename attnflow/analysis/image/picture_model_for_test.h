// A model of pictures with known answers and attention, for tests without a backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "attnflow/analysis/loaded_model.h"
#include "attnflow/base/error.h"
#include "attnflow/graph/gradient_for_test.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/model/prediction.h"

namespace attnflow {

// Patches of 4 x 4 pixels after a class token and a register. A class's logit is the sum over patches of an effect
// times the mean of the patch's values, so the effect of removing a patch is known. Attention is seeded, the same for
// all pictures with equally many patches. The class token looks at any favorite in every layer.
class PictureModel : public VisionModel, public Gradients<PixelInput> {
 public:
  static constexpr std::size_t kPatch = 4;
  static constexpr std::size_t kLeading = 2;
  static constexpr std::size_t kLayers = 3;

  explicit PictureModel(ModelHead head = ModelHead::kClassification) {
    info_.name = "made-up";
    info_.architecture = "vit";
    info_.layers = kLayers;
    info_.heads = 2;
    info_.max_tokens = kLeading + 12;
    info_.head = head;
    info_.image = ImageInfo{3, 12, 16, kPatch, kPatch, {TokenRole::kClass, TokenRole::kRegister}};
    if (head == ModelHead::kClassification) info_.labels = {"shirt", "boot", "bag"};
  }

  const ModelInfo& info() const override { return info_; }
  ModelInfo& changeable_info() { return info_; }
  Gradients<PixelInput>* gradients() override { return this; }

  ModelOutput run(const PixelInput& input, AttentionSink* sink, const RunOptions&) override {
    const AttentionStack stack = stack_for(patches_of(input));
    if (sink != nullptr) stack.send_to(*sink);
    ModelOutput output;
    if (info_.head == ModelHead::kClassification) output.logits = logits_of(input);
    return output;
  }
  std::vector<Tensor<float>> classify(std::span<const PixelInput> inputs, const BatchOptions&) override {
    std::vector<Tensor<float>> logits;
    for (const PixelInput& input : inputs) logits.push_back(logits_of(input));
    return logits;
  }
  void attention_gradients(const PixelInput& input, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule rule) override {
    targets.push_back(target.label);
    kinds.push_back(target.kind);
    const AttentionStack stack = stack_for(patches_of(input));
    const Tensor<float> gradient = random_gradient(stack, 2.0, target.label + 1);
    const std::size_t n = stack.tokens();
    const Tensor<float> stream({n, 1}, std::vector<float>(n, 0.5F));
    for (std::size_t l = stack.layers(); l >= 1; --l) {
      LayerGradients layer{.layer = l, .attention = stack.layer(l), .attention_gradient = gradient[l - 1]};
      if (rule == BackwardRule::kAttnLrp) layer.residual = layer.output_gradient = stream.view();
      sink.layer(layer);
    }
  }
  // The embedding of a patch is its mean, of the other tokens 0.
  std::vector<InputGradient> input_gradients(std::span<const PixelInput> inputs, std::span<const ScoreTarget> asked,
                                             const BatchOptions&) override {
    std::vector<InputGradient> all;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::size_t patches = patches_of(inputs[i]);
      const double share = -1.0 / static_cast<double>(info_.labels.size() - 1);  // of a class among the rest
      InputGradient one{target_value(asked[i], logits_of(inputs[i]).span()), Tensor<float>({kLeading + patches, 1}),
                        Tensor<float>({kLeading + patches, 1})};
      for (std::size_t p = 0; p < patches; ++p) {
        double slope = 0.0;
        for (std::size_t label = 0; label < info_.labels.size(); ++label) {
          slope += (label == asked[i].label ? 1.0 : share) * effect(label, p);
        }
        one.embedding(kLeading + p, 0) = static_cast<float>(mean_of(inputs[i], p));
        one.gradient(kLeading + p, 0) = static_cast<float>(slope);
      }
      all.push_back(std::move(one));
    }
    return all;
  }

  AttentionStack stack_for(std::size_t patches) const {
    AttentionStack stack = random_stack(
        {.layers = kLayers, .heads = info_.heads, .tokens = kLeading + patches, .sharpness = 1.0, .seed = 5});
    if (!favourite) return stack;
    Tensor<float> weights = stack.weights();
    const std::size_t n = kLeading + patches;
    for (std::size_t l = 0; l < kLayers; ++l) {
      for (std::size_t h = 0; h < info_.heads; ++h) {
        for (std::size_t k = 0; k < n; ++k) weights(l, h, 0, k) = 0.25F / static_cast<float>(n);
        weights(l, h, 0, kLeading + *favourite) += 0.75F;
      }
    }
    return AttentionStack(std::move(weights));
  }

  // The patch's effect on the class's logit for each unit of its mean.
  double effect(std::size_t label, std::size_t patch) const {
    if (favourite && *favourite == patch) return label == 1 ? 6.0 : 0.0;
    return 0.1 * static_cast<double>((7 * patch + 3 * label) % 5) - 0.2;
  }

  std::optional<std::size_t> favourite;
  std::vector<std::size_t> targets;      // labels that gradients of attention were taken of
  std::vector<ScoreTarget::Kind> kinds;  // and what of them

 private:
  static std::size_t patches_of(const PixelInput& input) {
    return input.pixels.extent(1) / kPatch * (input.pixels.extent(2) / kPatch);
  }
  static double mean_of(const PixelInput& input, std::size_t patch) {
    const std::size_t columns = input.pixels.extent(2) / kPatch;
    double mean = 0.0;
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t y = 0; y < kPatch; ++y) {
        for (std::size_t x = 0; x < kPatch; ++x) {
          mean += static_cast<double>(input.pixels(c, patch / columns * kPatch + y, patch % columns * kPatch + x));
        }
      }
    }
    return mean / (3.0 * kPatch * kPatch);
  }
  Tensor<float> logits_of(const PixelInput& input) const {
    Tensor<float> logits({info_.labels.size()});
    for (std::size_t label = 0; label < info_.labels.size(); ++label) {
      double sum = 0.0;
      for (std::size_t p = 0; p < patches_of(input); ++p) sum += effect(label, p) * mean_of(input, p);
      logits(label) = static_cast<float>(sum);
    }
    return logits;
  }

  ModelInfo info_;
};

// Takes pictures as they are; a pixel of 127.5 is 0 to the model.
inline ImageProcessor plain_processor() {
  ImageProcessor processor;
  processor.do_resize = false;
  processor.image_std = {0.25, 0.25, 0.25};
  return processor;
}

inline ImageModel picture_model(std::optional<std::size_t> favourite = std::nullopt) {
  auto model = std::make_unique<PictureModel>();
  model->favourite = favourite;
  ImageModel result;
  result.model = std::move(model);
  result.processor = plain_processor();
  return result;
}

// Light enough that a patch for a class is so in every picture.
inline Picture random_picture(std::size_t height, std::size_t width, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Picture picture;
  picture.rgb = Tensor<std::uint8_t>({height, width, 3});
  for (std::uint8_t& value : picture.rgb.span()) value = static_cast<std::uint8_t>(140 + random() % 116);
  return picture;
}

}  // namespace attnflow
