// Weights as libtorch tensors, and the conversion of numbers and errors between libtorch and the rest of attnflow.
#pragma once

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

// Runs `work`, converting libtorch's exceptions (usually out of memory) to ours.
template <typename Work>
auto with_torch_errors(Work work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    throw Error(ErrorKind::kOther, std::string("libtorch cannot run the model: ") + error.what_without_backtrace());
  }
}

// Also keeps the libtorch calls of `work` on this thread.
template <typename Work>
auto on_one_thread(Work work) {
  return with_torch_errors([&] {
    keep_calls_on_one_thread();
    return work();
  });
}

// Returns a copy of the numbers, on the host and without gradients.
Tensor<float> to_host(const at::Tensor& values);
// Returns the same numbers contiguous in host memory, detached from any gradient graph: what view_of() requires.
at::Tensor on_host(const at::Tensor& values);
// Returns the same numbers as a libtorch tensor, which must not outlive `values` or be written to.
at::Tensor from_host(TensorView<const float> values);
// Overwrites the model's own embedding with the caller's, [n, width]. Throws Error(kUsage) for another shape.
void replace_embedding(at::Tensor own, const Tensor<float>& given);
// Returns a view of a tensor that is on the host, contiguous, and outlives the view.
TensorView<const float> view_of(const at::Tensor& host);

// Returns the device with a name that check_device() (backend.h) accepts. Throws Error(kUsage) if this libtorch or
// machine lacks it.
at::Device find_device(const std::string& name);

// Whether a tensor can be used where it lies, as float32 in a file; if not, float32 needs memory of its own.
inline bool lies_in_place(const StoredTensor& stored) {
  return stored.dtype == DType::kF32 && stored.reader == nullptr;
}

// Converts stored tensors to float32 on the device, once each, however many parts of the model share one.
class TensorSource {
 public:
  enum class Use {
    kRunning,   // uses float32 weights of a file in place
    kCopied,    // copies them
    kTraining,  // makes copies for which libtorch computes gradients
  };
  static Use use_of(const LoadOptions& options) { return options.copy_weights ? Use::kCopied : Use::kRunning; }
  // `threads`: to dequantize with.
  explicit TensorSource(at::Device device, Use use = Use::kRunning, std::size_t threads = 1)
      : device_(device), use_(use), threads_(threads) {}
  const at::Tensor& get(const StoredTensor& stored);
  // Returns an undefined tensor for null.
  at::Tensor find(const StoredTensor* stored) { return stored == nullptr ? at::Tensor() : get(*stored); }
  // For a tensor that is no longer needed: its copy is freed once nothing else holds it.
  void forget(const StoredTensor& stored) { made_.erase(&stored); }
  // Returns rows [row, row + count) of a matrix.
  at::Tensor rows(const StoredTensor& stored, std::size_t row, std::size_t count) const;
  at::Device device() const { return device_; }
  // A source of the same kind that has made nothing.
  TensorSource fresh() const { return TensorSource(device_, use_, threads_); }
  // Likewise, for layers that come and go: quantized maps are read by panels (weight_rows.h).
  TensorSource for_passing_layers() const {
    TensorSource source = fresh();
    source.reads_panels_ = device_.is_cpu();
    return source;
  }
  bool reads_panels() const { return reads_panels_; }
  std::size_t threads() const { return threads_; }
  // All tensors made, by their stored names.
  std::map<std::string, at::Tensor> by_name() const;

 private:
  at::Tensor make(const StoredTensor& stored) const;

  at::Device device_;
  Use use_;
  std::size_t threads_;
  std::map<const StoredTensor*, at::Tensor> made_;
  bool reads_panels_ = false;
};

}  // namespace attnflow::internal
