// The underlying crate is not compiled for coverage, so the code around it guides the fuzzer.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "attnflow/base/error.h"
#include "attnflow/files/folder.h"
#include "attnflow/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const attnflow::Folder folder =
        attnflow::Folder::built_in("fuzz", {{"tokenizer.json", std::as_bytes(std::span(data, size))}});
    const attnflow::Tokenizer tokenizer = attnflow::Tokenizer::load(folder, "bert");
    for (const std::string_view text : {"", "the key", "\xE2\x80\xAE\xF0\x9F\x98\x80 a\t\n", "[MASK] </s> aaaaaaaa"}) {
      try {
        const attnflow::Encoding encoding = tokenizer.encode(text);
        for (const attnflow::EncodedToken& token : encoding.tokens) {
          (void)tokenizer.id_to_token(token.id);
          (void)tokenizer.readable(token.id);
        }
      } catch (const attnflow::Error&) {
      }
    }
  } catch (const attnflow::Error&) {
  }
  return 0;
}
