#include "python/binding/arrays.h"

#include <fmt/format.h>

#include <utility>

#include "attnflow/base/error.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;

template <typename T>
using Given = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

template <typename T>
TensorView<const T> view_of(const Given<T>& array) {
  Shape shape(array.ndim());
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = array.shape(d);
  return TensorView<const T>(array.data(), std::move(shape));
}

template <typename T>
bool add_view(nb::handle object, std::vector<TensorView<const T>>& views) {
  Given<T> array;
  if (!nb::try_cast(object, array, false)) return false;
  views.push_back(view_of(array));
  return true;
}

template <typename T>
void check_shapes(const std::vector<TensorView<const T>>& views) {
  const Shape& first = views.front().shape();
  for (std::size_t l = 1; l < views.size(); ++l) {
    if (views[l].shape() == first) continue;
    throw Error(ErrorKind::kBadFile,
                fmt::format("attention: expected layers of one shape [head, query, key], found {} in layer 1 and {} in "
                            "layer {}",
                            shape_to_string(first), shape_to_string(views[l].shape()), l + 1));
  }
}

template <typename T>
Tensor<T> stack_of(const std::vector<TensorView<const T>>& views) {
  check_shapes(views);
  Shape shape = views.front().shape();
  shape.insert(shape.begin(), views.size());
  std::vector<T> elements;
  elements.reserve(element_count(shape));
  for (const auto& view : views) elements.insert(elements.end(), view.span().begin(), view.span().end());
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

void GivenArrays::require_one_shape(const std::vector<TensorView<const float>>& views) { check_shapes(views); }
void GivenArrays::require_one_shape(const std::vector<TensorView<const double>>& views) { check_shapes(views); }

std::variant<Tensor<float>, Tensor<double>> GivenArrays::stacked() const {
  return std::visit([](const auto& views) -> std::variant<Tensor<float>, Tensor<double>> { return stack_of(views); },
                    views_);
}

}  // namespace attnflow::python
