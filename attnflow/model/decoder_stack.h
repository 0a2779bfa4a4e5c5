// Reads the stack of layers and embeddings that decoders and both halves of an encoder-decoder share. Include only in
// .cc files of this module: this header includes the JSON library.
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

// Finds the embeddings, the layers, the norm after them and the map to logits (absent from a base model), under
// `prefix`. The finder records missing tensors.
void find_stack(TensorFinder& finder, std::string_view prefix, DecoderWeights& weights);

}  // namespace attnflow::internal
