// What decoders and both halves of an encoder-decoder have in common: a stack of layers with its embeddings, as a row
// of DecoderArchitecture describes it. For .cc files of this module only: it brings the JSON library in.
#ifndef ATTNFLOW_MODEL_DECODER_STACK_H_
#define ATTNFLOW_MODEL_DECODER_STACK_H_

#include <string>
#include <string_view>

#include "attnflow/model/config_reader.h"
#include "attnflow/model/decoder_config.h"
#include "attnflow/model/decoder_weights.h"
#include "attnflow/model/tensor_finder.h"

namespace attnflow::internal {

// The settings of a stack. Throws as parse_decoder_config().
DecoderConfig read_stack(const ConfigReader& reader, const DecoderArchitecture& architecture);

// Finds embeddings, layers and the norm behind them, below `prefix`, and the map to logits, which is none for a base
// model. What is missing is noted in the finder.
void find_stack(TensorFinder& finder, std::string_view prefix, DecoderWeights& weights);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_DECODER_STACK_H_
