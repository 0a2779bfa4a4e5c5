#include "attnflow/model/gguf_weights.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "attnflow/model/gguf_layout.h"
#include "attnflow/model/gguf_parts.h"
#include "attnflow/model/gguf_tensor_reader.h"

namespace attnflow {
namespace {

using internal::ConvertedTensor;
using internal::GgufParts;
using internal::GgufTensorReader;

// A reader with the files that it reads.
struct MappedTensor {
  std::shared_ptr<const GgufParts> parts;
  GgufTensorReader reader;
};

}  // namespace

ModelWeights find_gguf_weights(const GgufFile& file, bool copy) {
  const std::string source = file.path.string();
  const auto parts = std::make_shared<const GgufParts>(file.path, file.header, copy);
  const internal::ConvertedModel model = internal::plan_conversion(parts->header(), parts->reader(), source);
  std::map<std::string, StoredTensor, std::less<>> tensors;
  for (const ConvertedTensor& tensor : model.tensors) {
    const auto mapped = std::make_shared<const MappedTensor>(
        MappedTensor{parts, GgufTensorReader(tensor, parts->bytes(*tensor.source), source,
                                             [all = parts.get()](auto bytes) { all->release(bytes); })});
    tensors[tensor.name] = {.name = tensor.source->name,
                            .dtype = DType::kF32,
                            .shape = tensor.shape,
                            .bytes = {},
                            .file = source,
                            .reader = std::shared_ptr<const TensorReader>(mapped, &mapped->reader)};
  }
  ModelWeights weights = find_weights(model.settings, std::make_shared<const Checkpoint>(std::move(tensors), source),
                                      source, {.allow_unused_weights = true});
  weights.info.notes = file.info.notes;
  return weights;
}

}  // namespace attnflow
