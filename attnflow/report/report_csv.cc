#include "attnflow/report/report_csv.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/files/atomic_file.h"
#include "attnflow/report/csv_field.h"

namespace attnflow {
namespace {

constexpr std::size_t kFlushBytes = 1 << 16;

}  // namespace

void report_to_csv(const Report& report, const std::function<void(std::string_view)>& sink) {
  const bool has_raw = !report.raw.empty();
  const bool has_rollout = !report.rollout.empty();
  const bool has_flow = !report.flow.empty();
  std::vector<std::string> texts;
  for (std::size_t token = 0; token < report.input.tokens.size(); ++token)
    texts.push_back(internal::csv_field(display_text(report.input, token)));

  std::string buffer = "layer,output_token,output_text,input_token,input_text,input_special";
  if (has_raw) buffer += ",raw";
  if (has_rollout) buffer += ",rollout";
  if (has_flow) buffer += ",flow,flow_gap,flow_degenerate";
  buffer += "\n";
  const auto out = std::back_inserter(buffer);

  const std::vector<std::size_t> one = {report.output_token};
  // Without raw and rollout the rows are those of flow.
  const std::vector<std::size_t>& all = has_raw || has_rollout ? report.output_tokens : report.flow_output_tokens;
  const std::vector<std::size_t>& rows = report.all_output_tokens ? all : one;
  for (std::size_t layer = 0; layer < report.settings.layers.size(); ++layer) {
    for (const std::size_t output : rows) {
      const auto row = row_index(report.output_tokens, output);
      const auto flow_row = row_index(report.flow_output_tokens, output);
      for (std::size_t input = 0; input < texts.size(); ++input) {
        fmt::format_to(out, "{},{},{},{},{},{}", report.settings.layers[layer], output, texts[output], input,
                       texts[input], report.input.tokens[input].special ? 1 : 0);
        const auto number = [&](const Tensor<double>& values, std::optional<std::size_t> at) {
          buffer += ',';
          if (at) fmt::format_to(out, "{}", values(layer, *at, input));
        };
        if (has_raw) number(report.raw, row);
        if (has_rollout) number(report.rollout, row);
        if (has_flow) {
          number(report.flow, flow_row);
          number(report.flow_gap, flow_row);
          buffer += ',';
          if (flow_row) fmt::format_to(out, "{}", report.flow_degenerate(layer, *flow_row, input));
        }
        buffer += '\n';
      }
      if (buffer.size() >= kFlushBytes) {
        sink(buffer);
        buffer.clear();
      }
    }
  }
  if (!buffer.empty()) sink(buffer);
}

void write_report_csv(const std::filesystem::path& path, const Report& report) {
  AtomicFile file(path);
  report_to_csv(report, [&](std::string_view text) { file.write(text); });
  file.commit();
}

}  // namespace attnflow
