#include "attnflow/model/llama/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/base/checked_size.h"
#include "attnflow/files/gguf.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/llama/library.h"
#include "attnflow/model/llama/warnings.h"

namespace attnflow {
namespace {

namespace fs = std::filesystem;
using internal::GgufHeader;
using internal::GgufTensor;
using internal::quote_name;

constexpr std::size_t kMaxFiles = 10000;  // the library's names have five digits

[[noreturn]] void unsupported(const std::string& source, const std::string& found) {
  internal::fail(ErrorKind::kUnsupportedModel,
                 "{}: expected a language model that predicts the next token from those before it, found {}", source,
                 found);
}

[[noreturn]] void damaged(const std::string& source, const std::string& found) {
  throw Error(ErrorKind::kBadFile, source + ": " + found);
}

// Checks the other files of a split model, whose headers are as hostile as the first.
void check_further_files(const GgufHeader& header, const fs::path& first, StoredMatrices& matrices,
                         std::vector<GgufTensor>& tensors) {
  const std::int64_t count = header.number("split.count").value_or(1);
  if (count <= 1) return;
  if (static_cast<std::uint64_t>(count) > kMaxFiles)
    damaged(first.string(), fmt::format("split.count: expected at most {} files, found {}", kMaxFiles, count));
  std::vector<char> prefix(first.string().size() + 1);
  const int files = static_cast<int>(count);
  if (llama_split_prefix(prefix.data(), prefix.size(), first.c_str(), 0, files) <= 0) {
    damaged(first.string(), fmt::format("expected the first of the {0} files of this model, whose name ends in "
                                        "-00001-of-{0:05}.gguf; give that one",
                                        count));
  }
  std::vector<char> path(first.string().size() + 32);
  for (int number = 1; number < files; ++number) {
    llama_split_path(path.data(), path.size(), prefix.data(), number, files);
    const GgufHeader further = internal::read_gguf(path.data());
    add_matrices(path.data(), further, matrices);
    tensors.insert(tensors.end(), further.tensors.begin(), further.tensors.end());
  }
}

// Returns a number from the architecture's part of the metadata: "llama.block_count".
std::size_t setting(const GgufHeader& header, const std::string& architecture, std::string_view key,
                    std::size_t otherwise) {
  const std::int64_t value = header.number(fmt::format("{}.{}", architecture, key)).value_or(-1);
  return value < 0 ? otherwise : static_cast<std::size_t>(value);
}

void check_header(const GgufHeader& header, const std::string& source) {
  const auto kind = header.text("general.type");
  if (kind && *kind != "model") {
    unsupported(source, fmt::format("a file of the type {}; give the model's own file", quote_name(*kind)));
  }
  const auto tokenizer = header.text("tokenizer.ggml.model");
  if (tokenizer && *tokenizer != "no_vocab" && *tokenizer != "none") return;
  unsupported(source,
              "a file without a tokenizer (tokenizer.ggml.model); convert the model again together with its tokenizer");
}

LlamaModelHandle load(const fs::path& file, bool copy) {
  take_llama_error();
  take_llama_warnings();
  LlamaModelHandle model;
  with_llama_assertions(file.string(), [&] {
    llama_model_params params = llama_model_default_params();
    // Otherwise weights are repacked: a copy of the file in memory, which was no faster, neither for a text nor for
    // generating.
    params.use_extra_bufts = false;
    params.n_gpu_layers = 0;
    if (copy) params.load_mode = LLAMA_LOAD_MODE_NONE;
    model.reset(llama_model_load_from_file(file.c_str(), params));
  });
  if (model) return model;
  const std::string reason = take_llama_error();
  if (reason.find("unknown model architecture") != std::string::npos)
    unsupported(file.string(), "an architecture that this libllama does not know (" + reason + ")");
  damaged(file.string(), fmt::format("expected a model that libllama can load, which fails: {}",
                                     reason.empty() ? "it gives no reason" : reason));
}

// Other problems appear in the first run (LlamaDecoder).
void check_kind(const llama_model& model, const std::string& source) {
  if (llama_model_has_encoder(&model))
    unsupported(source, "one with an encoder; for T5, BART and others, attnflow generate runs the Hugging Face folder");
  if (llama_model_is_recurrent(&model)) unsupported(source, "a recurrent one, which has no attention");
  if (llama_model_is_hybrid(&model))
    unsupported(source, "one in which some layers are recurrent and have no attention");
  if (llama_model_is_diffusion(&model)) unsupported(source, "a diffusion model, with bidirectional attention");
}

ModelInfo info_of(const llama_model& model, const GgufFile& file) {
  const auto count = [&](std::int64_t number, std::string_view what) {
    if (number <= 0)
      damaged(file.path.string(), fmt::format("expected a positive number of {}, found {}", what, number));
    return static_cast<std::size_t>(number);
  };
  ModelInfo info = file.info;
  info.layers = count(llama_model_n_layer(&model), "layers");
  info.heads = count(llama_model_n_head(&model), "heads");
  info.key_value_heads = static_cast<std::size_t>(std::max(0, llama_model_n_head_kv(&model)));
  info.hidden = count(llama_model_n_embd(&model), "hidden numbers");
  info.vocabulary = count(llama_vocab_n_tokens(llama_model_get_vocab(&model)), "tokens");
  info.max_tokens = count(llama_model_n_ctx_train(&model), "positions");
  info.parameters = llama_model_n_params(&model);
  return info;
}

// The numbers of the experts that a token does not pass.
std::size_t idle_experts(const GgufHeader& header, const std::vector<GgufTensor>& tensors, const ModelInfo& info) {
  const std::size_t experts = setting(header, info.architecture, "expert_count", 0);
  const std::size_t used = setting(header, info.architecture, "expert_used_count", experts);
  if (used >= experts) return 0;
  std::size_t numbers = 0;
  for (const GgufTensor& tensor : tensors) {
    if (tensor.name.find("_exps.") == std::string::npos) continue;
    numbers += checked_product(std::vector<std::size_t>(tensor.extents.begin(), tensor.extents.end())).value_or(0);
  }
  return std::min(info.parameters, numbers) / experts * (experts - used);
}

// An estimate: some architectures store less.
std::size_t cache_row_of(const GgufHeader& header, const ModelInfo& info) {
  const std::size_t width = info.hidden / info.heads;
  const std::size_t keys = setting(header, info.architecture, "attention.key_length", width);
  const std::size_t values = setting(header, info.architecture, "attention.value_length", width);
  const std::size_t heads = info.key_value_heads == 0 ? info.heads : info.key_value_heads;
  return checked_product(std::vector<std::size_t>{info.layers, heads, keys + values}).value_or(0);
}

}  // namespace

LlamaWeights load_llama_weights(const GgufFile& file, bool copy) {
  LlamaWeights weights;
  weights.source = file.path.string();
  check_header(file.header, weights.source);
  add_matrices(file.path, file.header, weights.matrices);
  std::vector<GgufTensor> tensors = file.header.tensors;
  check_further_files(file.header, file.path, weights.matrices, tensors);
  weights.model = load(file.path, copy);
  check_kind(*weights.model, weights.source);
  weights.info = info_of(*weights.model, file);
  for (ModelNote& note : unsaid_llama_notes(*weights.model, file.header)) weights.info.notes.push_back(std::move(note));
  weights.info.idle_parameters = idle_experts(file.header, tensors, weights.info);
  weights.cache_row = cache_row_of(file.header, weights.info);
  return weights;
}

}  // namespace attnflow
