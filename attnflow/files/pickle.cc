#include "attnflow/files/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "attnflow/base/error.h"
#include "attnflow/files/little_endian.h"
#include "attnflow/files/messages.h"

namespace attnflow::internal {
namespace {

using Kind = PickleValue::Kind;
using Name = PickleValue::Name;

constexpr unsigned kNewestProtocol = 5;
// Enough for more than 100,000 tensors; bounds the reader's memory to some 500 MB.
constexpr std::size_t kMaxPickleValues = std::size_t{1} << 21;
constexpr std::size_t kMaxPickleDepth = 1000;

// The supported instructions, by their names in pickletools.
struct Opcode {
  enum : unsigned char {
    kMark = '(',
    kStop = '.',
    kPop = '0',
    kPopMark = '1',
    kBinFloat = 'G',
    kBinInt = 'J',
    kBinInt1 = 'K',
    kBinInt2 = 'M',
    kNone = 'N',
    kBinPersId = 'Q',
    kReduce = 'R',
    kBinString = 'T',
    kShortBinString = 'U',
    kBinUnicode = 'X',
    kEmptyList = ']',
    kAppend = 'a',
    kBuild = 'b',
    kGlobal = 'c',
    kAppends = 'e',
    kBinGet = 'h',
    kLongBinGet = 'j',
    kBinPut = 'q',
    kLongBinPut = 'r',
    kSetItem = 's',
    kTuple = 't',
    kSetItems = 'u',
    kEmptyDict = '}',
    kEmptyTuple = ')',
    kProto = 0x80,
    kTuple1 = 0x85,
    kTuple2 = 0x86,
    kTuple3 = 0x87,
    kNewTrue = 0x88,
    kNewFalse = 0x89,
    kLong1 = 0x8a,
    kShortBinUnicode = 0x8c,
    kBinUnicode8 = 0x8d,
    kStackGlobal = 0x93,
    kMemoize = 0x94,
    kFrame = 0x95,
  };
};

struct KnownName {
  std::string_view module;
  std::string_view name;
  Name meaning;
  DType dtype = DType::kF32;
};

constexpr std::array<KnownName, 14> kPickleNames = {{
    {"collections", "OrderedDict", Name::kOrderedDict},
    {"torch._utils", "_rebuild_tensor", Name::kRebuildTensor},
    {"torch._utils", "_rebuild_tensor_v2", Name::kRebuildTensorV2},
    {"torch._utils", "_rebuild_parameter", Name::kRebuildParameter},
    {"torch", "FloatStorage", Name::kStorage, DType::kF32},
    {"torch", "HalfStorage", Name::kStorage, DType::kF16},
    {"torch", "BFloat16Storage", Name::kStorage, DType::kBF16},
    {"torch", "DoubleStorage", Name::kStorage, DType::kF64},
    {"torch", "LongStorage", Name::kStorage, DType::kI64},
    {"torch", "IntStorage", Name::kStorage, DType::kI32},
    {"torch", "ShortStorage", Name::kStorage, DType::kI16},
    {"torch", "CharStorage", Name::kStorage, DType::kI8},
    {"torch", "ByteStorage", Name::kStorage, DType::kU8},
    {"torch", "BoolStorage", Name::kStorage, DType::kBool},
}};

// The stack machine. Values other than lists and dicts are immutable, so the stack only holds their indices.
class PickleReader {
 public:
  PickleReader(std::span<const std::byte> bytes, const std::string& source, const std::string& advice)
      : bytes_(bytes.first(std::min(bytes.size(), kMaxPickleBytes))), source_(source), advice_(advice) {
    // Values produced by single-byte instructions are shared.
    none_ = add(Kind::kNone);
    false_ = add(Kind::kBool);
    true_ = add(Kind::kBool);
    pickle_.values[true_].number = 1;
    empty_tuple_ = add(Kind::kTuple);
  }

  Pickle read() {
    const auto next = [&] { return take<std::uint8_t>("an instruction"); };
    for (std::uint8_t opcode = next(); opcode != Opcode::kStop; opcode = next()) step(opcode);
    pickle_.result = pop();
    if (!stack_.empty() || !marks_.empty()) fail("it ends with values left over");
    pickle_.size = at_;
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    fail_file(source_, fmt::format("not a valid pickle: {} (at byte {}); copy the file again", what, at_));
  }
  [[noreturn]] void refuse(const std::string& found) const {
    fail_file(source_, fmt::format("expected weights only, found {} at byte {} of the pickle; no code "
                                   "in the file was run. {}",
                                   found, at_, advice_));
  }

  // The file may be an attack, so the message does not suggest loading it elsewhere.
  [[noreturn]] void refuse_code(const std::string& found) const {
    fail_file(source_,
              fmt::format("expected weights only, found {} at byte {} of the pickle; no code in the file was run. "
                          "Do not load it with Python unless you trust whoever made it; use the model's .safetensors "
                          "files where it has them",
                          found, at_));
  }

  void need(std::uint64_t bytes, std::string_view what) const {
    if (bytes > bytes_.size() - at_) {
      fail(fmt::format("expected {} of {} bytes, found {} left: it is truncated or damaged", what, bytes,
                       bytes_.size() - at_));
    }
  }
  template <typename T>
  T take(std::string_view what) {
    need(sizeof(T), what);
    const T number = little_endian<T>(bytes_, at_);
    at_ += sizeof(T);
    return number;
  }
  std::string_view take_text(std::uint64_t length, std::string_view what) {
    need(length, what);
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + at_, length);
    at_ += length;
    return text;
  }
  std::string_view take_line(std::string_view what) {
    const std::string_view left(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_);
    const std::size_t end = left.find('\n');
    if (end == std::string_view::npos) fail(fmt::format("expected {} and an end of line", what));
    at_ += end + 1;
    return left.substr(0, end);
  }

  void limit(std::size_t count) const {
    if (count < kMaxPickleValues) return;
    fail_file(source_, fmt::format("expected a pickle of at most {} values, found more: these are "
                                   "not weights, or the file is damaged. {}",
                                   kMaxPickleValues, advice_));
  }
  PickleRef add(Kind kind) {
    limit(pickle_.values.size());
    pickle_.values.emplace_back().kind = kind;
    return static_cast<PickleRef>(pickle_.values.size() - 1);
  }
  void push(PickleRef ref) {
    limit(stack_.size());
    stack_.push_back(ref);
  }
  void push_number(std::int64_t number) {
    push(add(Kind::kNumber));
    pickle_.values.back().number = number;
  }
  void push_text(std::string_view text) {
    push(add(Kind::kText));
    pickle_.values.back().text = text;
  }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  void need_values(std::size_t count) const {
    if (stack_.size() - floor() < count) fail("an instruction finds too few values");
  }
  PickleRef pop() {
    need_values(1);
    const PickleRef ref = stack_.back();
    stack_.pop_back();
    return ref;
  }
  PickleValue& top() {
    need_values(1);
    return pickle_.values[stack_.back()];
  }
  PickleValue& top(Kind kind, std::string_view what) {
    PickleValue& value = top();
    if (value.kind != kind) refuse(fmt::format("{} that is changed as if it were {}", show_pickled(value), what));
    return value;
  }
  std::vector<PickleRef> pop_to_mark() {
    if (marks_.empty()) fail("an instruction finds no mark");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleRef> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  std::vector<PickleRef> pop_last(std::size_t count) {
    need_values(count);
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<PickleRef> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    return items;
  }
  void push_tuple(std::vector<PickleRef> items) {
    if (items.empty()) {
      push(empty_tuple_);
      return;
    }
    push(add(Kind::kTuple));
    pickle_.values.back().items = std::move(items);
  }

  void put(std::uint32_t index) {
    need_values(1);
    limit(memo_.size());
    memo_[index] = stack_.back();
  }
  void get(std::uint32_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail(fmt::format("it uses value {} before defining it", index));
    push(found->second);
  }

  void push_name(std::string_view module, std::string_view name) {
    const auto found = std::find_if(kPickleNames.begin(), kPickleNames.end(), [&](const KnownName& known) {
      return known.module == module && known.name == name;
    });
    if (found == kPickleNames.end()) {
      constexpr std::size_t kShown = 80;
      refuse_code(quote_name(fmt::format("{}.{}", module.substr(0, kShown), name.substr(0, kShown)), 2 * kShown));
    }
    push(add(Kind::kName));
    pickle_.values.back().name = found->meaning;
    pickle_.values.back().dtype = found->dtype;
  }

  void call() {
    const PickleRef arguments = pop();
    const PickleRef function = pop();
    if (pickle_[arguments].kind != Kind::kTuple) fail("expected a tuple of arguments");
    if (pickle_[function].kind != Kind::kName || pickle_[function].name == Name::kStorage)
      refuse(fmt::format("a call of {}", show_pickled(pickle_[function])));
    if (pickle_[function].name == Name::kOrderedDict) return push_ordered_dict(pickle_[arguments].items);
    push(add(Kind::kCall));
    pickle_.values.back().items = {function, arguments};
  }
  // Handles OrderedDict(), or as Python 2 writes it: OrderedDict([[key, value], ...]).
  void push_ordered_dict(const std::vector<PickleRef>& arguments) {
    std::vector<PickleRef> items;
    if (arguments.size() > 1) fail("expected one argument of OrderedDict");
    if (arguments.size() == 1) {
      limit(items_copied_ += pickle_[arguments[0]].items.size());
      for (const PickleRef pair : pickle_[arguments[0]].items) {
        const PickleValue& value = pickle_[pair];
        const bool is_pair = value.kind == Kind::kList || value.kind == Kind::kTuple;
        if (!is_pair || value.items.size() != 2) fail("expected pairs in an OrderedDict");
        items.insert(items.end(), value.items.begin(), value.items.end());
      }
    }
    push(add(Kind::kDict));
    pickle_.values.back().items = std::move(items);
  }

  void set_items(std::vector<PickleRef> items) {
    if (items.size() % 2 != 0) fail("expected a value for each key");
    std::vector<PickleRef>& into = top(Kind::kDict, "a dict").items;
    into.insert(into.end(), items.begin(), items.end());
  }
  void append(const std::vector<PickleRef>& items) {
    std::vector<PickleRef>& into = top(Kind::kList, "a list").items;
    into.insert(into.end(), items.begin(), items.end());
  }
  void push_long(std::string_view bytes) {
    std::uint64_t number = 0;
    if (bytes.size() > sizeof number) {
      push(add(Kind::kLongNumber));
      pickle_.values.back().text = bytes;
      return;
    }
    for (std::size_t i = 0; i < bytes.size(); ++i)
      number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0;
    if (negative && bytes.size() < sizeof number) number |= ~std::uint64_t{0} << (8 * bytes.size());
    push_number(static_cast<std::int64_t>(number));
  }

  void step(std::uint8_t opcode) {
    switch (opcode) {
      case Opcode::kProto:
        if (const unsigned protocol = take<std::uint8_t>("a protocol"); protocol > kNewestProtocol)
          fail(fmt::format("expected protocol 0 to {}, found {}", kNewestProtocol, protocol));
        return;
      case Opcode::kFrame:
        need(take<std::uint64_t>("a frame's length"), "a frame");
        return;
      case Opcode::kMark:
        if (marks_.size() == kMaxPickleDepth) fail(fmt::format("it is nested more than {} deep", kMaxPickleDepth));
        marks_.push_back(stack_.size());
        return;
      case Opcode::kPop:
        if (!marks_.empty() && stack_.size() == marks_.back()) {
          marks_.pop_back();
        } else {
          pop();
        }
        return;
      case Opcode::kPopMark:
        pop_to_mark();
        return;
      case Opcode::kNone:
        return push(none_);
      case Opcode::kNewTrue:
        return push(true_);
      case Opcode::kNewFalse:
        return push(false_);
      case Opcode::kBinInt:
        return push_number(static_cast<std::int32_t>(take<std::uint32_t>("a number")));
      case Opcode::kBinInt1:
        return push_number(take<std::uint8_t>("a number"));
      case Opcode::kBinInt2:
        return push_number(take<std::uint16_t>("a number"));
      case Opcode::kLong1:
        return push_long(take_text(take<std::uint8_t>("a length"), "a number"));
      case Opcode::kBinFloat:
        take<std::uint64_t>("a number");
        push(add(Kind::kFloat));
        return;
      case Opcode::kBinUnicode:
      case Opcode::kBinString:
        return push_text(take_text(take<std::uint32_t>("a length"), "text"));
      case Opcode::kShortBinUnicode:
      case Opcode::kShortBinString:
        return push_text(take_text(take<std::uint8_t>("a length"), "text"));
      case Opcode::kBinUnicode8:
        return push_text(take_text(take<std::uint64_t>("a length"), "text"));
      default:
        return step_of_values(opcode);
    }
  }

  void step_of_values(std::uint8_t opcode) {
    switch (opcode) {
      case Opcode::kEmptyTuple:
        return push(empty_tuple_);
      case Opcode::kEmptyList:
        return push(add(Kind::kList));
      case Opcode::kEmptyDict:
        return push(add(Kind::kDict));
      case Opcode::kTuple:
        return push_tuple(pop_to_mark());
      case Opcode::kTuple1:
        return push_tuple(pop_last(1));
      case Opcode::kTuple2:
        return push_tuple(pop_last(2));
      case Opcode::kTuple3:
        return push_tuple(pop_last(3));
      case Opcode::kAppend:
        return append({pop()});
      case Opcode::kAppends:
        return append(pop_to_mark());
      case Opcode::kSetItem:
        return set_items(pop_last(2));
      case Opcode::kSetItems:
        return set_items(pop_to_mark());
      case Opcode::kBinPut:
        return put(take<std::uint8_t>("a number"));
      case Opcode::kLongBinPut:
        return put(take<std::uint32_t>("a number"));
      case Opcode::kMemoize:
        return put(static_cast<std::uint32_t>(memo_.size()));
      case Opcode::kBinGet:
        return get(take<std::uint8_t>("a number"));
      case Opcode::kLongBinGet:
        return get(take<std::uint32_t>("a number"));
      case Opcode::kGlobal: {
        const std::string_view module = take_line("the name of a module");
        push_name(module, take_line("a name"));
        return;
      }
      case Opcode::kStackGlobal: {
        const PickleRef name = pop();
        const PickleRef module = pop();
        if (pickle_[module].kind != Kind::kText || pickle_[name].kind != Kind::kText) fail("expected a name's text");
        push_name(pickle_[module].text, pickle_[name].text);
        return;
      }
      case Opcode::kReduce:
        return call();
      case Opcode::kBuild:
        pop();  // other state of an OrderedDict: the versions of a model's parts
        top(Kind::kDict, "an object");
        return;
      case Opcode::kBinPersId: {
        const PickleRef id = pop();
        push(add(Kind::kPersistent));
        pickle_.values.back().items = {id};
        return;
      }
      default:
        refuse_code(fmt::format("the instruction {:#04x}", opcode));
    }
  }

  std::span<const std::byte> bytes_;
  const std::string& source_;
  const std::string& advice_;
  std::size_t at_ = 0;
  Pickle pickle_;
  std::vector<PickleRef> stack_;
  std::vector<std::size_t> marks_;  // the stack size at each mark
  std::unordered_map<std::uint32_t, PickleRef> memo_;
  std::size_t items_copied_ = 0;  // from lists to dicts
  PickleRef none_ = 0;
  PickleRef false_ = 0;
  PickleRef true_ = 0;
  PickleRef empty_tuple_ = 0;
};

}  // namespace

std::string show_pickled(const PickleValue& value) {
  switch (value.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return value.number != 0 ? "True" : "False";
    case Kind::kNumber:
      return fmt::format("the number {}", value.number);
    case Kind::kLongNumber:
      return "a number beyond 64 bits";
    case Kind::kFloat:
      return "a floating-point number";
    case Kind::kText:
      return "the text " + quote_name(value.text);
    case Kind::kTuple:
      return "a tuple";
    case Kind::kList:
      return "a list";
    case Kind::kDict:
      return "a dict";
    case Kind::kName:
      return "a function or class";
    case Kind::kCall:
      return "a tensor";
    case Kind::kPersistent:
      return "a storage";
  }
  return "something else";
}

Pickle read_pickle(std::span<const std::byte> bytes, const std::string& source, const std::string& advice) {
  return PickleReader(bytes, source, advice).read();
}

}  // namespace attnflow::internal
