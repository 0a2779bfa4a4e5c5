#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/report/generation_table.h"
#include "attnflow/report/report_answer.h"
#include "attnflow/report/report_certificate.h"
#include "attnflow/report/report_check.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/report/report_referents.h"
#include "attnflow/report/report_table.h"
#include "attnflow/words/text_table.h"

namespace attnflow {
namespace {

using internal::Align;
using internal::markdown_escaped;
using internal::TextTable;

void append_ranking(std::string& out, const Report& report, std::vector<Method> methods, std::size_t output_token,
                    std::size_t layer) {
  const auto aggregates = [](Method method) { return method_info(method).aggregates(); };
  if (std::any_of(methods.begin(), methods.end(), aggregates) && carries_nothing(report, output_token, layer)) {
    out += markdown_escaped(carries_nothing_line(report, layer)) + "\n";
    std::erase_if(methods, aggregates);
    if (methods.empty()) return;
    out += "\n";
  }
  std::vector<std::vector<RankedToken>> columns;
  std::vector<RankedToken> all;
  std::size_t rows = 0;
  TextTable table{{{"rank"}}};
  for (const Method method : methods) {
    columns.push_back(rank_input_tokens(report, method, output_token, {layer}));
    all.insert(all.end(), columns.back().begin(), columns.back().end());
    rows = std::max(rows, columns.back().size());
    table.columns.insert(table.columns.end(),
                         {{"position"}, {method_title(report, method, layer), Align::kLeft}, {"value"}});
  }
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<std::string>& cells = table.rows.emplace_back(std::vector{std::to_string(row + 1)});
    for (const std::vector<RankedToken>& column : columns) {
      if (row >= column.size()) {
        cells.insert(cells.end(), 3, "");
        continue;
      }
      const RankedToken& token = column[row];
      const char* const mark = token.sink ? " ^" : token.special ? " *" : token.unknown ? " ?" : "";
      cells.push_back(std::to_string(token.token));
      cells.push_back(display_text(report.input, token.token) + mark);
      cells.push_back(
          fmt::format("{}{:.6g}{}", token.tied ? "= " : "", token.value, token.degenerate != 0 ? "\u00B0" : ""));
    }
  }
  out += internal::markdown_text(table);
  const std::string legend = marks_legend(all, "\\*", "row", "\u00B0");
  if (!legend.empty()) out += "\n" + legend + "\n";
}

void append_referents(std::string& out, const Report& report) {
  out += "\n## " + markdown_escaped(internal::referents_title(report, "\u2026")) + "\n\n";
  const std::string candidates = internal::candidate_shares_line(report);
  if (!candidates.empty()) out += markdown_escaped(candidates) + "\n\n";
  const internal::ReferentMarks marks{"\u2026", "\u00B0"};
  out += internal::markdown_text(internal::referent_table(report, marks)) + "\n" +
         internal::referents_legend(report, marks) + "\n";
}

// The answer, and the text that it is about.
std::string answer_lines(const Report& report, OptionNames option_names) {
  const std::vector<std::string> sentences = answer_sentences(report);
  std::string out = "# " + markdown_escaped(sentences.front()) + "\n";
  if (!report.input.text.empty()) out += "\n> " + internal::markdown_escaped_line(report.input.text) + "\n";
  if (!report.input.text_pair.empty()) out += ">\n> " + internal::markdown_escaped_line(report.input.text_pair) + "\n";
  const auto paragraph = [&out](const std::string& text) { out += "\n" + markdown_escaped(text) + "\n"; };
  std::for_each(sentences.begin() + 1, sentences.end(), paragraph);
  for (const Note& note : report.notes) {
    if (note.code == NoteCode::kNotTheAnswer) paragraph(note_text(note, option_names));
  }
  if (const std::optional<AnswerRow> attention = attention_row(report)) paragraph(top_tokens_line(report, *attention));
  return out;
}

void append_check(std::string& out, const Report& report) {
  const internal::CheckWords words = internal::check_words(report);
  if (words.rows.empty()) return;
  TextTable table{{{"map", Align::kLeft},
                   {"ranks first", Align::kLeft},
                   {"without it", Align::kLeft},
                   {"top token", Align::kLeft},
                   {"order", Align::kLeft}}};
  for (const internal::CheckRow& row : words.rows) {
    table.rows.push_back({row.map, row.token, row.change(), row.top, row.order});
  }
  out += "\n## " + markdown_escaped(words.summary) + "\n\n" + internal::markdown_text(table) + "\n" +
         markdown_escaped(words.key) + "\n";
}

}  // namespace

std::string markdown_table(const Report& report, OptionNames option_names) {
  if (report.generation) return internal::generation_markdown_table(report, option_names);
  std::string out = answer_lines(report, option_names);
  out += "\n" + markdown_escaped(model_line(report)) + "\n";
  if (const std::string picture = picture_line(report); !picture.empty())
    out += "\n" + markdown_escaped(picture) + "\n";
  out += "\n" + markdown_escaped(settings_line(report)) + "\n";
  for (const std::string& line : prediction_lines(report)) out += "\n" + markdown_escaped(line) + "\n";

  for (const std::string& line : score_lines(report)) out += "\n" + markdown_escaped(line) + "\n";

  const std::vector<Method> methods = ranked_methods(report);
  if (!methods.empty() && !report.settings.layers.empty()) {
    // Methods without layers appear only after the last layer.
    std::vector<Method> layered = methods;
    std::erase_if(layered, [](Method method) { return !method_info(method).aggregates(); });
    const std::vector<std::size_t> layers =
        table_layers(report, layered.empty() ? TableLayers::kLast : TableLayers::kChosen);
    std::vector<std::size_t> outputs = {report.output_token};
    if (report.all_output_tokens)
      outputs = methods == std::vector<Method>{Method::kFlow} ? report.flow_output_tokens : report.output_tokens;
    const std::size_t to = report.settings.start_layer;
    for (const std::size_t output : outputs) {
      for (const std::size_t layer : layers) {
        out += fmt::format(
            "\n## {}, layer {} to {}\n\n", markdown_escaped(output_token_title(report, output, "\u2026")),
            report.settings.layers[layer], to == 0 ? std::string("the input") : fmt::format("layer {}", to));
        append_ranking(out, report, layer == layers.back() ? methods : layered, output, layer);
      }
    }
  }
  append_check(out, report);
  if (!report.referents.empty()) append_referents(out, report);
  for (const ReportCertificate& certificate : report.certificates) {
    const CertificateText text = certificate_text(report, certificate, "\u2026");
    out += "\n## " + markdown_escaped(text.title) + "\n";
    for (const std::string& sentence : text.sentences) out += "\n" + markdown_escaped(sentence) + "\n";
    if (!text.arcs.empty()) out += "\n";
    for (const std::string& arc : text.arcs) out += "- " + markdown_escaped(arc) + "\n";
  }
  std::string notes;
  for (const Note& note : report.notes) {
    if (note.code != NoteCode::kNotTheAnswer) notes += "- " + markdown_escaped(note_text(note, option_names)) + "\n";
  }
  if (!notes.empty()) out += "\n" + notes;
  return out;
}

}  // namespace attnflow
