// Arrays between Python and the library.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "attnflow/tensor/tensor.h"

namespace attnflow::python {

// An array on the CPU, in C's order.
template <typename T>
using GivenArray = nanobind::ndarray<const T, nanobind::c_contig, nanobind::device::cpu>;
using Floats = GivenArray<float>;
using Logits = nanobind::ndarray<const float, nanobind::ndim<1>, nanobind::c_contig>;
// Arrays of attention or contributions, float32 or float64.
using ArrayList = nanobind::typed<nanobind::list, nanobind::any>;
using OptionDict = nanobind::typed<nanobind::dict, nanobind::str, nanobind::object>;

template <typename T>
TensorView<const T> view_of(const GivenArray<T>& array) {
  Shape shape(array.ndim());
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = array.shape(d);
  return {array.data(), std::move(shape)};
}

// Arrays of floats owned by Python: read through `views`, without the interpreter's lock, while this lives.
class GivenArrays {
 public:
  // All float32 or all float64, on the CPU, in C's order: the package's Python code prevents the TypeError.
  explicit GivenArrays(const nanobind::list& arrays);

  // Their elements concatenated, as an array of this shape. Throws Error(kBadFile) for arrays of different shapes.
  std::variant<Tensor<float>, Tensor<double>> stacked() const { return stacked(0, size()); }

  // One layer, counted from 1: [1, ...]. Throws as stacked() does.
  std::variant<Tensor<float>, Tensor<double>> layer(std::size_t number) const { return stacked(number - 1, 1); }

  // The result of function(view) for the first of them, without a copy.
  auto of_first(const auto& function) const {
    return std::visit([&](const auto& views) { return function(views.front()); }, views_);
  }

  bool empty() const { return owners_.empty(); }
  std::size_t size() const { return owners_.size(); }

 private:
  std::variant<Tensor<float>, Tensor<double>> stacked(std::size_t first, std::size_t count) const;

  std::vector<nanobind::object> owners_;
  std::variant<std::vector<TensorView<const float>>, std::vector<TensorView<const double>>> views_;
};

template <typename T>
using NumPyArray = nanobind::ndarray<nanobind::numpy, T>;

// A read-only NumPy array without a copy, for a property: the array keeps the property's object alive.
template <typename T>
NumPyArray<const T> as_numpy(const Tensor<T>& tensor) {
  return {tensor.data(), tensor.rank(), tensor.shape().data()};
}

// Positions and layers as int64: indexing with unsigned numbers makes floats of sums.
inline NumPyArray<const std::int64_t> as_numpy(const std::vector<std::size_t>& values) {
  static_assert(sizeof(std::size_t) == sizeof(std::int64_t));
  return {reinterpret_cast<const std::int64_t*>(values.data()), {values.size()}};
}

// The NumPy array becomes the tensor's only owner; with a constant T it is read-only.
template <typename T>
NumPyArray<T> given_to_numpy(Tensor<std::remove_const_t<T>> tensor) {
  using Owned = Tensor<std::remove_const_t<T>>;
  auto* const owned = new Owned(std::move(tensor));
  const nanobind::capsule owner(owned, [](void* kept) noexcept { delete static_cast<Owned*>(kept); });
  return {owned->data(), owned->rank(), owned->shape().data(), owner};
}

}  // namespace attnflow::python
