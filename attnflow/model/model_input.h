// Checks of what is asked of a model, and the positions of its tokens: the part of Model::run that needs no backend.
#ifndef ATTNFLOW_MODEL_MODEL_INPUT_H_
#define ATTNFLOW_MODEL_MODEL_INPUT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "attnflow/model/model.h"
#include "attnflow/model/model_config.h"

namespace attnflow {

// Throws Error(kUsage): no ids, type ids of another length than the ids, a logit position outside the input; pixels for
// a model of text or ids for one of pictures; pixels of another number of channels, of a size that the patches do not
// fit, or that are no numbers.
// Throws Error(kInputTooLong): more ids than info.max_tokens.
// Throws Error(kBadFile): an id outside the vocabulary or a type id without an embedding; the tokenizer and the weights
// do not belong together. Architectures with fewer than two token types ignore type ids.
void check_model_input(const ModelConfig& config, const ModelInfo& info, const ModelInput& input,
                       const RunOptions& options);

// Throw Error(kUsage) for a model of pictures, or of text: for those who read a tokenizer or a picture beside the
// model, and would otherwise say only that there is none.
void check_takes_text(const ModelInfo& info);
void check_takes_pictures(const ModelInfo& info);

// The part of check_model_input that a model of text needs: throws Error(kUsage) for pixels.
void check_no_picture(const ModelInfo& info, const ModelInput& input);
// The part of it for one picture. `shape` is that of `pixels`.
void check_pixels(const ImageInfo& image, const Shape& shape, std::span<const float> pixels);

// The tokens of an input that has been checked.
std::size_t input_tokens(const ModelInfo& info, const ModelInput& input);

// The row of the position embedding for each token: 0, 1, 2, ...; or, with a padding id p, p + 1, p + 2, ... over the
// tokens that are not padding, which themselves get p (RoBERTa).
std::vector<std::int64_t> position_ids(const ModelConfig& config, std::span<const std::int64_t> ids);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_MODEL_INPUT_H_
