#include <fmt/format.h>

#include "attnflow/attribution/note.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/report/generation_output.h"
#include "attnflow/report/note_json.h"
#include "attnflow/report/report_json_parts.h"

namespace attnflow {
namespace {

using internal::ArrayWriter;
using internal::choices_json;
using internal::Json;
using internal::valid_utf8;

Json generated_token_json(const GeneratedToken& token) {
  return {{"id", token.id},
          {"text", valid_utf8(token.text)},
          {"begin", token.begin},
          {"end", token.end},
          {"special", token.special},
          {"probability", token.probability},
          {"choices", choices_json(token.choices)}};
}

void write_values(ArrayWriter& arrays, const std::string& name, const GenerationValues& values) {
  arrays.write(name, values.prompt);
  arrays.write(name + "_generated", values.generated);
  arrays.write(name + "_normalized", values.normalized);
}

}  // namespace

std::string internal::generation_head(const GenerationReport& report, const std::vector<Note>& more_notes) {
  std::string out = "{";
  const auto field = [&](std::string_view name, const Json& value) { internal::append_field(out, name, value); };
  field("format", "attnflow-report");
  field("version", kReportVersion);
  field("settings", internal::settings_json(report.settings));
  field("model", internal::model_json(report.model));
  Json prompt = Json::array();
  for (const InputToken& token : report.prompt_tokens) prompt.push_back(internal::token_json(token));
  field("input", {{"kind", "generation"}, {"text", valid_utf8(report.prompt)}, {"tokens", std::move(prompt)}});
  Json tokens = Json::array();
  for (const GeneratedToken& token : report.tokens) tokens.push_back(generated_token_json(token));
  Json dropped = Json::array();
  for (const DroppedTokens& rule : report.dropped) {
    dropped.push_back({{"rule", valid_utf8(rule.rule)}, {"tokens", rule.tokens}});
  }
  field("generation", {{"text", valid_utf8(report.text)},
                       {"stopped", report.stopped},
                       {"chat", report.chat},
                       {"temperature", report.sampling.temperature},
                       {"top_p", report.sampling.top_p},
                       {"seed", report.sampling.seed},
                       {"tokens", std::move(tokens)},
                       {"flow_tokens", report.flow_tokens},
                       {"flow_layers", report.flow_layers},
                       {"dropped", std::move(dropped)}});
  std::vector<Note> notes = report.notes;
  notes.insert(notes.end(), more_notes.begin(), more_notes.end());
  field("notes", internal::notes_json(notes));
  return out;
}

std::string generation_to_json(const GenerationReport& report, const ReportJsonOptions& options) {
  std::string out = internal::generation_head(report);
  out += ",\n\"arrays\": {";
  ArrayWriter arrays(out, options);
  write_values(arrays, "raw", report.raw);
  write_values(arrays, "rollout", report.rollout);
  write_values(arrays, "flow", report.flow);
  arrays.write("flow_gap", report.flow_gap);
  arrays.write("flow_degenerate", report.flow_degenerate);
  arrays.write("sink_share", report.sink_share);
  out += "}\n}\n";
  return out;
}

void write_generation_json(const std::filesystem::path& path, const GenerationReport& report) {
  write_file(path, generation_to_json(report));
}

}  // namespace attnflow
