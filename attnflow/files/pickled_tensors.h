#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "attnflow/files/array_file.h"
#include "attnflow/files/pickle.h"

namespace attnflow::internal {

// Numbers of one type, stored elsewhere in the file under a key.
struct PickledStorage {
  DType dtype = DType::kF32;
  std::size_t count = 0;
};

// A view of a storage, measured in its elements.
struct PickledTensor {
  std::string_view storage;  // its key
  std::size_t offset = 0;
  Shape shape;
  Shape strides;
};

// Reads the content of a pickle, whose bytes must outlive this object and all its results. Messages call the file
// `source`, and end with `advice` where something other than weights is found. All functions throw Error(kBadFile).
class PickledWeights {
 public:
  PickledWeights(const Pickle& pickle, const std::string& source, const std::string& advice)
      : pickle_(pickle), source_(source), advice_(advice) {}

  // Returns every storage that the pickle names, by key.
  std::map<std::string_view, PickledStorage> storages() const;
  // Returns the tensors by name, from the pickle's dict or from the one nested in it under "state_dict" or similar.
  std::map<std::string_view, PickledTensor> tensors() const;

 private:
  [[noreturn]] void refuse(const std::string& found) const;
  std::string_view storage_key(const PickleValue& persistent) const;
  std::size_t size(PickleRef ref, std::string_view what) const;
  Shape sizes(PickleRef ref, std::string_view what) const;
  bool is_tensor(const PickleValue& value) const { return value.kind == PickleValue::Kind::kCall; }
  bool holds_tensors(const PickleValue& value) const;
  const PickleValue& find_weights() const;
  PickledTensor tensor(const PickleValue& value) const;

  const Pickle& pickle_;
  const std::string& source_;
  const std::string& advice_;
};

}  // namespace attnflow::internal
