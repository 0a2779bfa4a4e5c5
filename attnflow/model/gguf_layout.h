// Maps the header of a GGUF decoder to Hugging Face form: config.json and a location for every tensor.
//
// GGUF uses the same names for a decoder's parts in all architectures (blk.3.attn_q.weight) and puts its settings under
// the architecture's name (llama.block_count). The architectures that both libllama and the torch backend run:
//   gpt2, llama (with SmolLM2 and Mistral), qwen2, qwen3, smollm3, granite, olmo2, gemma, gemma2, gemma3, phi2, phi3,
//   starcoder2, stablelm, gptneox, falcon, bloom, command-r (cohere), cohere2; with experts: llama (Mixtral), qwen3moe,
//   olmoe, gpt-oss
// Where a file does not state a setting, libllama decides it: windows in all but every second (gemma2, gpt-oss), fourth
// (cohere2) or sixth (gemma3) layer, rotation in all but every fourth (smollm3), scores divided by sqrt(hidden / heads)
// in the largest Gemma 2 and 3. Three things are approximations there and exact here: GELU in gptneox and falcon, where
// libllama has its tanh form; gpt-oss's rotary embedding, between whose limits, unrounded, YaRN scales; and phi3's
// window, which config.json keeps and libllama ignores, as do `settings` below. Tensors keep their values but not their
// order:
//   llama, smollm3, granite   Rotary embedding rotates pairs of a query's (or key's) d numbers. GGUF stores a pair as
//                             neighbors, (2i, 2i + 1), Hugging Face at (i, i + d/2): row h d + 2i + j of a query or key
//                             matrix becomes row h d + j d/2 + i, for head h, i in [0, d/2), j in {0, 1}.
//   gptneox, falcon, bloom    One matrix holds queries, keys and values: in GGUF all heads' queries, then all keys,
//   then
//                             all values; in Hugging Face, for each key-value head, its queries, its key and its value.
//   gpt2                      The matrices inside layers are stored [out, in], Hugging Face's [in, out].
//   gemma, gemma2, gemma3     A norm multiplies by w + 1, which GGUF stores, and Hugging Face w.
//   experts                   One tensor holds a map of all experts of a layer, Hugging Face's files one for each.
//   Those
//                             of gpt-oss stack them in another way, with gate and in alternating; here its maps get
//                             names like the others', so the plan is good for reading, not for writing a folder.
// A tensor or a setting that has no counterpart is an error, as in reading config.json (model_config.h).
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
#include "attnflow/model/gguf_parts.h"
#include "attnflow/model/model_config.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// Change to a tensor's numbers, in addition to dequantization.
enum class TensorChange {
  kNone,
  kHalves,      // rows of each head: pairs separated again
  kTransposed,  // [out, in] to [in, out]
  kByHead,      // rows of queries, keys and values: together again for each key-value head
  kMinusOne,    // a norm's w + 1 to w
};

struct ConvertedTensor {
  std::string name;  // Hugging Face's
  Shape shape;       // Hugging Face's
  const GgufTensor* source = nullptr;
  TensorChange change = TensorChange::kNone;
  std::size_t head_width = 0;  // d
  std::size_t heads = 0;
  std::size_t key_value_heads = 0;
  std::optional<std::size_t> expert = {};  // GGUF stacks the tensors of a layer's experts: the place of this one
};

struct ConvertedModel {
  nlohmann::json config;                 // config.json without the ids of special tokens
  ModelConfig settings;                  // the same, read and checked, but without windows that libllama ignores
  std::vector<ConvertedTensor> tensors;  // in file order
};

// Plans the conversion of a model with this header (and any GgufArrays), which must outlive the result. `bytes` gives
// the numbers of its rotary factors. Messages call the file `source`. Throws Error(kUnsupportedModel): another
// architecture, settings or tensors that have no counterpart in a Hugging Face folder for it (the message names all);
// Error(kBadFile): settings or tensors that are missing or inconsistent.
ConvertedModel plan_conversion(const GgufHeader& header, const GgufBytes& bytes, const std::string& source);

// Returns the number as written in decimal, 1e-05 for 9.999999747e-06: the shortest for a float32; others unchanged.
double shortest_decimal(double value);

// Recovers Hugging Face's "llama3" scaling (model_config.h) from a llama file's rope_freqs, the factors that divide
// the rotary frequencies theta^(-2i/d). Its factor is the largest of them; a frequency between the two limits, which
// Llama puts at 1 and 4, gives the original training length c (8192 if there is none between). Returns nothing if the
// factors do not have this form, to within 1e-5.
struct Llama3Scaling {
  double factor = 1.0;
  std::size_t first_length = 8192;
};
std::optional<Llama3Scaling> find_llama3_scaling(std::span<const float> factors, double theta);

}  // namespace attnflow::internal
