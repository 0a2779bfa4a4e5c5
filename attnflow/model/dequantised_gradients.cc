#include "attnflow/model/dequantised_gradients.h"

#include <stdlib.h>  // mkdtemp

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "attnflow/base/available_memory.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/convert_gguf.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/model_files.h"

namespace attnflow {
namespace {

namespace fs = std::filesystem;

// A private folder, removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    if (error) {
      internal::fail(ErrorKind::kOther,
                     "expected a folder for temporary files in TMPDIR (else /tmp), found "
                     "none: {}",
                     error.message());
    }
    std::string pattern = (parent / "attnflow-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      internal::fail(ErrorKind::kOther, "{}: cannot create a temporary folder: {}", pattern,
                     internal::system_reason(errno));
    }
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::size_t float_bytes(const GgufFile& file) {
  std::size_t numbers = 0;
  for (const auto& tensor : file.header.tensors) {
    std::size_t count = 1;
    for (const std::size_t extent : tensor.extents) count *= extent;
    numbers += count;
  }
  return numbers * sizeof(float);
}

void check_room(const GgufFile& file) {
  const auto available = available_memory();
  const std::size_t bytes = float_bytes(file);
  if (!available || bytes <= *available) return;
  internal::fail(ErrorKind::kOther,
                 "{}: expected room for its weights in float32, which gradients need, {} MiB, found {} MiB of "
                 "memory free; choose --mixing attention",
                 file.path.filename().string(), bytes >> 20U, *available >> 20U);
}

}  // namespace

Gradients<TextInput>& DequantisedGradients::made() {
  const std::scoped_lock lock(making_);
  if (decoder_ == nullptr) {
    check_room(file_);
    const TemporaryFolder folder;
    const fs::path converted = folder.path() / "model";
    convert_gguf(file_.path, converted);
    decoder_ = ModelFiles(Folder(converted)).load_decoder(options_);
  }
  return *decoder_->gradients();
}

std::vector<InputGradient> DequantisedGradients::input_gradients(std::span<const TextInput> inputs,
                                                                 std::span<const ScoreTarget> targets,
                                                                 const BatchOptions& options) {
  return made().input_gradients(inputs, targets, options);
}

std::size_t DequantisedGradients::preparation_bytes() const { return float_bytes(file_); }

void DequantisedGradients::attention_gradients(const TextInput& input, const ScoreTarget& target,
                                               AttentionGradientSink& sink, BackwardRule rule) {
  made().attention_gradients(input, target, sink, rule);
}

}  // namespace attnflow
