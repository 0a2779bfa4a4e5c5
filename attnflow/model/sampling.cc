#include "attnflow/model/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnflow/model/fail.h"

namespace attnflow {
namespace {

// A logit of -inf is allowed: a model may rule a token out.
std::size_t largest_logit(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) {
      throw Error(
          ErrorKind::kBadFile,
          "expected logits that are numbers, found NaN; the model's weights are damaged or overflow in float32");
    }
    if (logits[i] > logits[best]) best = i;
  }
  if (logits.empty() || !std::isfinite(logits[best])) {
    throw Error(ErrorKind::kBadFile,
                "expected a finite logit, found none; the model's weights are damaged or overflow in float32");
  }
  return best;
}

// exp((z - largest z) / T) for every token.
std::vector<double> weights_of(std::span<const float> logits, double temperature) {
  const double top = static_cast<double>(logits[largest_logit(logits)]);
  std::vector<double> weights(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    weights[i] = std::exp((static_cast<double>(logits[i]) - top) / temperature);
  }
  return weights;
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options) : options_(options), random_(stream_seed(options.seed, "sampling")) {
  if (!(options.temperature >= 0.0 && std::isfinite(options.temperature))) {
    internal::fail(ErrorKind::kUsage, "--temperature: expected a number of at least 0, found {}", options.temperature);
  }
  if (!(options.top_p > 0.0 && options.top_p <= 1.0)) {
    internal::fail(ErrorKind::kUsage, "--top-p: expected a probability above 0 and at most 1, found {}", options.top_p);
  }
}

std::size_t Sampler::choose(std::span<const float> logits) {
  if (options_.temperature == 0.0) return largest_logit(logits);
  const std::vector<double> weights = weights_of(logits, options_.temperature);
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto before = [&](std::size_t a, std::size_t b) {
    return weights[a] != weights[b] ? weights[a] > weights[b] : a < b;
  };
  std::sort(order.begin(), order.end(), before);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double nucleus = 0.0;
  std::size_t count = 0;
  while (count < order.size() && (count == 0 || nucleus < options_.top_p * total)) nucleus += weights[order[count++]];
  const double drawn = random_.uniform() * nucleus;
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += weights[order[i]];
    if (drawn < sum) return order[i];
  }
  return order[count - 1];
}

double token_probability(std::span<const float> logits, std::size_t id) {
  const std::vector<double> weights = weights_of(logits, 1.0);
  return weights[id] / std::accumulate(weights.begin(), weights.end(), 0.0);
}

std::vector<TokenProbability> most_probable(std::span<const float> logits, std::size_t count) {
  const std::vector<double> weights = weights_of(logits, 1.0);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t wanted = std::min(count, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end(),
      [&](std::size_t a, std::size_t b) { return weights[a] != weights[b] ? weights[a] > weights[b] : a < b; });
  std::vector<TokenProbability> best;
  for (std::size_t i = 0; i < wanted; ++i) best.push_back({order[i], weights[order[i]] / total});
  return best;
}

}  // namespace attnflow
