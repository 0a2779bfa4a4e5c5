// Reads from config.json where the tokens of a stack stand and whom they see; not part of the library's interface.
// Include only in .cc files of this module: config_reader.h includes the JSON library.
#pragma once

#include "attnflow/model/config_reader.h"
#include "attnflow/model/model_config.h"

namespace attnflow::internal {

// These read into a config whose sizes are known, and throw as parse_model_config() does.

// Which layers see only nearby tokens, and how many.
void read_windows(const ConfigReader& reader, ModelConfig& config);
// The kind and number of positions, which layers rotate, and what scores depend on besides. Needs the windows.
void read_positions(const ConfigReader& reader, ModelConfig& config);

// The settings of rotary embeddings, with PositionKind::kRotary. Versions 4 and 5 of transformers use different keys,
// and types of scaling add their own: default, linear, llama3, yarn, longrope and dynamic. Everything else, and every
// key that none of them reads, is refused by name. Encoders have unscaled angles alone.
void read_rotary(const ConfigReader& reader, ModelConfig& config);

}  // namespace attnflow::internal
