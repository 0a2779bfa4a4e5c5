// Weights as libtorch tensors, and what crosses from libtorch to the rest of attnflow: numbers and errors.
#ifndef ATTNFLOW_MODEL_TORCH_TENSOR_SOURCE_H_
#define ATTNFLOW_MODEL_TORCH_TENSOR_SOURCE_H_

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/model/checkpoint.h"
#include "attnflow/model/model.h"
#include "attnflow/model/torch/split_work.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

inline std::int64_t to_signed(std::size_t size) { return static_cast<std::int64_t>(size); }

// Runs `work`, and turns libtorch's own exceptions (out of memory, mostly) into ours.
template <typename Work>
auto with_torch_errors(Work work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    throw Error(ErrorKind::kOther, std::string("libtorch cannot run the model: ") + error.what_without_backtrace());
  }
}

// The same of work whose calls of libtorch stay on this thread.
template <typename Work>
auto on_one_thread(Work work) {
  return with_torch_errors([&] {
    keep_calls_on_one_thread();
    return work();
  });
}

// A copy of the numbers, on the host and without gradients.
Tensor<float> to_host(const at::Tensor& values);
// The same numbers in the host's memory without gaps, apart from any graph of gradients: what view_of() takes.
at::Tensor on_host(const at::Tensor& values);
// The same numbers as a tensor of libtorch's, which does not outlive `values` and is not written to.
at::Tensor from_host(TensorView<const float> values);
// Writes an embedding that a caller gives, [n, width], over the model's own. Throws Error(kUsage) for another shape.
void replace_embedding(at::Tensor own, const Tensor<float>& given);
// The numbers of a tensor that is on the host, contiguous, and outlives the view.
TensorView<const float> view_of(const at::Tensor& host);

// The device of a name that load_model has checked. Throws Error(kUsage) when this libtorch or this machine lacks it.
at::Device find_device(const std::string& name);

// Stored tensors as float32 on the device, each made once however many parts of the model share it.
class TensorSource {
 public:
  enum class Use {
    kRunning,   // float32 weights of a file are used where they lie
    kCopied,    // they are copied
    kTraining,  // copies that libtorch takes gradients of
  };
  static Use use_of(const LoadOptions& options) { return options.copy_weights ? Use::kCopied : Use::kRunning; }
  explicit TensorSource(at::Device device, Use use = Use::kRunning) : device_(device), use_(use) {}
  const at::Tensor& get(const StoredTensor& stored);
  // The same, or an undefined tensor for null.
  at::Tensor find(const StoredTensor* stored) { return stored == nullptr ? at::Tensor() : get(*stored); }
  // For a tensor that is of no more use: its copy goes as soon as nothing else holds it.
  void forget(const StoredTensor& stored) { made_.erase(&stored); }
  // All that were made, by the names that they are stored under.
  std::map<std::string, at::Tensor> by_name() const;

 private:
  at::Tensor make(const StoredTensor& stored) const;

  at::Device device_;
  Use use_;
  std::map<const StoredTensor*, at::Tensor> made_;
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_TENSOR_SOURCE_H_
