// Checks of what is asked of a decoder: the part of Decoder::append and Model::run that needs no backend.
#ifndef ATTNFLOW_MODEL_DECODER_INPUT_H_
#define ATTNFLOW_MODEL_DECODER_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "attnflow/model/model.h"

namespace attnflow {

// Ids that are to follow `length` tokens that are there already. Throws Error(kUsage) for no ids, Error(kInputTooLong)
// when the sequence would be longer than info.max_tokens, Error(kBadFile) for an id outside the vocabulary.
void check_decoder_ids(const ModelInfo& info, std::size_t length, std::span<const std::int64_t> ids);

// A whole sequence, and the positions whose logits are wanted. Throws as above, and Error(kUsage) for type ids of
// another length than the ids (decoders have no token types, and ignore them), or a position outside the input, and
// where there are positions as check_decoder_head() does.
void check_decoder_input(const ModelInfo& info, const ModelInput& input, const RunOptions& options = {});

// Throws Error(kUnsupportedModel) for a base model, whose files hold no head that gives logits.
void check_decoder_head(const ModelInfo& info);

// Throws Error(kUsage) for a target that names a token outside the vocabulary, and as check_decoder_head() does.
void check_decoder_target(const ModelInfo& info, const ScoreTarget& target);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_DECODER_INPUT_H_
