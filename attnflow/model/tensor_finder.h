// Finding the tensors of a model in its files, and checking that they are what its config says.
#ifndef ATTNFLOW_MODEL_TENSOR_FINDER_H_
#define ATTNFLOW_MODEL_TENSOR_FINDER_H_

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/model/checkpoint.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// Finds tensors by their possible names and remembers those that are missing, so that one message can list them.
class TensorFinder {
 public:
  // The checkpoint must outlive the finder. `model_type` is for messages.
  TensorFinder(const Checkpoint& checkpoint, std::string_view model_type);

  bool has(std::string_view name) const { return checkpoint_.find(name) != nullptr; }
  // Does the name of any tensor begin so?
  bool has_prefix(std::string_view prefix) const;

  // The tensor under the first of `names` that is there; the last is the usual one, which messages name. Null, and
  // noted, when there is none. `shape_source` says which settings the shape follows from. Throws Error(kBadFile) for
  // another shape, or for numbers that are not floating-point.
  const StoredTensor* tensor(std::initializer_list<std::string> names, const Shape& shape,
                             std::string_view shape_source);

  // Throws Error(kBadFile) that lists what was missing, if anything was.
  void throw_if_missing() const;
  // What was never asked for.
  std::vector<const StoredTensor*> unused() const;

  // Throws Error(kBadFile) that names the tensors of the base model which were never asked for: its files hold more
  // than its config says, more layers for one. `base_parts` are tensors of the base model, below `prefix`; their names
  // up to the first dot are what it consists of. No part of it are heads and poolers, which a file may have for another
  // task, and buffers of numbers that follow from the config.
  void throw_if_unused(std::string_view prefix, const std::vector<std::string_view>& base_parts,
                       std::size_t layers) const;

 private:
  const Checkpoint& checkpoint_;
  std::string_view model_type_;
  std::vector<std::string> missing_;
  std::set<const StoredTensor*> used_;
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TENSOR_FINDER_H_
