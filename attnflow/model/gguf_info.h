// What a GGUF file says of its model, from its header alone: no libllama is loaded and no weight is read, so it answers
// at once, and for models that cannot be run here as well.
#ifndef ATTNFLOW_MODEL_GGUF_INFO_H_
#define ATTNFLOW_MODEL_GGUF_INFO_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "attnflow/files/gguf.h"
#include "attnflow/model/model.h"

namespace attnflow {

// Tensors that are stored in one of ggml's types.
struct GgufStorage {
  std::string type;  // as ggml calls it: "Q4_1"; "type 99" for one that is not known
  std::size_t tensors = 0;
  std::size_t numbers = 0;
};

// A setting that the file does not give is 0, or empty.
struct GgufInfo {
  std::string name;          // as the file calls itself, else the file's name
  std::string architecture;  // "llama", "qwen2", ...
  std::size_t layers = 0;
  // Of the queries, and of keys and values; for each layer where they differ, else one number. Empty or 0 where the
  // model has no attention.
  std::vector<std::size_t> heads;
  std::vector<std::size_t> key_value_heads;
  std::size_t hidden = 0;
  std::size_t vocabulary = 0;
  std::size_t context = 0;         // positions that the model was trained on
  std::size_t sliding_window = 0;  // positions that some or all layers see; 0: all
  std::string tokenizer;           // the kind of it: "gpt2" (byte pairs), "llama" (SentencePiece), ...
  bool chat_template = false;
  bool causal = true;
  std::vector<GgufStorage> storage;  // most numbers first
  std::size_t parameters = 0;        // numbers in all tensors
  std::size_t bytes = 0;             // of the file
  std::string licence;
  std::vector<ModelNote> notes;  // what the file does not say of its model, but lets be told
};

// Throws Error(kBadFile) as files/gguf.h does, and when the file does not name its architecture or a setting that is
// read is no count.
GgufInfo gguf_info(const std::filesystem::path& file, const internal::GgufHeader& header);

// A GGUF file that is opened.
struct GgufFile {
  std::filesystem::path path;
  internal::GgufHeader header;
  ModelInfo info;  // as far as the header says it: no backend is asked
};

// Throw as above.
GgufFile read_gguf_file(const std::filesystem::path& file);
GgufFile describe_gguf(const std::filesystem::path& file, internal::GgufHeader header);

// "Q4_1 (210 tensors, 99.9% of the numbers), F32 (61 tensors, 0.1%)".
std::string storage_text(const GgufInfo& info);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_GGUF_INFO_H_
