#include "attnflow/analysis/generate/generated_text.h"

#include <cassert>

#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
void GeneratedText::add(std::int64_t id) {
  const std::string bytes = codec_.bytes(id);
  const bool first = bytes_.empty() && !bytes.empty();
  bytes_ += first && begins_text_ && bytes.front() == ' ' ? bytes.substr(1) : bytes;
  ends_.push_back(bytes_.size());
  take(false);
}

void GeneratedText::finish() { take(true); }

void GeneratedText::take(bool last) {
  const std::size_t before = text_.size();
  const std::size_t end = bytes_.size() - (last ? 0 : incomplete_utf8(std::string_view(bytes_).substr(taken_)));
  while (taken_ < end) {
    const std::size_t begin = taken_;
    const std::size_t at = text_.size();
    append_utf8(text_, next_or_replacement(bytes_, taken_));
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
  // The character of the last byte extends to the beginning of the next one.
  std::size_t behind = end;
  while (behind < begins_.size() && begins_[behind] == begins_[end - 1]) ++behind;
  return {place(begin), place(behind)};
}

}  // namespace attnflow::internal
