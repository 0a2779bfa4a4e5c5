// Maps the header of a GGUF decoder to Hugging Face form: config.json and a location for every tensor.
//
// GGUF uses the same names for a decoder's parts in all architectures (blk.3.attn_q.weight) and puts its settings under
// the architecture's name (llama.block_count). The torch backend also runs llama (including SmolLM2 and Mistral), qwen2
// and gpt2. Tensors keep their values but not their order:
//   llama   Rotary embedding rotates pairs of a query's (or key's) d numbers. GGUF stores a pair as neighbors,
//           (2i, 2i + 1), Hugging Face at (i, i + d/2): row h d + 2i + j of a query or key matrix becomes row
//           h d + j d/2 + i, for head h, i in [0, d/2), j in {0, 1}.
//   gpt2    The matrices inside layers are stored [out, in], Hugging Face's [in, out].
// A tensor or a setting that has no counterpart is an error, as in reading config.json (decoder_config.h).
#pragma once

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

// Change to a tensor's numbers, in addition to dequantization.
enum class TensorChange {
  kNone,
  kHalves,      // rows of each head: pairs separated again
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
  std::vector<ConvertedTensor> tensors;  // in file order
};

// Plans the conversion of `file`, the whole file, whose header is `header` (with any GgufArrays), which must outlive
// the result. Messages call the file `source`. Throws Error(kUnsupportedModel): another architecture, one of several
// files, settings or tensors that have no counterpart in a Hugging Face folder for it (the message names all);
// Error(kBadFile): settings or tensors that are missing or inconsistent.
ConvertedModel plan_conversion(const GgufHeader& header, std::span<const std::byte> file, const std::string& source);

// Returns the number as written in decimal, 1e-05 for 9.999999747e-06: the shortest for a float32; others unchanged.
double shortest_decimal(double value);

// Recovers Hugging Face's "llama3" scaling (decoder_config.h) from a llama file's rope_freqs, the factors that divide
// the rotary frequencies theta^(-2i/d). Its factor is the largest of them; a frequency between the two limits, which
// Llama puts at 1 and 4, gives the original training length c (8192 if there is none between). Returns nothing if the
// factors do not have this form, to within 1e-5.
struct Llama3Scaling {
  double factor = 1.0;
  std::size_t first_length = 8192;
};
std::optional<Llama3Scaling> find_llama3_scaling(std::span<const float> factors, double theta);

}  // namespace attnflow::internal
