// Describes the differences between encoder-decoders as data: two rows of DecoderArchitecture each.
//
// The encoder reads a source text, in which every token sees all others. The decoder writes a target text: in each of
// its layers a token attends to the target tokens before it, then to the encoder's output for the source. Both are
// stacks of the same kind of layer and embed the same words. T5 has RMS norms before its blocks, no biases, and scores
// that depend on the distance between two tokens. BART has learned or sinusoidal positions, and layer norms after its
// blocks or, in its relatives, before them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attnflow/model/decoder_architecture.h"

namespace attnflow {

struct EncoderDecoderArchitecture {
  std::string_view model_type;  // config.json's "model_type"
  std::string_view class_name;  // prefix of its classes in transformers: "T5" of "T5ForConditionalGeneration"
  std::string_view prefix;      // of all tensors except the map to logits and its bias; may be empty
  DecoderArchitecture encoder;  // its `prefix`, like the decoder's, is complete
  DecoderArchitecture decoder;
  std::span<const KeyAlias> aliases = {};
};

// Returns the row of a model type, or null.
const EncoderDecoderArchitecture* find_encoder_decoder_architecture(std::string_view model_type);
// "t5, mt5, ...", for messages.
std::string encoder_decoder_architecture_list();

}  // namespace attnflow
