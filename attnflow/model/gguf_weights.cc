#include "attnflow/model/gguf_weights.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/files/mapped_file.h"
#include "attnflow/model/gguf_layout.h"
#include "attnflow/model/gguf_tensor_reader.h"

namespace attnflow {
namespace {

using internal::ConvertedTensor;
using internal::GgufTensorReader;
using internal::MappedFile;

// A file, mapped or copied.
class FileBytes {
 public:
  FileBytes(const std::filesystem::path& path, bool copy) {
    if (!copy) {
      mapping_ = std::make_unique<const MappedFile>(path, "GGUF");
      bytes_ = mapping_->bytes();
      return;
    }
    const MappedFile mapping(path, "GGUF");
    copy_.assign(mapping.bytes().begin(), mapping.bytes().end());
    bytes_ = copy_;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::unique_ptr<const MappedFile> mapping_;
  std::vector<std::byte> copy_;
  std::span<const std::byte> bytes_;
};

// A reader with the file that it reads.
struct MappedTensor {
  std::shared_ptr<const FileBytes> file;
  GgufTensorReader reader;
};

}  // namespace

DecoderWeights find_gguf_weights(const GgufFile& file, bool copy) {
  const std::string source = file.path.string();
  const auto mapping = std::make_shared<const FileBytes>(file.path, copy);
  const internal::ConvertedModel model = internal::plan_conversion(file.header, mapping->bytes(), source);
  std::map<std::string, StoredTensor, std::less<>> tensors;
  for (const ConvertedTensor& tensor : model.tensors) {
    const auto mapped = std::make_shared<const MappedTensor>(
        MappedTensor{mapping, GgufTensorReader(tensor, file.header.data_begin, mapping->bytes(), source)});
    tensors[tensor.name] = {.name = tensor.source->name,
                            .dtype = DType::kF32,
                            .shape = tensor.shape,
                            .bytes = {},
                            .file = source,
                            .reader = std::shared_ptr<const TensorReader>(mapped, &mapped->reader)};
  }
  DecoderWeights weights =
      find_decoder_weights(model.settings, std::make_shared<const Checkpoint>(std::move(tensors), source), source,
                           {.allow_unused_weights = true});
  weights.info.notes = file.info.notes;
  return weights;
}

}  // namespace attnflow
