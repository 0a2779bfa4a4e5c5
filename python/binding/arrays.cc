#include "python/binding/arrays.h"

#include <fmt/format.h>

#include <utility>

#include "attnflow/base/error.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;

template <typename T>
bool add_view(nb::handle object, std::vector<TensorView<const T>>& views) {
  GivenArray<T> array;
  if (!nb::try_cast(object, array, false)) return false;
  views.push_back(view_of<T>(array));
  return true;
}

template <typename T>
Tensor<T> stack_of(const std::vector<TensorView<const T>>& views, std::size_t begin, std::size_t count) {
  Shape shape = views.front().shape();
  for (std::size_t l = 1; l < views.size(); ++l) {
    if (views[l].shape() == shape) continue;
    throw Error(ErrorKind::kBadFile,
                fmt::format("attention: expected layers of one shape [head, query, key], found {} in layer 1 and {} in "
                            "layer {}",
                            shape_to_string(shape), shape_to_string(views[l].shape()), l + 1));
  }
  shape.insert(shape.begin(), count);
  std::vector<T> elements;
  elements.reserve(element_count(shape));
  for (std::size_t l = begin; l < begin + count; ++l) {
    elements.insert(elements.end(), views[l].span().begin(), views[l].span().end());
  }
  return Tensor<T>(std::move(shape), std::move(elements));
}

}  // namespace

GivenArrays::GivenArrays(const nb::list& arrays) {
  std::vector<TensorView<const float>> narrow;
  std::vector<TensorView<const double>> wide;
  for (const nb::handle array : arrays) {
    if (!add_view(array, narrow) && !add_view(array, wide)) {
      throw nb::type_error("expected arrays of float32 or float64, in C's order, on the CPU");
    }
    owners_.push_back(nb::borrow(array));
  }
  if (!narrow.empty() && !wide.empty()) throw nb::type_error("expected arrays of one type, found float32 and float64");
  if (wide.empty()) {
    views_ = std::move(narrow);
  } else {
    views_ = std::move(wide);
  }
}

std::variant<Tensor<float>, Tensor<double>> GivenArrays::stacked(std::size_t first, std::size_t count) const {
  using Stack = std::variant<Tensor<float>, Tensor<double>>;
  return std::visit([&](const auto& views) -> Stack { return stack_of(views, first, count); }, views_);
}

}  // namespace attnflow::python
