#include "attnflow/model/torch/weight_rows.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/base/parallel_for.h"
#include "attnflow/model/torch/split_work.h"
#include "attnflow/tensor/panel_products.h"

namespace attnflow::internal {

namespace {

constexpr std::int64_t kPanel = std::int64_t{1} << 18U;       // numbers: a megabyte
constexpr std::int64_t kFewRows = 64;                         // for more, a BLAS is faster
constexpr std::int64_t kMostSums = 16;                        // of g W
constexpr std::int64_t kSumNumbers = std::int64_t{1} << 24U;  // in all of them, at most

PanelShape shape_of(const at::Tensor& x, const at::Tensor& panel) {
  return {static_cast<std::size_t>(x.size(0)), static_cast<std::size_t>(panel.size(0)),
          static_cast<std::size_t>(panel.size(1))};
}

at::Tensor as_matrix(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}).contiguous(); }

at::Tensor in_the_shape_of(const at::Tensor& x, const at::Tensor& result) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = result.size(1);
  return result.view(shape);
}

class StreamedLinear : public torch::autograd::Function<StreamedLinear> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const c10::intrusive_ptr<WeightRows>& weight) {
    context->saved_data["weight"] = c10::IValue::make_capsule(weight);
    return in_the_shape_of(x, weight->times(as_matrix(x)));
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto capsule = context->saved_data["weight"].toCapsule();
    const auto& weight = static_cast<const WeightRows&>(*capsule);
    const at::Tensor& g = gradients.front();
    return {in_the_shape_of(g, weight.gradient(as_matrix(g))), at::Tensor()};
  }
};

}  // namespace

bool WeightRows::are(const TensorSource& source, const LinearWeights& weights) {
  return source.reads_panels() && weights.weight->reader != nullptr && weights.weight->reader->reads_rows() &&
         weights.layout == MatrixLayout::kOutIn && weights.groups == 1 && weights.weight->shape.size() == 2;
}

WeightRows::WeightRows(const TensorSource& source, const LinearWeights& weights, at::Tensor bias)
    : source_(source.fresh()),
      stored_(weights.weight),
      bias_(std::move(bias)),
      begin_(to_signed(weights.begin)),
      out_(to_signed(weights.out)),
      in_(to_signed(weights.weight->shape.back())) {}

at::Tensor WeightRows::whole() const {
  return source_.rows(*stored_, static_cast<std::size_t>(begin_), static_cast<std::size_t>(out_));
}

at::Tensor WeightRows::panel(std::int64_t first, std::int64_t rows) const {
  thread_local std::vector<float> numbers;
  const auto count = static_cast<std::size_t>(rows * in_);
  if (numbers.size() < count) numbers.resize(count);
  stored_->reader->read(static_cast<std::size_t>(begin_ + first), {numbers.data(), count});
  return at::from_blob(numbers.data(), {rows, in_}, at::TensorOptions(at::kFloat));
}

at::Tensor WeightRows::times(const at::Tensor& x) const {
  at::Tensor result = at::empty({x.size(0), out_}, x.options().requires_grad(false));
  const at::Tensor fixed = x.detach();
  std::optional<PanelColumns> few;
  if (x.size(0) <= kFewRows) {
    few.emplace(fixed.data_ptr<float>(), static_cast<std::size_t>(x.size(0)), static_cast<std::size_t>(in_));
  }
  const Blocks panels(out_, std::max<std::int64_t>(1, kPanel / in_));
  split_work(source_.threads(), panels.count(), [&](std::int64_t i) {
    const std::int64_t begin = panels.begin(i);
    const at::Tensor rows = panel(begin, panels.size(i));
    at::Tensor columns = result.narrow(1, begin, panels.size(i));
    if (few) {
      few->times(rows.data_ptr<float>(), static_cast<std::size_t>(rows.size(0)), columns.data_ptr<float>(),
                 static_cast<std::size_t>(out_));
    } else {
      at::mm_out(columns, fixed, rows.t());
    }
  });
  stored_->reader->release();
  return bias_.defined() ? result.add_(bias_) : result;
}

at::Tensor WeightRows::gradient(const at::Tensor& g) const {
  const Blocks panels(out_, std::max<std::int64_t>(1, kPanel / in_));
  const std::int64_t n = g.size(0);
  const std::int64_t sums = std::clamp<std::int64_t>(kSumNumbers / (n * in_), 1, std::min(kMostSums, panels.count()));
  const at::Tensor all = at::zeros({sums, n, in_}, g.options().requires_grad(false));
  const at::Tensor fixed = g.detach();
  const bool few = n <= kFewRows;
  split_work(source_.threads(), sums, [&](std::int64_t s) {
    at::Tensor sum = all.select(0, s);
    for (std::int64_t i = s * panels.count() / sums; i < (s + 1) * panels.count() / sums; ++i) {
      const at::Tensor rows = panel(panels.begin(i), panels.size(i));
      const at::Tensor columns = fixed.narrow(1, panels.begin(i), panels.size(i));
      if (few) {
        panel_add(columns.data_ptr<float>(), static_cast<std::size_t>(out_), rows.data_ptr<float>(),
                  shape_of(sum, rows), sum.data_ptr<float>());
      } else {
        sum.addmm_(columns, rows);
      }
    }
  });
  stored_->reader->release();
  return sums == 1 ? all[0] : all.sum(0);
}

at::Tensor streamed_linear(const c10::intrusive_ptr<WeightRows>& weight, const at::Tensor& x) {
  return StreamedLinear::apply(x, weight);
}

}  // namespace attnflow::internal
