#include "attnflow/analysis/evaluate/evaluate_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "attnflow/analysis/evaluate/csv_reader.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/base/format_error.h"
#include "attnflow/files/extension.h"

namespace attnflow {
namespace {

constexpr std::array<std::string_view, 4> kTextNames = {"text", "sentence", "sentence1", "premise"};
constexpr std::array<std::string_view, 3> kLabelNames = {"label", "labels", "class"};

using Row = CsvRow;  // or one JSON object's values in the order of the columns

struct Columns {
  std::optional<std::size_t> text = std::nullopt;
  std::optional<std::size_t> pair = std::nullopt;
  std::optional<std::size_t> label = std::nullopt;
  std::optional<std::size_t> group = std::nullopt;
  std::optional<std::size_t> source = std::nullopt;
};

Columns find_columns(const std::vector<std::string>& header) {
  return {find_column(header, {kTextNames.begin(), kTextNames.end()}),
          find_column(header, {"pair", "text_pair", "sentence2", "hypothesis"}),
          find_column(header, {kLabelNames.begin(), kLabelNames.end()}), find_column(header, {"group", "attractors"}),
          find_column(header, {"source"})};
}

class Reader {
 public:
  Reader(std::string name, std::string content, const ModelInfo& info)
      : name_(std::move(name)), info_(info), content_(std::move(content)) {}

  SampleFile read(std::string_view extension) {
    if (extension == ".txt") {
      const auto body = [&](std::size_t line, std::string_view text) { add({line, {std::string(text)}}, {.text = 0}); };
      file_.empty_lines = each_line(content_, body);
    } else if (extension == ".tsv") {
      read_tsv();
    } else if (extension == ".csv") {
      read_csv();
    } else {
      read_json_lines();
    }
    if (file_.samples.empty()) {
      throw internal::file_error("{}: expected at least one sample, found none{}", name_,
                                 file_.empty_lines > 0 ? fmt::format(" ({} empty lines)", file_.empty_lines) : "");
    }
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(std::size_t line, const std::string& what) const {
    throw internal::file_error("{}, line {}: {}", name_, line, what);
  }

  void read_tsv() {
    std::optional<Columns> named;
    std::size_t width = 0;
    file_.empty_lines = each_line(content_, [&](std::size_t line, std::string_view text) {
      Row row{line, {}};
      while (true) {
        const std::size_t tab = text.find('\t');
        row.cells.emplace_back(text.substr(0, tab));
        if (tab == std::string_view::npos) break;
        text.remove_prefix(tab + 1);
      }
      if (width == 0) {
        width = row.cells.size();
        const Columns found = find_columns(row.cells);
        if (found.text && found.label) {
          named = found;
          return;
        }
        if (width < 2 || width > 3) {
          fail(line, fmt::format("expected two columns, text TAB label, or three, text TAB second text TAB label, "
                                 "found {}; name the columns text and label in a header if the file has others",
                                 width));
        }
      }
      if (row.cells.size() != width) {
        fail(line, fmt::format("expected {} columns, as in the first line, found {}", width, row.cells.size()));
      }
      Columns columns{.text = 0, .label = width - 1};
      if (width == 3) columns.pair = 1;
      add(row, named ? *named : columns);
    });
  }

  void read_csv() {
    Columns columns;
    const auto header = [&](const Row& row) {
      columns = find_columns(row.cells);
      if (columns.text) return;
      fail(row.line,
           fmt::format("expected a header with a column for the text ({}) and one for the label ({}), found {}",
                       fmt::join(kTextNames, ", "), fmt::join(kLabelNames, ", "), fmt::join(row.cells, ", ")));
    };
    file_.empty_lines = each_csv_row(content_, name_, header, [&](const Row& row) { add(row, columns); });
  }

  void read_json_lines() {
    file_.empty_lines = each_line(content_, [&](std::size_t line, std::string_view text) {
      const auto json = nlohmann::json::parse(text, nullptr, false);
      if (!json.is_object()) fail(line, "expected a JSON object such as {\"text\": \"...\", \"label\": 1}");
      Row row{line, {}};
      std::vector<std::string> header;
      for (const auto& [key, value] : json.items()) {
        header.push_back(key);
        if (value.is_string()) {
          row.cells.push_back(value.get<std::string>());
        } else {
          row.cells.push_back(value.is_null() ? "" : value.dump());
        }
      }
      const Columns columns = find_columns(header);
      if (!columns.text) fail(line, fmt::format("expected a text (key {}), found none", fmt::join(kTextNames, ", ")));
      add(row, columns);
    });
  }

  void add(const Row& row, const Columns& columns) {
    EvaluationSample sample;
    sample.text = row.cells[*columns.text];
    if (is_blank(sample.text)) fail(row.line, "expected a text, found an empty one");
    if (columns.pair) {
      sample.pair = row.cells[*columns.pair];
      if (is_blank(*sample.pair)) fail(row.line, "expected a second text, found an empty one");
    }
    if (columns.label) {
      const std::string& label = row.cells[*columns.label];
      sample.label = label_named(label, info_.labels);
      if (!sample.label) {
        fail(row.line, fmt::format("expected a label of {} ({}) or a number from 0 to {}, found '{}'", info_.name,
                                   fmt::join(info_.labels, ", "), info_.labels.size() - 1, label));
      }
    }
    if (columns.group) sample.group = row.cells[*columns.group];
    if (columns.source) sample.source = row.cells[*columns.source];
    if (!file_.samples.empty() && file_.samples.front().label.has_value() != sample.label.has_value()) {
      fail(row.line, sample.label ? "expected no label, as in the previous lines, found one"
                                  : "expected a label, as in the previous lines, found none");
    }
    file_.samples.push_back(std::move(sample));
  }

  std::string name_;
  const ModelInfo& info_;
  std::string content_;
  SampleFile file_;
};

}  // namespace

SampleFile read_samples(const std::filesystem::path& path, const ModelInfo& info) {
  const std::string extension = internal::lower_extension(path);
  if (extension != ".tsv" && extension != ".csv" && extension != ".jsonl" && extension != ".txt") {
    throw internal::usage_error(
        "expected a file of samples ending in .tsv (text TAB label), .csv, .jsonl or .txt, found '{}'", path.string());
  }
  return Reader(path.string(), read_utf8_text(path), info).read(extension);
}

SampleFile parse_samples_tsv(std::string content, const std::string& name, const ModelInfo& info) {
  return Reader(name, check_utf8_text(std::move(content), name), info).read(".tsv");
}

}  // namespace attnflow
