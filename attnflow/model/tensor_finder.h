// Finding the tensors of a model in its files and checking that they are what its config says; or listing those that a
// model yet to be made has.
#ifndef ATTNFLOW_MODEL_TENSOR_FINDER_H_
#define ATTNFLOW_MODEL_TENSOR_FINDER_H_

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/model/checkpoint.h"
#include "attnflow/model/layer_weights.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// A tensor of a model's files, and what it is. The tokens and positions of a model of pictures are matrices of one row
// or more; a layer scale is a kNormScale.
struct PlannedTensor {
  enum class Kind { kMatrix, kBias, kNormScale, kNormShift };
  std::string name;
  Shape shape;
  Kind kind = Kind::kMatrix;
};

namespace internal {

// Those of `labels`, or LABEL_0, LABEL_1, ... as transformers calls classes without a name.
std::vector<std::string> class_names(const std::optional<std::vector<std::string>>& labels, std::size_t classes);

// Finds tensors by their possible names and remembers those that are missing, so that one message can list them.
class TensorFinder {
 public:
  // The checkpoint must outlive the finder. `model_type` is for messages.
  TensorFinder(const Checkpoint& checkpoint, std::string_view model_type)
      : checkpoint_(&checkpoint), model_type_(model_type) {}
  // Finds nothing, and lists in plan() what it is asked for.
  TensorFinder() = default;

  bool has(std::string_view name) const { return checkpoint_ != nullptr && checkpoint_->find(name) != nullptr; }
  // Does the name of any tensor begin so?
  bool has_prefix(std::string_view prefix) const;

  // The tensor under the first of `names` that is there; the last is the usual one, which messages name. Null, and
  // noted, when there is none. `shape_source` says which settings the shape follows from. Throws Error(kBadFile) for
  // another shape, or for numbers that are not floating-point.
  const StoredTensor* tensor(std::initializer_list<std::string> names, const Shape& shape,
                             std::string_view shape_source, PlannedTensor::Kind kind = PlannedTensor::Kind::kMatrix);
  // A map from `in` to `out` numbers, with a bias of its name or without.
  LinearWeights linear(const std::string& name, std::size_t out, std::size_t in, std::string_view shape_source,
                       bool bias = true, MatrixLayout layout = MatrixLayout::kOutIn);
  // The map to the logits of classes: as many as `labels`, or, where they have no names, as are stored (2 in a plan).
  LinearWeights classes(const std::string& name, const std::optional<std::vector<std::string>>& labels, std::size_t in,
                        std::string_view shape_source, bool bias = true);
  // A layer norm, or an RMS norm. Early TensorFlow checkpoints call the scale gamma and the shift beta.
  NormWeights norm(const std::string& name, std::size_t width, std::string_view shape_source, bool rms = false);
  // Is not needed, and no mistake where it is there.
  void pass_over(std::string_view name);
  // What was asked for, in that order.
  const std::vector<PlannedTensor>& plan() const { return plan_; }

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
  const Checkpoint* checkpoint_ = nullptr;  // null: planning
  std::string_view model_type_;
  std::vector<std::string> missing_;
  std::vector<PlannedTensor> plan_;
  std::set<const StoredTensor*> used_;
};

}  // namespace internal

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_TENSOR_FINDER_H_
