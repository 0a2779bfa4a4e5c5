#include "attnflow/analysis/generated_text.h"

#include <algorithm>
#include <cassert>

#include "attnflow/files/utf8.h"

namespace attnflow::internal {
namespace {

// How many bytes a character has by its first one; 1 for what begins none.
std::size_t expected_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte >= 0xF0 && byte < 0xF8) return 4;
  if (byte >= 0xE0) return byte < 0xF0 ? 3 : 1;
  return byte >= 0xC0 ? 2 : 1;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Whether the bytes from `at` on may be the beginning of a character whose end is not there yet.
bool may_go_on(const std::string& bytes, std::size_t at) {
  const std::size_t here = bytes.size() - at;
  if (here >= expected_length(bytes[at])) return false;
  for (std::size_t i = at + 1; i < bytes.size(); ++i) {
    if (!continues(bytes[i])) return false;
  }
  return true;
}

}  // namespace

void GeneratedText::add(std::int64_t id) {
  bytes_ += codec_.bytes(id);
  ends_.push_back(bytes_.size());
  take(false);
}

void GeneratedText::finish() { take(true); }

void GeneratedText::take(bool last) {
  const std::size_t before = text_.size();
  while (taken_ < bytes_.size() && (last || !may_go_on(bytes_, taken_))) {
    const std::size_t begin = taken_;
    const std::size_t at = text_.size();
    append_utf8(text_, next_code_point(bytes_, taken_).value_or(kReplacementCharacter));
    begins_.resize(begins_.size() + (taken_ - begin), at);
  }
  if (said_ && text_.size() > before) said_(std::string_view(text_).substr(before));
}

std::pair<std::size_t, std::size_t> GeneratedText::range(std::size_t t) const {
  assert(t < ends_.size() && begins_.size() == bytes_.size());
  const std::size_t begin = t == 0 ? 0 : ends_[t - 1];
  const std::size_t end = ends_[t];
  const auto place = [&](std::size_t byte) { return byte < begins_.size() ? begins_[byte] : text_.size(); };
  if (begin == end) return {place(begin), place(begin)};
  // The character of the last byte goes on to where the next one begins.
  std::size_t behind = end;
  while (behind < begins_.size() && begins_[behind] == begins_[end - 1]) ++behind;
  return {place(begin), place(behind)};
}

}  // namespace attnflow::internal
