#include "attnflow/model/llama/dequantise.h"

#include <fmt/format.h>
#include <ggml.h>

#include <cstring>
#include <vector>

#include "attnflow/model/fail.h"

namespace attnflow {
namespace {

constexpr std::size_t kAlignment = 8;  // no block holds anything larger

}  // namespace

void dequantise_blocks(std::uint32_t type, std::span<const std::byte> blocks, std::span<float> values) {
  const bool known = type < GGML_TYPE_COUNT;
  const auto kind = static_cast<ggml_type>(known ? type : 0);
  const ggml_type_traits* const traits = ggml_get_type_traits(kind);
  if (!known || traits->blck_size <= 0 || traits->type_size == 0 ||
      (kind != GGML_TYPE_F32 && traits->to_float == nullptr)) {
    internal::fail(ErrorKind::kUnsupportedModel,
                   "expected a type of tensor that holds floating-point numbers and that this libllama knows, found "
                   "{}{}; convert the model again with a current tool",
                   type, known && traits->type_name != nullptr ? fmt::format(" ({})", traits->type_name) : "");
  }
  const auto elements = static_cast<std::size_t>(traits->blck_size);
  if (values.size() % elements != 0 || blocks.size() / traits->type_size != values.size() / elements ||
      blocks.size() % traits->type_size != 0) {
    internal::fail(ErrorKind::kBadFile,
                   "expected whole blocks of {} numbers in {} bytes, found {} bytes for {} numbers", elements,
                   traits->type_size, blocks.size(), values.size());
  }
  if (values.empty()) return;
  if (kind == GGML_TYPE_F32) {
    std::memcpy(values.data(), blocks.data(), blocks.size());
    return;
  }
  std::vector<std::uint64_t> aligned;
  const void* from = blocks.data();
  if (reinterpret_cast<std::uintptr_t>(from) % kAlignment != 0) {
    aligned.resize(blocks.size() / sizeof(std::uint64_t) + 1);
    std::memcpy(aligned.data(), blocks.data(), blocks.size());
    from = aligned.data();
  }
  traits->to_float(from, values.data(), static_cast<std::int64_t>(values.size()));
}

}  // namespace attnflow
