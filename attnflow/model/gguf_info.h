// Describes the model in a GGUF file from its header, without libllama: at once, even if it cannot be run here.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "attnflow/files/gguf.h"
#include "attnflow/model/model.h"

namespace attnflow {

struct GgufStorage {
  std::string type;  // ggml's name: "Q4_1"; "type 99" for an unknown type
  std::size_t tensors = 0;
  std::size_t numbers = 0;
};

// A setting that the file lacks is 0 or empty.
struct GgufInfo {
  std::string name;          // the file's name for the model, else the file name
  std::string architecture;  // "llama", "qwen2", ...
  std::size_t layers = 0;
  // Query and key-value heads: one number, or one per layer if layers differ. Empty or 0: the model has no attention.
  std::vector<std::size_t> heads;
  std::vector<std::size_t> key_value_heads;
  std::size_t hidden = 0;
  std::size_t vocabulary = 0;
  std::size_t context = 0;         // positions that the model was trained on
  std::size_t sliding_window = 0;  // positions that some or all layers see; 0: all
  std::string tokenizer;           // its kind: "gpt2" (byte pairs), "llama" (SentencePiece), ...
  bool chat_template = false;
  bool causal = true;
  std::vector<GgufStorage> storage;  // in decreasing order of numbers
  std::size_t parameters = 0;        // numbers in all tensors
  std::size_t bytes = 0;             // size of the file
  std::string licence;
  std::vector<ModelNote> notes;  // facts about the model that the file does not state but implies
};

// Throws Error(kBadFile) as files/gguf.h does, and if the architecture is missing or a required setting is no count.
GgufInfo gguf_info(const std::filesystem::path& file, const internal::GgufHeader& header);

struct GgufFile {
  std::filesystem::path path;
  internal::GgufHeader header;
  ModelInfo info;  // as far as the header gives it; no backend is consulted
};

// Throw as above.
GgufFile read_gguf_file(const std::filesystem::path& file);
GgufFile describe_gguf(const std::filesystem::path& file, internal::GgufHeader header);

// "Q4_1 (210 tensors, 99.9% of the numbers), F32 (61 tensors, 0.1%)".
std::string storage_text(const GgufInfo& info);

}  // namespace attnflow
