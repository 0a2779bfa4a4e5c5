#include "attnflow/analysis/evaluate/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "attnflow/base/format_error.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/extension.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

[[noreturn]] void fail(const std::string& name, std::size_t line, const std::string& what) {
  throw internal::file_error("{}, line {}: {}", name, line, what);
}

}  // namespace

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos; }

std::string read_utf8_text(const std::filesystem::path& path) {
  return check_utf8_text(read_file(path), path.string());
}

std::string check_utf8_text(std::string content, const std::string& name) {
  if (const auto bad = find_invalid_utf8(content)) {
    const auto line = 1 + std::count(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(*bad), '\n');
    fail(name, static_cast<std::size_t>(line),
         fmt::format("expected UTF-8, found other bytes at offset {}; convert it, for example with iconv -f latin1 -t "
                     "utf-8",
                     *bad));
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (content.compare(0, kByteOrderMark.size(), kByteOrderMark) == 0) content.erase(0, kByteOrderMark.size());
  return content;
}

std::size_t each_line(std::string_view content,
                      const std::function<void(std::size_t line, std::string_view text)>& body) {
  std::size_t blank = 0;
  for (std::size_t line = 1; !content.empty(); ++line) {
    const std::size_t end = content.find('\n');
    std::string_view text = content.substr(0, end);
    content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    if (is_blank(text)) {
      ++blank;
    } else {
      body(line, text);
    }
  }
  return blank;
}

CsvRow CsvReader::next() {
  CsvRow row{line_, {""}};
  while (at_ < content_.size()) {
    const char c = content_[at_];
    if (c == '"' && row.cells.back().empty()) {
      const std::size_t opened = line_;
      for (++at_;; ++at_) {
        if (at_ == content_.size()) {
          fail(name_, opened, "expected the end of a quoted cell, found the end of the file");
        }
        if (content_[at_] == '\n') ++line_;
        if (content_[at_] == '"') {
          ++at_;
          if (at_ == content_.size() || content_[at_] != '"') break;
        }
        row.cells.back() += content_[at_];
      }
      if (at_ < content_.size() && content_[at_] != ',' && content_[at_] != '\n' && content_[at_] != '\r') {
        fail(name_, line_,
             "expected a comma or the end of the line after a quoted cell, found more text; double the quotation marks "
             "inside a quoted cell");
      }
    } else if (c == ',') {
      row.cells.emplace_back();
      ++at_;
    } else if (c == '\n') {
      ++at_;
      ++line_;
      return row;
    } else {
      if (c != '\r' || at_ + 1 == content_.size() || content_[at_ + 1] != '\n') row.cells.back() += c;
      ++at_;
    }
  }
  return row;
}

std::optional<std::size_t> find_column(const std::vector<std::string>& header,
                                       const std::vector<std::string_view>& names) {
  for (const std::string_view name : names) {
    for (std::size_t c = 0; c < header.size(); ++c) {
      if (internal::lower(header[c]) == name) return c;
    }
  }
  return std::nullopt;
}

std::size_t each_csv_row(std::string_view content, const std::string& name,
                         const std::function<void(const CsvRow& row)>& header,
                         const std::function<void(const CsvRow& row)>& body) {
  CsvReader reader(content, name);
  std::size_t blank = 0;
  std::size_t width = 0;
  while (!reader.done()) {
    const CsvRow row = reader.next();
    if (row.cells.size() == 1 && is_blank(row.cells.front())) {
      ++blank;
    } else if (width == 0) {
      width = row.cells.size();
      header(row);
    } else if (row.cells.size() != width) {
      fail(name, row.line, fmt::format("expected {} columns, as in the header, found {}", width, row.cells.size()));
    } else {
      body(row);
    }
  }
  return blank;
}

}  // namespace attnflow
