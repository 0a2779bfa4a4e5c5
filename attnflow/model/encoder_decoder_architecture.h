// What distinguishes one family of encoder-decoders from another: two rows of DecoderArchitecture, as data.
//
// The encoder reads a source text, every token of which sees all others. The decoder writes a target text token by
// token: in each of its layers a token attends to those of the target before it, then to what the encoder gave for the
// source. Both are stacks of the same kind of layer, with embeddings of the same words. T5's have RMS norms before
// their blocks, no biases, and scores that depend on the distance of two tokens; BART's come with learnt or sinusoidal
// positions, and with layer norms after their blocks or, in its relatives, before them.
#ifndef ATTNFLOW_MODEL_ENCODER_DECODER_ARCHITECTURE_H_
#define ATTNFLOW_MODEL_ENCODER_DECODER_ARCHITECTURE_H_

#include <span>
#include <string>
#include <string_view>

#include "attnflow/model/decoder_architecture.h"

namespace attnflow {

struct EncoderDecoderArchitecture {
  std::string_view model_type;  // config.json's "model_type"
  std::string_view class_name;  // of its classes in transformers: "T5" of "T5ForConditionalGeneration"
  std::string_view prefix;      // of all tensors but the map to logits and its bias; may be empty
  DecoderArchitecture encoder;  // of these, `prefix` is whole
  DecoderArchitecture decoder;
  std::span<const KeyAlias> aliases = {};
};

// The row of a model type, or null.
const EncoderDecoderArchitecture* find_encoder_decoder_architecture(std::string_view model_type);
// "t5, mt5, ...", for messages.
std::string encoder_decoder_architecture_list();

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_ENCODER_DECODER_ARCHITECTURE_H_
