#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow {

bool is_blank(std::string_view text);

// A text file's content without its byte order mark. Throws Error(kBadFile), naming the line, for invalid UTF-8.
std::string read_utf8_text(const std::filesystem::path& path);
// The same for content that was read from `name`.
std::string check_utf8_text(std::string content, const std::string& name);

// Calls body(line, text) for every line that is not blank, numbered from 1, and returns how many are.
std::size_t each_line(std::string_view content,
                      const std::function<void(std::size_t line, std::string_view text)>& body);

struct CsvRow {
  std::size_t line = 0;  // where it starts, from 1
  std::vector<std::string> cells;
};

// Reads rows one by one, with quoted cells, doubled quotes and line breaks inside them. A blank line is a row of one
// empty cell. Throws Error(kBadFile), naming file and line, for a quotation without an end or with text after it.
class CsvReader {
 public:
  // `content` must outlive the reader; `name` is for messages.
  CsvReader(std::string_view content, std::string name) : content_(content), name_(std::move(name)) {}
  bool done() const { return at_ >= content_.size(); }
  CsvRow next();

 private:
  std::string_view content_;
  std::string name_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

// The column with the first of these names that the header has; case does not matter.
std::optional<std::size_t> find_column(const std::vector<std::string>& header,
                                       const std::vector<std::string_view>& names);

// Passes `header` the first row, and `body` the others, which must be as wide. Returns how many rows are blank, which
// are passed over. Throws as CsvReader does.
std::size_t each_csv_row(std::string_view content, const std::string& name,
                         const std::function<void(const CsvRow& row)>& header,
                         const std::function<void(const CsvRow& row)>& body);

}  // namespace attnflow
