#include "attnflow/files/pickled_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "attnflow/base/error.h"
#include "attnflow/files/messages.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

using Kind = PickleValue::Kind;
using Name = PickleValue::Name;

constexpr std::size_t kMaxPickledRank = 8;
constexpr std::size_t kMaxKeyBytes = 256;  // keys are short numbers; each is compared many times
// Keys under which training programs store a model's weights next to other state.
constexpr std::array<std::string_view, 4> kWrappers = {"state_dict", "model_state_dict", "model", "module"};

}  // namespace

void PickledWeights::refuse(const std::string& found) const {
  fail_file(source_,
            fmt::format("expected weights only, a dict of tensors by name, found {}; no code in the file was run. {}",
                        found, advice_));
}

std::size_t PickledWeights::size(PickleRef ref, std::string_view what) const {
  const PickleValue& value = pickle_[ref];
  if (value.kind != Kind::kNumber || value.number < 0)
    refuse(fmt::format("{} as {} of a tensor", show_pickled(value), what));
  return static_cast<std::size_t>(value.number);
}

Shape PickledWeights::sizes(PickleRef ref, std::string_view what) const {
  const PickleValue& value = pickle_[ref];
  if (value.kind != Kind::kTuple || value.items.size() > kMaxPickledRank) {
    refuse(fmt::format("{} of {} items as {} of a tensor", show_pickled(value), value.items.size(), what));
  }
  Shape sizes;
  for (const PickleRef item : value.items) sizes.push_back(size(item, what));
  return sizes;
}

// ("storage", type, key, location, elements), to which older versions add a view into another storage, or None.
std::string_view PickledWeights::storage_key(const PickleValue& persistent) const {
  const PickleValue& id = pickle_[persistent.items[0]];
  const std::vector<PickleRef>& items = id.items;
  const bool is_storage = id.kind == Kind::kTuple && (items.size() == 5 || items.size() == 6) &&
                          pickle_[items[0]].kind == Kind::kText && pickle_[items[0]].text == "storage" &&
                          pickle_[items[1]].kind == Kind::kName && pickle_[items[1]].name == Name::kStorage &&
                          pickle_[items[2]].kind == Kind::kText;
  if (!is_storage || pickle_[items[2]].text.size() > kMaxKeyBytes)
    refuse("something outside the pickle that is not a storage of numbers");
  if (items.size() == 6 && pickle_[items[5]].kind != Kind::kNone)
    refuse(fmt::format("storage {} as a view of another storage", quote_name(pickle_[items[2]].text)));
  return pickle_[items[2]].text;
}

std::map<std::string_view, PickledStorage> PickledWeights::storages() const {
  std::map<std::string_view, PickledStorage> storages;
  for (const PickleValue& value : pickle_.values) {
    if (value.kind != Kind::kPersistent) continue;
    const std::string_view key = storage_key(value);
    const std::vector<PickleRef>& items = pickle_[value.items[0]].items;
    const PickledStorage storage = {pickle_[items[1]].dtype, size(items[4], "the length of a storage")};
    const auto [place, added] = storages.emplace(key, storage);
    if (!added && (place->second.dtype != storage.dtype || place->second.count != storage.count))
      refuse(fmt::format("storage {} with two types or lengths", quote_name(key)));
  }
  return storages;
}

bool PickledWeights::holds_tensors(const PickleValue& value) const {
  if (value.kind != Kind::kDict || value.items.empty()) return false;
  for (std::size_t i = 0; i < value.items.size(); i += 2) {
    if (pickle_[value.items[i]].kind != Kind::kText || !is_tensor(pickle_[value.items[i + 1]])) return false;
  }
  return true;
}

const PickleValue& PickledWeights::find_weights() const {
  const PickleValue& top = pickle_[pickle_.result];
  if (holds_tensors(top)) return top;
  if (top.kind != Kind::kDict) refuse(show_pickled(top) + " instead of the dict");
  if (top.items.empty()) refuse("an empty dict");

  const PickleValue* wrapped = nullptr;
  bool alone = true;
  std::size_t wrappers = 0;
  const PickleValue* other_name = nullptr;
  const PickleValue* other = nullptr;
  for (std::size_t i = 0; i < top.items.size(); i += 2) {
    const PickleValue& key = pickle_[top.items[i]];
    const PickleValue& value = pickle_[top.items[i + 1]];
    const bool is_wrapper =
        key.kind == Kind::kText && std::find(kWrappers.begin(), kWrappers.end(), key.text) != kWrappers.end();
    if (is_wrapper && ++wrappers > kWrappers.size()) refuse(fmt::format("{} twice as a key", show_pickled(key)));
    if (is_wrapper && holds_tensors(value)) {
      alone = alone && wrapped == nullptr;
      wrapped = &value;
    } else if (is_tensor(value)) {
      alone = false;
    } else if (other == nullptr) {
      other_name = &key;
      other = &value;
    }
  }
  if (wrapped != nullptr && alone) return *wrapped;
  if (other == nullptr) refuse("two of them side by side");
  refuse(fmt::format("{} under {}", show_pickled(*other), show_pickled(*other_name)));
}

std::map<std::string_view, PickledTensor> PickledWeights::tensors() const {
  const PickleValue& weights = find_weights();
  std::map<std::string_view, PickledTensor> tensors;
  for (std::size_t i = 0; i < weights.items.size(); i += 2) {
    const std::string_view name = pickle_[weights.items[i]].text;
    if (find_invalid_utf8(name)) refuse(fmt::format("the name {}, which is not UTF-8", quote_name(name)));
    if (!tensors.emplace(name, tensor(pickle_[weights.items[i + 1]])).second)
      refuse(fmt::format("two tensors called {}", quote_name(name)));
  }
  return tensors;
}

PickledTensor PickledWeights::tensor(const PickleValue& value) const {
  const PickleValue* call = &value;
  const auto arguments = [&]() -> const std::vector<PickleRef>& { return pickle_[call->items[1]].items; };
  const auto name = [&] { return pickle_[call->items[0]].name; };
  if (name() == Name::kRebuildParameter) {  // (tensor, requires_grad, hooks)
    if (arguments().empty() || !is_tensor(pickle_[arguments()[0]])) refuse("a parameter that is not a tensor");
    call = &pickle_[arguments()[0]];
  }
  // (storage, offset, size, stride), followed in the second version by requires_grad, hooks and optional metadata.
  const bool second = name() == Name::kRebuildTensorV2;
  const std::vector<PickleRef>& given = arguments();
  const bool complete =
      second ? given.size() == 6 || given.size() == 7 : name() == Name::kRebuildTensor && given.size() == 4;
  if (!complete || pickle_[given[0]].kind != Kind::kPersistent)
    refuse("a tensor that is not built the way PyTorch does it");
  if (given.size() == 7) {
    const PickleValue& look = pickle_[given[6]];
    if (look.kind != Kind::kNone && !(look.kind == Kind::kDict && look.items.empty()))
      refuse("a tensor that is to be negated or conjugated");
  }
  PickledTensor tensor{.storage = storage_key(pickle_[given[0]]),
                       .offset = size(given[1], "the offset"),
                       .shape = sizes(given[2], "the size"),
                       .strides = sizes(given[3], "the stride")};
  if (tensor.strides.size() != tensor.shape.size()) refuse("a tensor with more or fewer strides than dimensions");
  return tensor;
}

}  // namespace attnflow::internal
