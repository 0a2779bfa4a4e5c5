#include "attnflow/analysis/methods/integrated_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "attnflow/base/format_error.h"

namespace attnflow {
namespace {

// Gradients computed at once: a batch for the threads, and little memory.
constexpr std::size_t kPointsAtOnce = 16;

template <typename Question, typename Input>
IntegratedGradients integrate(const Question& question, const Input& input) {
  check_integration_steps(question.steps);
  if (!question.blanked) {
    throw internal::usage_error(
        "--method integrated-gradients: expected a tokenizer with a blank token (unknown, mask or padding), where the "
        "path to the input starts, found none");
  }
  Gradients<Input>& gradients = gradients_of(question.model);
  BatchOptions options{.stop_token = question.stop_token};
  const std::vector<Input> ends = {input, question.blanked(question.content)};
  const std::vector<ScoreTarget> targets(kPointsAtOnce, question.target);
  const std::vector<InputGradient> known =
      gradients.input_gradients(ends, std::span(targets).first(ends.size()), options);
  const Tensor<float>& here = known[0].embedding;
  const Tensor<float>& there = known[1].embedding;
  if (here.shape() != there.shape()) {
    throw Error(ErrorKind::kOther, fmt::format("integrated gradients: expected embeddings of the same shape, found {} "
                                               "and {}",
                                               shape_to_string(here.shape()), shape_to_string(there.shape())));
  }
  const std::vector<std::pair<double, double>> points = gauss_legendre(question.steps);
  Tensor<double> mean(here.shape());
  const ProgressFunction progress = question.phases ? question.phases("integration steps") : ProgressFunction{};
  if (progress) progress(0, points.size());
  for (std::size_t begin = 0; begin < points.size(); begin += kPointsAtOnce) {
    const std::size_t count = std::min(kPointsAtOnce, points.size() - begin);
    std::vector<Tensor<float>> between;
    for (std::size_t p = 0; p < count; ++p) {
      Tensor<float>& point = between.emplace_back(here.shape());
      for (std::size_t i = 0; i < point.size(); ++i) {
        point.data()[i] = static_cast<float>(std::lerp(static_cast<double>(there.data()[i]),
                                                       static_cast<double>(here.data()[i]), points[begin + p].first));
      }
    }
    options.embeddings = between;
    const std::vector<Input> inputs(count, input);
    const std::vector<InputGradient> found =
        gradients.input_gradients(inputs, std::span(targets).first(count), options);
    for (std::size_t p = 0; p < count; ++p) {
      for (std::size_t i = 0; i < mean.size(); ++i) {
        mean.data()[i] += points[begin + p].second * static_cast<double>(found[p].gradient.data()[i]);
      }
    }
    if (progress) progress(begin + count, points.size());
  }
  const std::size_t n = here.extent(0);
  const std::size_t width = here.extent(1);
  std::vector<double> scores(n, 0.0);
  for (std::size_t i = 0; i < n * width; ++i) {
    scores[i / width] += (static_cast<double>(here.data()[i]) - static_cast<double>(there.data()[i])) * mean.data()[i];
  }
  return {sums_of_groups(scores, question.groups), known[0].value - known[1].value};
}

}  // namespace

void check_integration_steps(std::size_t steps) {
  if (steps >= 1 && steps <= kMaxIntegrationSteps) return;
  throw internal::usage_error("--integration-steps: expected 1 to {}, found {}", kMaxIntegrationSteps, steps);
}

IntegratedGradients integrated_gradients(const TextQuestion& question) { return integrate(question, question.input); }
IntegratedGradients integrated_gradients(const ImageQuestion& question) { return integrate(question, question.input); }

std::vector<std::pair<double, double>> gauss_legendre(std::size_t count) {
  std::vector<std::pair<double, double>> points(count);
  const auto degree = static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) {
    // From the largest root down; Tricomi's estimate is close enough for Newton's method.
    double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (degree + 0.5));
    double slope = 1.0;
    for (int step = 0; step < 100; ++step) {
      double value = x;  // P_k, from P_1 on
      double before = 1.0;
      for (std::size_t k = 2; k <= count; ++k) {
        const auto order = static_cast<double>(k);
        const double next = ((2.0 * order - 1.0) * x * value - (order - 1.0) * before) / order;
        before = value;
        value = next;
      }
      slope = degree * (x * value - before) / (x * x - 1.0);
      const double move = value / slope;
      x -= move;
      if (std::abs(move) < 1e-15) break;
    }
    points[count - 1 - i] = {0.5 * (1.0 + x), 1.0 / ((1.0 - x * x) * slope * slope)};
  }
  return points;
}

}  // namespace attnflow
