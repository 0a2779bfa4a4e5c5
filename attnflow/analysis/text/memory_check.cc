#include "attnflow/analysis/text/memory_check.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>

#include "attnflow/base/available_memory.h"
#include "attnflow/base/checked_size.h"
#include "attnflow/base/error.h"
#include "attnflow/graph/layers.h"

namespace attnflow {

void require_memory(std::size_t bytes, const std::string& what, const std::string& remedy, std::size_t most) {
  constexpr double kMiB = 1024.0 * 1024.0;
  const auto mebibytes = [](std::size_t size) { return static_cast<double>(size) / kMiB; };
  if (most > 0 && bytes > most) {
    throw NotEnoughMemory(fmt::format("expected room for {}, {:.0f} MiB, found a limit of {:.0f} MiB. {}", what,
                                      mebibytes(bytes), mebibytes(most), remedy));
  }
  const std::optional<std::size_t> available = available_memory();
  if (!available || bytes <= *available) return;
  throw NotEnoughMemory(fmt::format("expected room for {}, {:.0f} MiB, found {:.0f} MiB of free memory. {}", what,
                                    mebibytes(bytes), mebibytes(*available), remedy));
}

std::size_t report_bytes(const Report& report, const ExplainOptions& options, std::size_t n) {
  const Settings& settings = report.settings;
  const std::size_t layers = report.model.layers;
  const std::size_t asked = resolve_layers(settings.layers, settings.start_layer, layers).size();
  const bool one_head = settings.heads.is_single();
  // The weights (twice with one head), with the residual while they are multiplied, and as the report draws them.
  std::size_t matrices = (one_head ? 4 : 3) * layers;
  for (const Method method : {Method::kRaw, Method::kRollout}) matrices += settings.wants(method) ? asked : 0;
  // Values of every output token, their gaps, and their flags; flow/flow_memory.h checks the solver's memory.
  if (settings.wants(Method::kFlow) && settings.output_token.kind == OutputToken::Kind::kAll)
    matrices += 2 * asked + (asked + 7) / 8;
  if (settings.normalization == Normalization::kReceptiveField)
    matrices += 2 * layers + asked;                                     // uniform attention, one baseline
  if (options.keep_attention) matrices += layers * report.model.heads;  // twice, in float32
  // One layer's attention, its gradient, and intermediate results of the backward pass, in float32.
  if (settings.has_target()) matrices += 2 * report.model.heads;
  const std::array<std::size_t, 4> extents = {matrices, n, n, sizeof(double)};
  return checked_product(extents).value_or(std::numeric_limits<std::size_t>::max());
}

}  // namespace attnflow
