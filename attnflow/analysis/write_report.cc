#include "attnflow/analysis/write_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "attnflow/draw/figure.h"
#include "attnflow/draw/html.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/extension.h"
#include "attnflow/report/report_arrays.h"
#include "attnflow/report/report_csv.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_table.h"

namespace attnflow {
namespace {

using Writer = void (*)(const std::filesystem::path&, const Report&, const FigureOptions&);

struct Kind {
  const char* ending;
  Writer write;
};

void write_picture(const std::filesystem::path& path, const Report& report, const FigureOptions& figure) {
  write_figure(path, report, figure);
}

constexpr std::array<Kind, 10> kKinds{{
    {".html", [](const std::filesystem::path& p, const Report& r, const FigureOptions&) { write_html(p, r); }},
    {".svg", write_picture},
    {".pdf", write_picture},
    {".png", write_picture},
    {".json", [](const std::filesystem::path& p, const Report& r, const FigureOptions&) { write_report_json(p, r); }},
    {".csv", [](const std::filesystem::path& p, const Report& r, const FigureOptions&) { write_report_csv(p, r); }},
    {".npz", [](const std::filesystem::path& p, const Report& r, const FigureOptions&) { write_report_npz(p, r); }},
    {".safetensors",
     [](const std::filesystem::path& p, const Report& r, const FigureOptions&) { write_report_safetensors(p, r); }},
    {".md",
     [](const std::filesystem::path& p, const Report& r, const FigureOptions&) { write_file(p, markdown_table(r)); }},
    {".txt",
     [](const std::filesystem::path& p, const Report& r, const FigureOptions&) { write_file(p, terminal_table(r)); }},
}};

const Kind& kind_of(const std::filesystem::path& path) {
  const std::string ending = internal::lower_extension(path);
  const auto* kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return ending == k.ending; });
  if (kind == kKinds.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("-o: expected a file name ending in .html, .svg, .pdf, .png, .json, "
                                               ".csv, .npz, .safetensors, .md or .txt, found '{}'",
                                               path.string()));
  }
  return *kind;
}

}  // namespace

void check_output(const std::filesystem::path& path) {
  kind_of(path);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw Error(ErrorKind::kOther,
                fmt::format("{}: expected the name of a file to write, found a folder", path.string()));
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(ErrorKind::kOther,
                fmt::format("{}: the folder {} does not exist; create it first", path.string(), folder.string()));
  }
  // Writing needs both: a new name in the folder, and a way into it.
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw Error(ErrorKind::kOther,
                fmt::format("{}: cannot write to its folder: {}", path.string(), std::strerror(errno)));
  }
}

bool is_picture(const std::filesystem::path& path) { return kind_of(path).write == write_picture; }

bool shows_certificates(const std::filesystem::path& path) {
  const std::string_view ending = kind_of(path).ending;
  return ending == ".json" || ending == ".md" || ending == ".txt";
}

bool shows_referents(const std::filesystem::path& path) {
  return shows_certificates(path) || std::string_view(kind_of(path).ending) == ".html";
}

void write_report(const std::filesystem::path& path, const Report& report, const FigureOptions& figure) {
  kind_of(path).write(path, report, figure);
}

}  // namespace attnflow
