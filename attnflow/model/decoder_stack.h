// Reads the part that decoders and both halves of an encoder-decoder have in common: a stack of layers with its
// embeddings, as a row of DecoderArchitecture describes it. Include only in .cc files of this module: this header
// includes the JSON library.
#pragma once

#include <string>
#include <string_view>

#include "attnflow/model/config_reader.h"
#include "attnflow/model/decoder_config.h"
#include "attnflow/model/decoder_weights.h"
#include "attnflow/model/tensor_finder.h"

namespace attnflow::internal {

// Reads the settings of a stack. Throws as parse_decoder_config() does.
DecoderConfig read_stack(const ConfigReader& reader, const DecoderArchitecture& architecture);

// Finds the embeddings, the layers and the norm after them, under `prefix`, and the map to logits, which a base model
// does not have. Missing tensors are recorded in the finder.
void find_stack(TensorFinder& finder, std::string_view prefix, DecoderWeights& weights);

}  // namespace attnflow::internal
