#include "attnflow/report/report_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/report/generation_table.h"
#include "attnflow/report/painted_text.h"
#include "attnflow/report/report_answer.h"
#include "attnflow/report/report_certificate.h"
#include "attnflow/report/report_check.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/report/report_referents.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/lists.h"
#include "attnflow/words/wrap.h"

namespace attnflow {
namespace {

constexpr std::size_t kMinWidth = 40;
constexpr std::size_t kGap = 2;
constexpr std::size_t kMinToken = 6;
constexpr std::size_t kMaxToken = 24;
constexpr std::size_t kMinBar = 4;
constexpr std::size_t kMaxBar = 20;

struct Marks {
  std::string_view ellipsis;
  std::string_view degenerate;
  std::array<std::string_view, 8> parts;  // eighths of a bar's cell, from 1/8 to the full cell; "" is not drawn
};
constexpr Marks kUnicode = {
    "\u2026", "\u00B0", {"\u258F", "\u258E", "\u258D", "\u258C", "\u258B", "\u258A", "\u2589", "\u2588"}};
constexpr Marks kAscii = {"...", "d", {"", "", "", "", "#", "#", "#", "#"}};

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kBlue = "\x1b[34m";
constexpr std::string_view kYellow = "\x1b[33m";  // against the prediction; distinct from blue for every eye
constexpr std::string_view kReset = "\x1b[0m";

class TableWriter {
 public:
  TableWriter(const Report& report, const TableOptions& options)
      : report_(report),
        width_(std::max(options.width, kMinWidth)),
        color_(options.color),
        true_color_(options.true_color),
        option_names_(options.option_names),
        marks_(options.ascii ? kAscii : kUnicode) {}

  std::string write() {
    answer();
    section();
    paragraph(model_line(report_));
    if (const std::string picture = picture_line(report_); !picture.empty()) paragraph(picture);
    const std::vector<Method> methods = ranked_methods(report_);
    if (!methods.empty() && !report_.settings.layers.empty()) {
      choose_layers();
      const std::size_t to = report_.settings.start_layer;
      const std::string span =
          fmt::format("{}, from {} down to {}. ", output_token_title(report_, report_.output_token, marks_.ellipsis),
                      layers_words(), to == 0 ? std::string("the input") : fmt::format("layer {}", to));
      paragraph((report_.settings.wants_aggregation() ? span : std::string()) + settings_line(report_));
    }
    for (const std::string& line : prediction_lines(report_)) paragraph(line);
    for (const std::string& line : score_lines(report_)) paragraph(line);
    if (!methods.empty() && !report_.settings.layers.empty()) rankings(methods);
    check(internal::check_words(report_));
    if (!report_.referents.empty()) referents();
    for (const ReportCertificate& certificate : report_.certificates) certify(certificate);
    notes();
    return std::move(out_);
  }

 private:
  struct Layout {
    std::size_t position = 1;
    std::size_t token = kMinToken;
    std::size_t value = 6;
    std::size_t bar = kMinBar;
    // Position, space, token, mark of a special or unknown token, tie mark, value, degenerate mark, space, bar.
    std::size_t total() const { return position + 1 + token + 1 + 1 + value + 1 + 1 + bar; }
  };

  struct Column {
    std::string title;
    std::vector<RankedToken> tokens;
    std::vector<std::string> values;
  };

  std::string styled(std::string_view text, std::string_view style) const {
    if (!color_ || text.empty()) return std::string(text);
    return std::string(style) + std::string(text) + std::string(kReset);
  }

  // Indents continuation lines.
  void paragraph(std::string_view text, std::string_view style = {}) {
    for (const std::string& line :
         internal::wrapped_lines(said(std::string(text)), width_, {.ellipsis = marks_.ellipsis})) {
      out_ += style.empty() ? line : styled(line, style);
      out_ += '\n';
    }
  }

  // A blank line, unless there is one already.
  void section() {
    if (!out_.ends_with("\n\n")) out_ += '\n';
  }

  // A sentence with the marks of this terminal.
  std::string said(std::string text) const {
    return marks_.ellipsis == kAscii.ellipsis ? internal::with_ascii_marks(std::move(text)) : text;
  }

  void answer() {
    const ReportAnswer answer = report_answer(report_);
    paragraph(answer.headline, kBold);
    section();
    if (answer.method) map_and_drops(answer_row(report_, *answer.method));
    for (const AnswerVerdict& verdict : answer.verdicts) paragraph(verdict.text);
    for (const Note& note : report_.notes) {
      if (note.code == NoteCode::kNotTheAnswer) paragraph(clean_line(note_text(note, option_names_)));
    }
    if (const std::optional<AnswerRow> attention = attention_row(report_)) {
      section();
      map_and_drops(*attention, /*with_drops=*/false);
    }
  }

  // In color if the text fits, and then with each drop below its token.
  void map_and_drops(const AnswerRow& row, bool with_drops = true) {
    if (row.values.empty()) return;
    const ReportCheck* const check = with_drops ? answer_check(report_) : nullptr;
    const internal::PaintOptions paint{.width = width_, .true_color = true_color_, .ellipsis = marks_.ellipsis};
    const bool has_shades = color_ && !holds_nearly_all(row);
    const auto painted = has_shades ? internal::painted_text(report_, row, check, paint) : std::nullopt;
    if (!painted) {
      paragraph(top_tokens_line(report_, row));
      if (check != nullptr) paragraph(internal::drops_line(report_, *check));
      return;
    }
    std::string drops = check != nullptr ? "; below it, " + internal::drops_title(report_, *check) : "";
    if (check != nullptr && check->has_rises()) drops += " (below 0: it rises)";
    paragraph(row.title + sink_words(report_, row) + drops + ":", kDim);
    for (const std::string& line : *painted) out_ += line + "\n";
  }

  void notes() {
    bool is_first = true;
    for (const Note& note : report_.notes) {
      if (note.code == NoteCode::kNotTheAnswer) continue;
      if (std::exchange(is_first, false)) out_ += '\n';
      paragraph("Note: " + clean_line(note_text(note, option_names_)));
    }
  }

  // "falls 2.93"
  static std::string change_of(const internal::CheckRow& row) {
    return row.size.empty() ? row.verb : row.verb + " " + row.size;
  }

  void check(const internal::CheckWords& words) {
    if (words.rows.empty()) return;
    std::vector<internal::CheckRow> rows = words.rows;
    for (internal::CheckRow& row : rows) {
      row.top = said(row.top);
      row.order = said(row.order);
    }
    out_ += '\n';
    paragraph(words.summary);
    constexpr std::string_view kFirst = "ranks first";
    constexpr std::string_view kWithout = "without it";
    std::size_t map = 0;
    std::size_t token = kFirst.size();
    std::size_t top = 0;
    std::size_t order = 0;
    std::size_t without = kWithout.size();
    for (const internal::CheckRow& row : rows) {
      without = std::max(without, change_of(row).size());
      map = std::max(map, row.map.size());
      token = std::max(token, std::min(display_width(row.token), kMaxToken));
      top = std::max(top, display_width(row.top));
      order = std::max(order, display_width(row.order));
    }
    top = std::max(top, std::string_view("top token").size());
    // In short lines the tokens shrink first; sentences finally replace the table.
    const std::size_t others = map + without + top + order + 4 * kGap;
    if (others + kFirst.size() > width_) {
      for (const internal::CheckRow& row : rows) paragraph("- " + internal::sentence_of(row));
      return;
    }
    token = std::min(token, width_ - others);
    const auto line = [&](const internal::CheckRow& row) {
      return internal::without_trailing_spaces(
          fmt::format("{:<{}}  {}  {:<{}}  {}  {}", row.map, map, fit_to_cells(row.token, token, marks_.ellipsis),
                      change_of(row), without, fit_to_cells(row.top, top, marks_.ellipsis), row.order));
    };
    out_ += styled(line({"", std::string(kFirst), "", std::string(kWithout), "", "top token", "order"}), kBold) + "\n";
    for (const internal::CheckRow& row : rows) out_ += line(row) + "\n";
    paragraph(words.key, kDim);
  }

  void referents() {
    out_ += '\n';
    paragraph(internal::referents_title(report_, marks_.ellipsis), kBold);
    const std::string candidates = internal::candidate_shares_line(report_);
    if (!candidates.empty()) paragraph(candidates);
    const internal::ReferentMarks marks{marks_.ellipsis, marks_.degenerate, /*isolates=*/true};
    out_ += terminal_text(internal::referent_table(report_, marks), width_);
    paragraph(internal::referents_legend(report_, marks), kDim);
  }

  void certify(const ReportCertificate& certificate) {
    const CertificateText text = certificate_text(report_, certificate, marks_.ellipsis);
    out_ += '\n';
    paragraph(text.title, kBold);
    for (const std::string& sentence : text.sentences) paragraph(sentence);
    for (const std::string& arc : text.arcs) paragraph("- " + arc);
  }

  void choose_layers() {
    layers_ = table_layers(report_, report_.settings.wants_aggregation() ? TableLayers::kChosen : TableLayers::kLast);
    left_out_ = layers_.size() - std::min(layers_.size(), kMostTableLayers);
    layers_.erase(layers_.begin(), layers_.begin() + static_cast<std::ptrdiff_t>(left_out_));
  }

  std::string layers_words() const {
    const std::vector<std::size_t>& numbers = report_.settings.layers;
    if (layers_.size() == 1) return fmt::format("layer {}", numbers[layers_.front()]);
    std::vector<std::string> words;
    for (const std::size_t layer : layers_) words.push_back(std::to_string(numbers[layer]));
    return "each of the layers " + internal::listed(std::move(words));
  }

  // Methods without layers stand beside the last layer.
  std::vector<Column> columns_at(const std::vector<Method>& methods, std::size_t layer) const {
    std::vector<Column> columns;
    for (const Method method : methods) {
      const bool aggregates = method_info(method).aggregates();
      if (aggregates ? carries_nothing(report_, report_.output_token, layer) : layer != layers_.back()) continue;
      Column column;
      column.title = method_title(report_, method, layer);
      column.tokens = rank_input_tokens(report_, method, report_.output_token, {layer});
      column.values = format_values(column.tokens);
      columns.push_back(std::move(column));
    }
    return columns;
  }

  void rankings(const std::vector<Method>& methods) {
    std::vector<std::vector<Column>> blocks;
    std::vector<Column> all;
    std::size_t most = 1;
    for (const std::size_t layer : layers_) {
      blocks.push_back(columns_at(methods, layer));
      all.insert(all.end(), blocks.back().begin(), blocks.back().end());
      most = std::max(most, blocks.back().size());
    }

    Layout layout;
    std::size_t longest = kMinToken;
    for (const Column& column : all) {
      for (std::size_t i = 0; i < column.tokens.size(); ++i) {
        layout.position = std::max(layout.position, std::to_string(column.tokens[i].token).size());
        layout.value = std::max(layout.value, column.values[i].size());
        longest = std::max(longest, display_width(clean_line(display_text(report_.input, column.tokens[i].token))));
      }
    }
    // Side by side if every method's smallest layout fits; spare room goes to tokens, then bars. The names of patches
    // differ at their ends only.
    if (report_.input.image) layout.token = std::min(longest, kMaxToken);
    const std::size_t gaps = kGap * (most - 1);
    const bool beside = layout.total() * most + gaps <= width_;
    const std::size_t available = beside ? (width_ - gaps) / most : width_;
    if (available > layout.total()) {
      layout.token += std::min(available - layout.total(), std::min(longest, kMaxToken) - layout.token);
      layout.bar += std::min(available - layout.total(), kMaxBar - kMinBar);
    }
    if (left_out_ > 0) {
      out_ += '\n';
      paragraph(fmt::format(
          "Shown are the last {} of {} layers. To see others, choose at most {} with {}; files "
          "(.html, .csv, .json, .md) hold all of them.",
          layers_.size(), left_out_ + layers_.size(), kMostTableLayers, with_field_names("--layers", option_names_)));
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const bool aggregates =
          std::any_of(methods.begin(), methods.end(), [](Method method) { return method_info(method).aggregates(); });
      if (aggregates && carries_nothing(report_, report_.output_token, layers_[i])) {
        out_ += '\n';
        paragraph(carries_nothing_line(report_, layers_[i]));
      }
      write_block(blocks[i], layout, beside);
    }
    legend(all);
  }

  void write_block(const std::vector<Column>& columns, const Layout& layout, bool beside) {
    if (columns.empty()) return;
    if (beside) {
      out_ += '\n';
      write_lines(columns, layout);
      return;
    }
    for (const Column& column : columns) {
      out_ += '\n';
      write_lines({column}, layout);
    }
  }

  // Four decimals if they show something; else equal significant digits for all.
  static std::vector<std::string> format_values(const std::vector<RankedToken>& tokens) {
    if (tokens.empty()) return {};
    const double largest = std::abs(tokens.front().value);
    const char* const format = largest >= 1000.0 || largest < 0.001 ? "{:.1e}" : largest >= 10.0 ? "{:.2f}" : "{:.4f}";
    std::vector<std::string> values;
    for (const RankedToken& token : tokens) values.push_back(fmt::format(fmt::runtime(format), token.value));
    return values;
  }

  std::string bar(double share, std::size_t cells) const {
    const auto eighths = static_cast<std::size_t>(std::lround(share * static_cast<double>(8 * cells)));
    std::string text;
    for (std::size_t i = 0; i < eighths / 8; ++i) text += marks_.parts[7];
    if (eighths % 8 != 0) text += marks_.parts[eighths % 8 - 1];
    return text;
  }

  void write_lines(const std::vector<Column>& columns, const Layout& layout) {
    std::size_t rows = 1;
    for (const Column& column : columns) rows = std::max(rows, column.tokens.size());
    const auto finish = [&](const std::string& line) { out_ += internal::without_trailing_spaces(line) + "\n"; };
    std::string line;
    for (const Column& column : columns) {
      if (!line.empty()) line += std::string(kGap, ' ');
      const std::string title = shorten(column.title, layout.total(), marks_.ellipsis);
      line += styled(title, kBold) + std::string(layout.total() - display_width(title), ' ');
    }
    finish(line);
    for (std::size_t row = 0; row < rows; ++row) {
      line.clear();
      for (std::size_t c = 0; c < columns.size(); ++c) {
        if (c != 0) line += std::string(kGap, ' ');
        line += cell(columns[c], row, layout);
      }
      finish(line);
    }
  }

  std::string cell(const Column& column, std::size_t row, const Layout& layout) const {
    if (row >= column.tokens.size()) {
      const std::string text = row == 0 ? fit_to_cells("no value for this token", layout.total(), marks_.ellipsis) : "";
      return text + std::string(layout.total() - display_width(text), ' ');
    }
    const RankedToken& token = column.tokens[row];
    const std::string shown =
        shorten(clean_line(display_text(report_.input, token.token)), layout.token, marks_.ellipsis);
    const std::size_t cells = display_width(shown);
    const std::string text = fit_to_cells(shown, cells, marks_.ellipsis);
    const std::string drawn = bar(token.sink ? 0.0 : std::abs(token.value / column.tokens.front().value), layout.bar);
    std::string line = fmt::format("{:>{}} ", token.token, layout.position);
    const bool dim = token.special || token.sink;
    line += dim ? styled(text + (token.sink ? "^" : "*"), kDim) : text + (token.unknown ? "?" : " ");
    line += std::string(layout.token - cells, ' ');
    line += token.tied ? "=" : " ";
    line += std::string(layout.value - column.values[row].size(), ' ') + column.values[row];
    line += token.degenerate != 0 ? std::string(marks_.degenerate) : " ";
    line += " " + styled(drawn, token.value < 0.0 ? kYellow : kBlue);
    return line + std::string(layout.bar - display_width(drawn), ' ');
  }

  void legend(const std::vector<Column>& columns) {
    std::vector<RankedToken> all;
    for (const Column& column : columns) all.insert(all.end(), column.tokens.begin(), column.tokens.end());
    const std::string text = marks_legend(all, "*", "line", marks_.degenerate);
    if (text.empty()) return;
    out_ += '\n';
    paragraph(text, kDim);
  }

  const Report& report_;
  std::size_t width_;
  bool color_;
  bool true_color_;
  OptionNames option_names_;
  const Marks& marks_;
  std::vector<std::size_t> layers_;  // shown, as positions in settings.layers
  std::size_t left_out_ = 0;         // omitted earlier layers
  std::string out_;
};

}  // namespace

std::string terminal_table(const Report& report, const TableOptions& options) {
  if (report.generation) return internal::generation_terminal_table(report, options);
  return TableWriter(report, options).write();
}

}  // namespace attnflow
