#include "attnflow/analysis/write_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/base/format_error.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/draw/figure.h"
#include "attnflow/draw/html.h"
#include "attnflow/draw/picture_page.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/output_target.h"
#include "attnflow/report/report_arrays.h"
#include "attnflow/report/report_csv.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_table.h"

namespace attnflow {
namespace {

using Path = std::filesystem::path;

struct Kind {
  const char* ending;
  void (*write)(const Path&, const Report&);  // null: a figure
};

constexpr std::array<Kind, 10> kKinds{{
    {".html", write_html},
    {".svg", nullptr},
    {".pdf", nullptr},
    {".png", nullptr},
    {".json", [](const Path& path, const Report& report) { write_report_json(path, report); }},
    {".csv", write_report_csv},
    {".npz", write_report_npz},
    {".safetensors", write_report_safetensors},
    {".md", [](const Path& path, const Report& report) { write_file(path, markdown_table(report)); }},
    {".txt", [](const Path& path, const Report& report) { write_file(path, terminal_table(report)); }},
}};

constexpr std::array<std::string_view, 4> kBinary = {".png", ".pdf", ".npz", ".safetensors"};

const Kind& kind_of(const std::filesystem::path& path) {
  const std::string ending = internal::output_ending(path);
  const auto* kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return ending == k.ending; });
  if (kind == kKinds.end()) {
    std::vector<std::string> endings;
    for (const Kind& k : kKinds) endings.emplace_back(k.ending);
    throw internal::usage_error("-o: expected a file name ending in one of {}, found '{}'{}", output_endings(),
                                path.string(), ending_suggestion(ending, endings));
  }
  return *kind;
}

}  // namespace

std::string output_endings() {
  std::string endings;
  for (const Kind& kind : kKinds) endings += (endings.empty() ? "" : " ") + std::string(kind.ending);
  return endings;
}

std::string ending_suggestion(const std::string& ending, const std::vector<std::string>& endings) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kSimilar = {
      {{" .jpg .jpeg .gif .webp .tiff ", ".png"},
       {" .eps .ps ", ".pdf"},
       {" .npy ", ".npz"},
       {" .tsv .xlsx ", ".csv"},
       {" .jsonl ", ".json"},
       {" .markdown ", ".md"}}};
  const auto* const similar = std::find_if(kSimilar.begin(), kSimilar.end(), [word = " " + ending + " "](auto& pair) {
    return pair.first.find(word) != std::string_view::npos;
  });
  const bool known =
      similar != kSimilar.end() && std::find(endings.begin(), endings.end(), similar->second) != endings.end();
  return known ? fmt::format("; did you mean {}?", similar->second) : internal::did_you_mean(ending, endings);
}

void check_output(const std::filesystem::path& path) {
  const Kind& kind = kind_of(path);
  if (internal::is_standard_output(path)) {
    const bool is_text = std::find(kBinary.begin(), kBinary.end(), std::string_view(kind.ending)) == kBinary.end();
    if (is_text || isatty(STDOUT_FILENO) == 0) return;
    throw internal::usage_error(
        "-o {}: expected standard output to be a file or a pipe, found a terminal, which cannot show {}; add > FILE{}",
        path.string(), kind.ending, kind.ending);
  }
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw internal::usage_error("{}: expected the name of a file to write, found a folder", path.string());
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, error)) {
    throw internal::usage_error("{}: the folder {} does not exist; create it first", path.string(), folder.string());
  }
  // Writing needs both: a new name in the folder, and access to it.
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw Error(ErrorKind::kOther,
                fmt::format("{}: cannot write to its folder: {}", path.string(), std::strerror(errno)));
  }
}

bool is_picture(const std::filesystem::path& path) { return kind_of(path).write == nullptr; }

bool shows_certificates(const std::filesystem::path& path) {
  const std::string_view ending = kind_of(path).ending;
  return ending == ".json" || ending == ".md" || ending == ".txt";
}

bool shows_referents(const std::filesystem::path& path) {
  return shows_certificates(path) || std::string_view(kind_of(path).ending) == ".html";
}

void write_report(const std::filesystem::path& path, const Report& report, const FigureOptions& figure,
                  const ImageFigureOptions& image) {
  if (!is_picture(path)) {
    kind_of(path).write(path, report);
  } else if (report.input.image) {
    write_picture_page(path, image_page(report, image), image.page);
  } else {
    write_figure(path, report, figure);
  }
}

}  // namespace attnflow
