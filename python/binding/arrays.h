// Arrays between Python and the library.
#ifndef ATTNFLOW_PYTHON_ARRAYS_H_
#define ATTNFLOW_PYTHON_ARRAYS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "attnflow/tensor/tensor.h"

namespace attnflow::python {

// Arrays of floats as Python keeps them: read through `views`, without the interpreter's lock, while this lives.
class GivenArrays {
 public:
  // A list of arrays on the CPU, in C's order, of float32 or of float64 (all the same). Throws a TypeError for others,
  // which the Python side of the package does not let through.
  explicit GivenArrays(const nanobind::list& arrays);

  // Their elements one behind the other, as an array of this shape. Throws Error(kBadFile) for arrays of several
  // shapes.
  std::variant<Tensor<float>, Tensor<double>> stacked() const;

  // What function(view) makes of the first of them, without a copy.
  auto of_first(const auto& function) const {
    return std::visit([&](const auto& views) { return function(views.front()); }, views_);
  }

  // function(layer, array) of each of them, from 1 on, copied one at a time as [1, ...]. Throws as stacked() does.
  void for_each(const auto& function) const {
    std::visit(
        [&]<typename T>(const std::vector<TensorView<const T>>& views) {
          require_one_shape(views);
          for (std::size_t l = 0; l < views.size(); ++l) {
            Shape shape = views[l].shape();
            shape.insert(shape.begin(), 1);
            const std::span<const T> elements = views[l].span();
            function(l + 1, std::variant<Tensor<float>, Tensor<double>>(
                                Tensor<T>(std::move(shape), {elements.begin(), elements.end()})));
          }
        },
        views_);
  }

  bool empty() const { return owners_.empty(); }
  std::size_t size() const { return owners_.size(); }

 private:
  static void require_one_shape(const std::vector<TensorView<const float>>& views);
  static void require_one_shape(const std::vector<TensorView<const double>>& views);

  std::vector<nanobind::object> owners_;
  std::variant<std::vector<TensorView<const float>>, std::vector<TensorView<const double>>> views_;
};

// The elements as a NumPy array that cannot be written to, without a copy; `owner` keeps them alive.
template <typename T>
nanobind::object as_numpy(const T* data, const Shape& shape, nanobind::handle owner) {
  using Array = nanobind::ndarray<nanobind::numpy, const T>;
  return nanobind::cast(Array(data, shape.size(), shape.data(), owner), nanobind::rv_policy::reference);
}

// None for an array that is not there.
template <typename T>
nanobind::object as_numpy(const Tensor<T>& tensor, nanobind::handle owner) {
  return tensor.empty() ? nanobind::none() : as_numpy(tensor.data(), tensor.shape(), owner);
}

// Positions and layers as int64: indexing with unsigned numbers makes floats of sums.
inline nanobind::object as_numpy(const std::vector<std::size_t>& values, nanobind::handle owner) {
  static_assert(sizeof(std::size_t) == sizeof(std::int64_t));
  return as_numpy(reinterpret_cast<const std::int64_t*>(values.data()), {values.size()}, owner);
}

}  // namespace attnflow::python

#endif  // ATTNFLOW_PYTHON_ARRAYS_H_
