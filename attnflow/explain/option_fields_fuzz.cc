// Fuzz target: reads and checks the options of any text as a JSON request. Built by ./dev fuzz.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attnflow/base/error.h"
#include "attnflow/explain/option_fields.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    attnflow::OptionFields fields =
        attnflow::OptionFields::parse(std::string_view(reinterpret_cast<const char*>(data), size),
                                      {.listed = 256, .layers_text = 200, .top_k = 1000});
    std::string text;
    std::optional<std::string> pair;
    fields.read("text", text);
    fields.read("pair", pair);
    attnflow::Settings settings = attnflow::default_settings(attnflow::kForExplain);
    fields.read_settings(settings, attnflow::kForExplain);
    fields.finish();
    if (!std::isfinite(settings.residual)) __builtin_trap();
  } catch (const attnflow::Error&) {
  }
  return 0;
}
