// Checks of what is asked of a model, and the positions of its tokens: the part of run() that needs no backend.
#ifndef ATTNFLOW_MODEL_MODEL_INPUT_H_
#define ATTNFLOW_MODEL_MODEL_INPUT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "attnflow/model/model.h"
#include "attnflow/model/model_config.h"

namespace attnflow {

// Ids that are to follow `length` tokens that are there already. Throws Error(kUsage) for no ids, Error(kInputTooLong)
// when the sequence would be longer than info.max_tokens, Error(kBadFile) for an id outside the vocabulary: the
// tokenizer and the weights do not belong together.
void check_ids(const ModelInfo& info, std::size_t length, std::span<const std::int64_t> ids);

// A whole sequence, and the positions whose logits are wanted. Throws as above, Error(kUsage) for type ids of another
// length than the ids or a position outside the input, Error(kBadFile) for a type id that is not below `token_types`
// (architectures with fewer than two ignore type ids), and of a decoder's positions as check_decoder_head() does.
void check_text_input(const ModelInfo& info, const TextInput& input, const RunOptions& options = {},
                      std::size_t token_types = 0);

// Throws Error(kUnsupportedModel) for a decoder that predicts no next token: a classifier, or a base model, whose files
// hold no head that gives logits.
void check_decoder_head(const ModelInfo& info);
// Throws Error(kUnsupportedModel) for an encoder-decoder, of which only generate() makes use.
void check_one_text(const ModelInfo& info);
// What can be explained of an input of so many tokens. Throws Error(kUnsupportedModel) for a model without a head,
// Error(kUsage) for a target that names a class, a token or a position which is not there, or equal labels.
void check_target(const ModelInfo& info, const ScoreTarget& target, std::size_t tokens);

// An image. Throws Error(kUsage): another number of channels, a size that the patches do not fit, pixels that are no
// numbers, or a logit position outside it.
void check_pixel_input(const ModelInfo& info, const PixelInput& input, const RunOptions& options = {});
// The part of it for one image. `shape` is that of `pixels`.
void check_pixels(const ImageInfo& image, const Shape& shape, std::span<const float> pixels);

// Throw Error(kUsage) for a model of pictures, or of text: for those who read a tokenizer or a picture beside the
// model, and would otherwise say only that there is none.
void check_takes_text(const ModelInfo& info);
void check_takes_pictures(const ModelInfo& info);

// Where a decoder's prediction of a whole text is made, of at least one token: at the last one, or, of a classifier, at
// the last that is not ModelInfo::padding.
std::size_t reading_position(const ModelInfo& info, std::span<const std::int64_t> ids);

// The tokens of an input that has been checked.
std::size_t input_tokens(const ModelInfo& info, const TextInput& input);
std::size_t input_tokens(const ModelInfo& info, const PixelInput& input);

// The row of the position embedding for each token: 0, 1, 2, ...; or, with a padding id p, p + 1, p + 2, ... over the
// tokens that are not padding, which themselves get p (RoBERTa).
std::vector<std::int64_t> position_ids(const ModelConfig& config, std::span<const std::int64_t> ids);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_MODEL_INPUT_H_
