// Dense row-major arrays: an owner and a view. They handle memory and shape only, not arithmetic.
//
// Example:
//
//     Tensor<float> attention({2, 3, 3});                 // zeros: [head, query, key]
//     attention(1, 0, 2) = 0.5F;                          // head 1, query 0, key 2
//     const TensorView<const float> head = attention[1];  // no copy; valid while `attention` lives
//     assert(head(0, 2) == 0.5F && shape_to_string(head.shape()) == "[3, 3]");
#pragma once

#include <cassert>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "attnflow/base/checked_size.h"
#include "attnflow/base/error.h"
#include "attnflow/base/large_pages.h"

namespace attnflow {

using Shape = std::vector<std::size_t>;

// "[6, 12, 128, 128]", for messages.
std::string shape_to_string(std::span<const std::size_t> shape);

// Returns the number of elements of a shape. Throws Error(kOther) when the product overflows.
inline std::size_t element_count(std::span<const std::size_t> shape) {
  const auto count = checked_product(shape);
  if (!count)
    throw Error(ErrorKind::kOther, "array of shape " + shape_to_string(shape) + " is larger than the address space");
  return *count;
}

// The place of an element in row-major order, given one index per dimension.
template <typename... Index>
std::size_t row_major_offset(const Shape& shape, Index... index) {
  assert(sizeof...(Index) == shape.size());
  std::size_t offset = 0;
  std::size_t dimension = 0;
  ((assert(static_cast<std::size_t>(index) < shape[dimension]),
    offset = offset * shape[dimension++] + static_cast<std::size_t>(index)),
   ...);
  return offset;
}

// A contiguous row-major view that does not own its elements. T may be const. Valid as long as the memory it points to.
template <typename T>
class TensorView {
 public:
  TensorView() = default;
  TensorView(T* data, Shape shape) : data_(data), shape_(std::move(shape)), size_(element_count(shape_)) {}
  // A view of mutable elements converts to a view of const elements.
  template <typename U, typename = std::enable_if_t<std::is_same_v<const U, T> && !std::is_same_v<U, T>>>
  TensorView(const TensorView<U>& other) : TensorView(other.data(), other.shape()) {}  // NOLINT: implicit on purpose

  T* data() const { return data_; }
  const Shape& shape() const { return shape_; }
  std::size_t rank() const { return shape_.size(); }
  std::size_t extent(std::size_t dimension) const {
    assert(dimension < shape_.size());
    return shape_[dimension];
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<T> span() const { return {data_, size_}; }

  // Element access: one index per dimension.
  template <typename... Index>
  T& operator()(Index... index) const {
    return data_[row_major_offset(shape_, index...)];
  }

  TensorView operator[](std::size_t index) const {
    assert(rank() >= 1 && index < shape_[0]);
    Shape rest(shape_.begin() + 1, shape_.end());
    const std::size_t stride = element_count(rest);
    return TensorView(data_ + index * stride, std::move(rest));
  }

 private:
  T* data_ = nullptr;
  Shape shape_{0};
  std::size_t size_ = 0;
};

// A contiguous row-major array that owns its elements (value-initialized to zero).
template <typename T>
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Shape shape) : shape_(std::move(shape)), data_(zeros_in_large_pages<T>(element_count(shape_))) {}
  Tensor(Shape shape, std::vector<T> data) : shape_(std::move(shape)), data_(std::move(data)) {
    assert(element_count(shape_) == data_.size());
  }

  const Shape& shape() const { return shape_; }
  std::size_t rank() const { return shape_.size(); }
  std::size_t extent(std::size_t dimension) const {
    assert(dimension < shape_.size());
    return shape_[dimension];
  }
  std::size_t size() const { return data_.size(); }
  bool empty() const { return data_.empty(); }
  T* data() { return data_.data(); }
  const T* data() const { return data_.data(); }
  std::span<T> span() { return data_; }
  std::span<const T> span() const { return data_; }

  TensorView<T> view() { return TensorView<T>(data_.data(), shape_); }
  TensorView<const T> view() const { return TensorView<const T>(data_.data(), shape_); }

  template <typename... Index>
  T& operator()(Index... index) {
    return data_[row_major_offset(shape_, index...)];
  }
  template <typename... Index>
  const T& operator()(Index... index) const {
    return data_[row_major_offset(shape_, index...)];
  }

  TensorView<T> operator[](std::size_t index) { return view()[index]; }
  TensorView<const T> operator[](std::size_t index) const { return view()[index]; }

  friend bool operator==(const Tensor& a, const Tensor& b) { return a.shape_ == b.shape_ && a.data_ == b.data_; }

 private:
  Shape shape_{0};
  std::vector<T> data_;
};

}  // namespace attnflow
