// Reads the settings of rotary position embeddings from a decoder's config.json; not part of the library's interface.
//
// Versions 4 and 5 of transformers use different keys, and types of scaling add their own: default, linear, llama3,
// yarn, longrope and dynamic. Everything else, and every key that none of them reads, is refused by name.
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/model/config_reader.h"
#include "attnflow/model/decoder_config.h"

namespace attnflow::internal {

struct RotarySettings {
  RotaryConfig global;     // for layers that see everything
  RotaryConfig local;      // for layers with a window
  std::size_t width = 0;   // numbers of a head that are rotated
  std::size_t length = 0;  // maximum tokens for which they are valid; 0: any number
};

// `head_width`: numbers of a head. Throws Error(kBadFile) for wrong, Error(kUnsupportedModel) for unsupported settings.
RotarySettings read_rotary(const ConfigReader& reader, const DecoderArchitecture& architecture, std::size_t head_width);

// Reads which layers rotate queries and keys.
std::vector<bool> read_rotary_layers(const ConfigReader& reader, const DecoderKeys& keys, std::size_t layers);

}  // namespace attnflow::internal
