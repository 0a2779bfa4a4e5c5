// Encodes a few texts in folders of several families; the first byte selects the family, and the rest is the model.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attnflow/base/error.h"
#include "attnflow/files/folder.h"
#include "attnflow/text/tokenizer.h"

namespace {

struct Family {
  const char* file;
  std::string_view model_type;
};
constexpr std::array kFamilies = {Family{"spiece.model", "t5"},
                                  Family{"spiece.model", "albert"},
                                  Family{"spiece.model", "pegasus"},
                                  Family{"spm.model", "deberta-v2"},
                                  Family{"sentencepiece.bpe.model", "camembert"},
                                  Family{"sentencepiece.bpe.model", "mbart"},
                                  Family{"sentencepiece.bpe.model", "m2m_100"},
                                  Family{"tokenizer.model", "llama"},
                                  Family{"source.spm", "marian"}};
constexpr std::string_view kVocabulary = R"({"</s>": 0, "<unk>": 1, "<pad>": 2, "a": 3})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Family& family = kFamilies[data[0] % kFamilies.size()];
  const std::span<const std::byte> model = std::as_bytes(std::span(data + 1, size - 1));
  const std::span<const std::byte> vocabulary = std::as_bytes(std::span(kVocabulary));
  try {
    const bool marian = family.model_type == "marian";
    const attnflow::Folder folder =
        marian ? attnflow::Folder::built_in("fuzz",
                                            {{family.file, model}, {"target.spm", model}, {"vocab.json", vocabulary}})
               : attnflow::Folder::built_in("fuzz", {{family.file, model}});
    const attnflow::Tokenizer tokenizer = attnflow::Tokenizer::load(folder, std::string(family.model_type));
    for (const std::string_view text : {"", "the key", "\xE2\x80\xAE\xF0\x9F\x98\x80 a\t\n", ">>fr<< </s> aaaaaaaa"}) {
      try {
        for (const attnflow::EncodedToken& token : tokenizer.encode(text).tokens) (void)tokenizer.readable(token.id);
      } catch (const attnflow::Error&) {
      }
    }
  } catch (const attnflow::Error&) {
  }
  return 0;
}
