// Reads, finds and checks an encoder-decoder's configuration and weights in a Hugging Face folder: two stacks of
// layers, each like a decoder's (decoder_config.h, decoder_weights.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/model/checkpoint.h"
#include "attnflow/model/decoder_weights.h"
#include "attnflow/model/encoder_decoder_architecture.h"
#include "attnflow/model/model.h"

namespace attnflow {

struct EncoderDecoderConfig {
  const EncoderDecoderArchitecture* architecture = nullptr;  // never null once read
  DecoderConfig encoder;                                     // `positions` is the maximum number of source tokens
  DecoderConfig decoder;
  // The ids that begin a target: decoder_start_token_id and, if set, forced_bos_token_id.
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> never;  // bad_words_ids of one token: ids that are never chosen
};

struct EncoderDecoderWeights {
  EncoderDecoderConfig config;
  ModelInfo info;
  std::shared_ptr<const Checkpoint> checkpoint;  // keeps the mapped files alive
  DecoderWeights encoder;                        // without a map to logits
  DecoderWeights decoder;
};

// Parses the text of a config.json, and of a generation_config.json ("": there is none), whose ids take precedence.
// Throws as parse_decoder_config() does, and Error(kBadFile) if neither gives the ids that a target begins with.
EncoderDecoderConfig parse_encoder_decoder_config(std::string_view text, const std::string& source,
                                                  std::string_view generation = {},
                                                  const std::string& generation_source = {});

// Reads both files of a folder. Throws as above.
EncoderDecoderConfig read_encoder_decoder_config(const Folder& folder);

// Throws as find_decoder_weights() does.
EncoderDecoderWeights find_encoder_decoder_weights(const Folder& folder, const EncoderDecoderConfig& config,
                                                   const OpenOptions& options = {});

}  // namespace attnflow
