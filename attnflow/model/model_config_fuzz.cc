// Fuzz target: the config.json reader on arbitrary text. Built by ./dev fuzz.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attnflow/base/error.h"
#include "attnflow/model/model_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const attnflow::ModelConfig config =
        attnflow::parse_model_config(std::string_view(reinterpret_cast<const char*>(data), size), "config.json");
    if (config.architecture == nullptr || config.layers == 0 || config.heads == 0) __builtin_trap();
    if (config.heads % config.key_value_heads != 0) __builtin_trap();
  } catch (const attnflow::Error&) {
  }
  return 0;
}
