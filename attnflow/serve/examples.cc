#include "attnflow/serve/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "attnflow/base/error.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

constexpr const char* kTexts = "examples.txt";
constexpr std::size_t kMaxBytes = std::size_t{64} << 10U;
constexpr std::size_t kMaxTexts = 20;

std::vector<Example> texts(std::initializer_list<const char*> lines) {
  std::vector<Example> result;
  for (const char* const line : lines) result.push_back({.text = line});
  return result;
}

}  // namespace

std::vector<Example> text_examples(const Folder& folder) {
  std::vector<Example> result;
  if (!folder.has(kTexts)) return result;
  const std::string file = folder.read(kTexts, kMaxBytes);
  if (const auto bad = find_invalid_utf8(file)) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected UTF-8, found another byte at {}", folder.label(kTexts), *bad));
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  for (std::size_t at = file.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
       at < file.size() && result.size() < kMaxTexts;) {
    const std::size_t end = std::min(file.find('\n', at), file.size());
    std::string line = file.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    const bool there =
        std::any_of(result.begin(), result.end(), [&](const Example& example) { return example.text == line; });
    if (!there && line.find_first_not_of(" \t") != std::string::npos) result.push_back({.text = std::move(line)});
    at = end + 1;
  }
  return result;
}

std::vector<Example> picture_examples(std::span<const MemoryFile> files) {
  constexpr std::string_view kBegin = "example_";
  constexpr std::string_view kEnd = ".png";
  std::vector<Example> result;
  for (const MemoryFile& file : files) {
    if (!file.name.starts_with(kBegin) || !file.name.ends_with(kEnd)) continue;
    std::string name(file.name.substr(kBegin.size(), file.name.size() - kBegin.size() - kEnd.size()));
    std::replace(name.begin(), name.end(), '_', ' ');
    const auto* const bytes = reinterpret_cast<const char*>(file.bytes.data());
    result.push_back({.name = std::move(name), .picture = std::string(bytes, file.bytes.size())});
  }
  std::sort(result.begin(), result.end(), [](const Example& a, const Example& b) { return a.name < b.name; });
  return result;
}

std::vector<Example> examples_by_task(const ModelInfo& info, const std::string& mask) {
  if (info.image || info.head == ModelHead::kQuestionAnswering) return {};
  if (info.head == ModelHead::kCausalLm) {
    return texts({"The capital of France is", "Once upon a time, there was a little", "The key to the cabinets"});
  }
  if (info.head == ModelHead::kMaskedLm && !mask.empty()) {
    std::vector<Example> result;
    for (const char* const text : {"The author talked to Sara about {} book.",
                                   "The key to the cabinets {} on the table.", "Paris is the {} of France."}) {
      result.push_back({.text = fmt::format(fmt::runtime(text), mask)});
    }
    return result;
  }
  // For models without a specific task.
  return texts({"The storm closed the airport, so the flight was canceled.", "A man is playing a guitar on the street.",
                "The film was long, but it was never boring."});
}

}  // namespace attnflow
