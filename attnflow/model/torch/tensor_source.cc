#include "attnflow/model/torch/tensor_source.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "attnflow/base/large_pages.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/model/fail.h"

namespace attnflow::internal {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 19U;  // numbers that a thread dequantizes at a time

at::ScalarType type_of(const StoredTensor& stored) {
  switch (stored.dtype) {
    case DType::kF16:
      return at::kHalf;
    case DType::kBF16:
      return at::kBFloat16;
    case DType::kF64:
      return at::kDouble;
    default:
      return at::kFloat;  // TensorFinder accepts no other type
  }
}

}  // namespace

TensorView<const float> view_of(const at::Tensor& host) {
  return {host.data_ptr<float>(), Shape(host.sizes().begin(), host.sizes().end())};
}

Tensor<float> to_host(const at::Tensor& values) {
  const at::Tensor host = values.detach().to(at::kCPU).contiguous();
  const TensorView<const float> view = view_of(host);
  return Tensor<float>(view.shape(), std::vector<float>(view.data(), view.data() + host.numel()));
}

at::Tensor on_host(const at::Tensor& values) { return values.detach().to(at::kCPU).contiguous(); }

at::Tensor from_host(TensorView<const float> values) {
  const std::vector<std::int64_t> shape(values.shape().begin(), values.shape().end());
  return at::from_blob(const_cast<float*>(values.data()), shape, at::TensorOptions(at::kFloat));
}

void replace_embedding(at::Tensor own, const Tensor<float>& given) {
  const Shape shape = {static_cast<std::size_t>(own.size(0)), static_cast<std::size_t>(own.size(1))};
  if (given.shape() != shape) {
    fail(ErrorKind::kUsage, "embeddings: expected {}, tokens and width, found {}", shape_to_string(shape),
         shape_to_string(given.shape()));
  }
  own.copy_(from_host(given.view()));
}

at::Device find_device(const std::string& name) {
  const at::Device device(name);
  if (device.is_cpu()) return device;
  if (!at::hasCUDA()) {
    fail(ErrorKind::kUsage,
         "device {}: expected a libtorch with CUDA and a GPU, found none. Use "
         "--device cpu, or build with a libtorch that has CUDA (docs/building.md)",
         name);
  }
  try {
    at::empty({1}, at::TensorOptions(at::kFloat).device(device));
  } catch (const c10::Error& error) {
    fail(ErrorKind::kUsage, "device {}: expected a GPU that libtorch can use, found: {}", name,
         error.what_without_backtrace());
  }
  return device;
}

const at::Tensor& TensorSource::get(const StoredTensor& stored) {
  at::Tensor& tensor = made_[&stored];
  if (!tensor.defined()) tensor = make(stored);
  return tensor;
}

std::map<std::string, at::Tensor> TensorSource::by_name() const {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [stored, tensor] : made_) tensors[stored->name] = tensor;
  return tensors;
}

at::Tensor TensorSource::make(const StoredTensor& stored) const {
  const at::Tensor tensor = rows(stored, 0, stored.shape.empty() ? 1 : stored.shape.front());
  return use_ == Use::kTraining ? tensor.set_requires_grad(true) : tensor;
}

at::Tensor TensorSource::rows(const StoredTensor& stored, std::size_t row, std::size_t count) const {
  std::vector<std::int64_t> shape(stored.shape.begin(), stored.shape.end());
  std::size_t width = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) width *= stored.shape[i];
  if (!shape.empty()) shape.front() = to_signed(count);
  if (stored.reader != nullptr) {
    const at::Tensor tensor = at::empty(shape, at::TensorOptions(at::kFloat));
    float* const numbers = tensor.data_ptr<float>();
    prefer_large_pages(numbers, count * width * sizeof(float));
    const std::size_t step = stored.reader->reads_rows() ? std::max(kPiece / width, std::size_t{1}) : count;
    parallel_for((count + step - 1) / step, {.threads = threads_}, [&](std::size_t piece, std::size_t /*worker*/) {
      const std::size_t begin = piece * step;
      stored.reader->read(row + begin, {numbers + begin * width, std::min(step, count - begin) * width});
    });
    stored.reader->release();
    return tensor.to(device_);
  }
  const at::ScalarType type = type_of(stored);
  const std::size_t row_bytes = width * c10::elementSize(type);
  const std::span<const std::byte> bytes = stored.bytes.subspan(row * row_bytes, count * row_bytes);
  // The mapping is read-only and nothing here writes to weights; libtorch has no tensors with const elements.
  void* const data = const_cast<std::byte*>(bytes.data());
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % c10::elementSize(type) == 0;
  at::Tensor tensor;
  if (aligned) {
    tensor = at::from_blob(data, shape, at::TensorOptions(type));
  } else {
    tensor = at::empty(shape, at::TensorOptions(type));
    std::memcpy(tensor.data_ptr(), data, bytes.size());
  }
  return tensor.to(device_, at::kFloat, /*non_blocking=*/false, /*copy=*/use_ != Use::kRunning);
}

}  // namespace attnflow::internal
