// Finds a model's tensors in its files and checks them against its config; or lists the tensors of a future model.
#pragma once

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

// A tensor of a model's files. An image model's tokens and positions are matrices; a layer scale is a kNormScale.
struct PlannedTensor {
  enum class Kind { kMatrix, kBias, kNormScale, kNormShift };
  std::string name;
  Shape shape;
  Kind kind = Kind::kMatrix;
};

namespace internal {

// Returns `labels`, or LABEL_0, LABEL_1, ..., as transformers names unnamed classes.
std::vector<std::string> class_names(const std::optional<std::vector<std::string>>& labels, std::size_t classes);

// Finds tensors by their possible names and remembers the missing ones, so that one message can list them.
class TensorFinder {
 public:
  // The checkpoint must outlive the finder. `model_type` is for messages.
  TensorFinder(const Checkpoint& checkpoint, std::string_view model_type)
      : checkpoint_(&checkpoint), model_type_(model_type) {}
  // Finds nothing, and lists requested tensors in plan().
  TensorFinder() = default;

  bool has(std::string_view name) const { return checkpoint_ != nullptr && checkpoint_->find(name) != nullptr; }
  bool has_prefix(std::string_view prefix) const;

  // Returns the tensor under the first of `names` that is present; messages use the last, the usual one. Null, and
  // noted as missing, when there is none. `shape_source` names the settings that determine the shape. Throws
  // Error(kBadFile) for another shape, or for numbers that are not floating-point.
  const StoredTensor* tensor(std::initializer_list<std::string> names, const Shape& shape,
                             std::string_view shape_source, PlannedTensor::Kind kind = PlannedTensor::Kind::kMatrix);
  // Returns a map from `in` to `out` numbers, optionally with a bias under the same name.
  LinearWeights linear(const std::string& name, std::size_t out, std::size_t in, std::string_view shape_source,
                       bool bias = true, MatrixLayout layout = MatrixLayout::kOutIn);
  // Returns the map to logits of classes: as many as `labels` or, without names, as are stored (2 in a plan).
  LinearWeights classes(const std::string& name, const std::optional<std::vector<std::string>>& labels, std::size_t in,
                        std::string_view shape_source, bool bias = true);
  // Returns a norm. Early TensorFlow checkpoints call the scale gamma and the shift beta.
  NormWeights norm(const std::string& name, std::size_t width, std::string_view shape_source, NormKind kind);
  // Accepts a tensor that is not needed.
  void pass_over(std::string_view name);
  const std::vector<PlannedTensor>& plan() const { return plan_; }

  // Throws Error(kBadFile) that lists the missing tensors, if any.
  void throw_if_missing() const;
  std::vector<const StoredTensor*> unused() const;

  // Throws Error(kBadFile) that names the base model's tensors that were never requested: its files hold more than its
  // config says, such as more layers. `base_parts` are tensors of the base model, under `prefix`; their names up to the
  // first dot identify its parts. Another task's head or pooler and buffers that follow from the config are allowed.
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
