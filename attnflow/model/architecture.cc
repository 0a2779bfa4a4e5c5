#include "attnflow/model/architecture.h"

#include <array>
#include <utility>

#include "attnflow/model/family_rows.h"

namespace attnflow {

namespace {

constexpr std::array<std::pair<std::string_view, Activation>, 12> kActivations = {{
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_python_tanh", Activation::kGeluTanh},
    {"gelu_accurate", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"tanh", Activation::kTanh},
    {"quick_gelu", Activation::kQuickGelu},
}};

std::span<const Architecture> families(ArchitectureKind kind) {
  switch (kind) {
    case ArchitectureKind::kEncoder:
      return internal::encoder_families();
    case ArchitectureKind::kDecoder:
      return internal::decoder_families();
    case ArchitectureKind::kEncoderDecoder:
      return internal::target_families();
  }
  return {};
}

}  // namespace

const Architecture* find_architecture(std::string_view model_type) {
  for (const ArchitectureKind kind :
       {ArchitectureKind::kEncoder, ArchitectureKind::kDecoder, ArchitectureKind::kEncoderDecoder}) {
    if (const Architecture* const row = internal::find_row(families(kind), model_type)) return row;
  }
  return nullptr;
}

const Architecture& source_half(const Architecture& decoder) {
  return *internal::find_row(internal::source_families(), decoder.model_type);
}

std::string architecture_list(ArchitectureKind kind) {
  return internal::list_of(families(kind), &Architecture::model_type);
}

std::optional<Activation> find_activation(std::string_view name) {
  for (const auto& [known, activation] : kActivations) {
    if (known == name) return activation;
  }
  return std::nullopt;
}

std::string activation_list() {
  return internal::list_of(kActivations, &std::pair<std::string_view, Activation>::first);
}

}  // namespace attnflow
