// What the header of a GGUF file says of a decoder, in Hugging Face's words: config.json and a place for every tensor.
//
// GGUF names a decoder's parts the same in all architectures (blk.3.attn_q.weight) and its settings under the
// architecture's name (llama.block_count). Three of its architectures are ones that the torch backend runs as well:
// llama (also SmolLM2 and Mistral), qwen2 and gpt2. Tensors keep their values but for the order:
//   llama   Rotary embedding turns pairs of a query's (or key's) d numbers. GGUF puts the two of a pair beside each
//           other, (2i, 2i + 1), Hugging Face at (i, i + d/2): row h d + 2i + j of a query or key matrix becomes row
//           h d + j d/2 + i, for head h, i in [0, d/2), j in {0, 1}.
//   gpt2    The matrices inside layers are stored [out, in], Hugging Face's [in, out].
// A tensor or a setting that has no place is an error, as it is in reading config.json (decoder_config.h).
#ifndef ATTNFLOW_MODEL_GGUF_LAYOUT_H_
#define ATTNFLOW_MODEL_GGUF_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/gguf.h"
#include "attnflow/model/decoder_config.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// What becomes of a tensor's numbers besides that they are read.
enum class TensorChange {
  kNone,
  kHalves,      // rows of each head: pairs apart again
  kTransposed,  // [out, in] to [in, out]
};

struct ConvertedTensor {
  std::string name;  // Hugging Face's
  Shape shape;       // Hugging Face's
  const GgufTensor* source = nullptr;
  TensorChange change = TensorChange::kNone;
  std::size_t head_width = 0;  // with kHalves: d
};

struct ConvertedModel {
  nlohmann::json config;                 // config.json without the ids of special tokens
  DecoderConfig settings;                // the same, read and checked
  std::vector<ConvertedTensor> tensors;  // as they stand in the file
};

// `file` is the whole file, whose header is `header` (any GgufArrays), which the result refers to; `source` is what
// messages call it. Throws Error(kUnsupportedModel): another architecture, one of several files, settings or tensors
// that have no place in a Hugging Face folder of it (all are named); Error(kBadFile): settings or tensors that are
// missing, or do not agree.
ConvertedModel plan_conversion(const GgufHeader& header, std::span<const std::byte> file, const std::string& source);

// The number that was written down in decimals: the shortest that gives the same float32, 1e-05 for 9.999999747e-06.
// Numbers that are no float32 are left as they are.
double shortest_decimal(double value);

// The frequency factors rope_freqs of a llama file, which divide the rotary frequencies theta^(-2i/d), as what made
// them: scaling "llama3" of Hugging Face (decoder_config.h). Its factor is the largest of them; a frequency between the
// two limits, which Llama puts at 1 and 4, then tells the length c of the texts of the first training (8192 where there
// is none between). Nothing when the factors are not made so, to 1e-5.
struct Llama3Scaling {
  double factor = 1.0;
  std::size_t first_length = 8192;
};
std::optional<Llama3Scaling> find_llama3_scaling(std::span<const float> factors, double theta);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_GGUF_LAYOUT_H_
