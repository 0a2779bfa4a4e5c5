#include "attnflow/analysis/explain/gradient_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "attnflow/analysis/evaluate/evaluate_samples.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/error.h"

namespace attnflow {
namespace {

// The index of the largest logit, or the one asked for, and its value.
ReportTarget target_of(std::span<const float> logits, std::optional<std::size_t> asked) {
  if (logits.empty() || (asked && *asked >= logits.size())) {
    throw Error(ErrorKind::kUsage, fmt::format("target: expected one of {} logits, found {}", logits.size(),
                                               asked ? std::to_string(*asked) : "none"));
  }
  // A comparison with NaN would pass over it.
  if (!std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); })) {
    throw Error(
        ErrorKind::kBadFile,
        "expected finite logits, found a non-finite one; the model's weights are damaged or overflow in float32");
  }
  ReportTarget target;
  target.index =
      asked ? *asked : static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  target.logit = static_cast<double>(logits[target.index]);
  return target;
}

}  // namespace

void check_gradient_head(const ModelInfo& info) {
  if (info.head == ModelHead::kClassification || info.head == ModelHead::kCausalLm) return;
  throw Error(
      ErrorKind::kUnsupportedModel,
      fmt::format(
          "--mixing gradient: expected a classifier or a decoder, whose score for a class or for the next token "
          "has a gradient, found {}, which {}; choose such a model, or --mixing attention",
          info.name,
          info.head == ModelHead::kMaskedLm ? "is a masked language model" : "has no head that scores anything"));
}

std::optional<std::size_t> asked_class(const std::string& asked, const ModelInfo& info) {
  if (asked == "auto") return std::nullopt;
  if (const auto label = find_label(asked, info)) return label;
  constexpr std::size_t kMaxNamed = 10;  // a model of pictures may have a thousand
  std::vector<std::string> names(
      info.labels.begin(), info.labels.begin() + static_cast<std::ptrdiff_t>(std::min(kMaxNamed, info.labels.size())));
  if (info.labels.size() > kMaxNamed) names.emplace_back("...");
  throw Error(ErrorKind::kUsage,
              fmt::format("--target: expected auto, a class of {} ({}) or a number from 0 to {}, found '{}'", info.name,
                          fmt::join(names, ", "), info.labels.size() - 1, asked));
}

std::optional<std::size_t> asked_token(const std::string& asked, const TextCodec& codec, std::size_t vocabulary) {
  if (asked == "auto") return std::nullopt;
  constexpr std::string_view kId = "id:";
  if (asked.starts_with(kId)) {
    std::size_t id = 0;
    const char* const last = asked.data() + asked.size();
    const auto [end, error] = std::from_chars(asked.data() + kId.size(), last, id);
    if (error != std::errc{} || end != last || id >= vocabulary) {
      throw Error(ErrorKind::kUsage, fmt::format("--target: expected the id of a token from id:0 to id:{}, found '{}'",
                                                 vocabulary - 1, asked));
    }
    return id;
  }
  const std::vector<std::int64_t> pieces = codec.word_to_ids(asked);
  if (pieces.size() != 1 || pieces.front() < 0 || static_cast<std::size_t>(pieces.front()) >= vocabulary) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--target: expected auto, a word that is one token, or id:N, found '{}', which is {}", asked,
                    pieces.empty()       ? std::string("none")
                    : pieces.size() == 1 ? std::string("none of the model's")
                                         : fmt::format("{} tokens", pieces.size())));
  }
  return static_cast<std::size_t>(pieces.front());
}

ReportTarget class_target(const ModelInfo& info, std::span<const float> logits, std::optional<std::size_t> asked) {
  ReportTarget target = target_of(logits, asked);
  target.kind = "class";
  target.label = target.index < info.labels.size() ? info.labels[target.index] : std::to_string(target.index);
  return target;
}

ReportTarget token_target(const TextCodec& codec, std::span<const float> logits, std::optional<std::size_t> asked) {
  ReportTarget target = target_of(logits, asked);
  target.kind = "next";
  target.label = codec.readable(static_cast<std::int64_t>(target.index));
  return target;
}

}  // namespace attnflow
