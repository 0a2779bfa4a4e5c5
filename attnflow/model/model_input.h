// Checks a model's input and computes token positions: the part of run() that needs no backend.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnflow/model/fail.h"
#include "attnflow/model/model.h"
#include "attnflow/model/model_config.h"

namespace attnflow {

std::size_t input_tokens(const ModelInfo& info, const TextInput& input);
std::size_t input_tokens(const ModelInfo& info, const PixelInput& input);

// Checks ids to be appended to `length` existing tokens. Throws Error(kUsage) for no ids; Error(kInputTooLong) when the
// sequence would exceed info.max_tokens; Error(kBadFile) for an id outside the vocabulary: the wrong tokenizer.
void check_ids(const ModelInfo& info, std::size_t length, std::span<const std::int64_t> ids);

// Throws Error(kUsage) for a sequence of `length` tokens that is to keep more.
void check_rewind(std::size_t length, std::size_t kept);

// Checks a whole sequence and the positions whose logits are requested. Throws as above; Error(kUsage) if the type ids
// and the ids differ in length or a position is outside the input; Error(kBadFile) for a type id from `token_types` on
// (architectures with fewer than two ignore type ids); and, for a decoder's positions, as check_decoder_head() does.
void check_text_input(const ModelInfo& info, const TextInput& input, const RunOptions& options = {},
                      std::size_t token_types = 0);

// Throws Error(kUnsupportedModel) for a decoder that predicts no next token: a classifier, or a model without a head.
void check_decoder_head(const ModelInfo& info);
// Throws Error(kUnsupportedModel) for an encoder-decoder, which explain_text() and generate() support.
void check_one_text(const ModelInfo& info);
// Checks the target of an explanation for an input of `tokens` tokens. Throws Error(kUnsupportedModel) for a model
// without a head, Error(kUsage) for a target with equal labels or with a class, token or position that does not exist.
void check_target(const ModelInfo& info, const ScoreTarget& target, std::size_t tokens);
template <typename Input>
void check_targets(const ModelInfo& info, std::span<const Input> inputs, std::span<const ScoreTarget> targets) {
  if (targets.size() != inputs.size()) {
    internal::fail(ErrorKind::kUsage, "expected a target for each of {} inputs, found {}", inputs.size(),
                   targets.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) check_target(info, targets[i], input_tokens(info, inputs[i]));
}

// Checks an image. Throws Error(kUsage): the wrong number of channels, a size that does not fit the patches, pixels
// that are not numbers, or a logit position outside the image.
void check_pixel_input(const ModelInfo& info, const PixelInput& input, const RunOptions& options = {});
// Makes the checks that concern a single image. `shape` is that of `pixels`.
void check_pixels(const ImageInfo& image, const Shape& shape, std::span<const float> pixels);

// Throw Error(kUsage) for an image or a text model; callers would otherwise report a missing tokenizer or image.
void check_takes_text(const ModelInfo& info);
void check_takes_pictures(const ModelInfo& info);

// Returns the position at which a decoder predicts for a whole text of at least one token: the last one or, for a
// classifier, the last that is not ModelInfo::padding.
std::size_t reading_position(const ModelInfo& info, std::span<const std::int64_t> ids);

// Returns the position embedding's row for each token: 0, 1, 2, ...; or, with a padding id p, p + 1, p + 2, ... for the
// tokens that are not padding, and p for those that are (RoBERTa).
std::vector<std::int64_t> position_ids(const ModelConfig& config, std::span<const std::int64_t> ids);

}  // namespace attnflow
