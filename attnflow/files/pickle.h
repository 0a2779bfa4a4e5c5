// Reading pickles that describe weights, and nothing else.
//
// A pickle is a program for a stack machine. Python's reader lets it import any function and call it, so that reading a
// pickle can run whatever its author likes. This reader has nothing to call: it knows the instructions that build plain
// values, takes the few names that PyTorch's weights need, and keeps a call of one of them as a value that says so.
// Any other name or instruction is refused when it is met.
//
// References:
//   The instructions: Lib/pickletools.py of CPython
//   What PyTorch writes with them: torch/serialization.py and torch/_utils.py
#ifndef ATTNFLOW_FILES_PICKLE_H_
#define ATTNFLOW_FILES_PICKLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/array_file.h"

namespace attnflow::internal {

// A value's number in Pickle::values.
using PickleRef = std::uint32_t;

struct PickleValue {
  enum class Kind {
    kNone,
    kBool,        // `number`
    kNumber,      // `number`
    kLongNumber,  // one beyond 64 bits: its little-endian bytes are `text`
    kFloat,       // not kept: weights have none
    kText,        // `text`
    kTuple,       // `items`
    kList,        // `items`
    kDict,        // `items`: a key, its value, the next key...; as they came, one key perhaps twice
    kName,        // `name`, of a function or a class
    kCall,        // `items`: a kName that would be called, and the kTuple of its arguments
    kPersistent,  // `items`: the id of something that lies outside the pickle
  };
  enum class Name { kOrderedDict, kRebuildTensor, kRebuildTensorV2, kRebuildParameter, kStorage };

  Kind kind = Kind::kNone;
  Name name = Name::kOrderedDict;
  DType dtype = DType::kF32;  // of kStorage: what it holds
  std::int64_t number = 0;
  std::string_view text;  // in the pickle's bytes; of text, usually UTF-8
  std::vector<PickleRef> items;
};

struct Pickle {
  std::deque<PickleValue> values;  // each refers to others by number; lists and dicts may be in cycles
  PickleRef result = 0;
  std::size_t size = 0;  // bytes, up to and with the instruction that ends it

  const PickleValue& operator[](PickleRef ref) const { return values[ref]; }
};

// "a dict", "the text \"x\"": for messages.
std::string show_pickled(const PickleValue& value);

// Pickles beyond this are refused; a tensor takes about 150 bytes.
inline constexpr std::size_t kMaxPickleBytes = std::size_t{64} << 20;

// The pickle at the beginning of `bytes`, which must outlive it; others may follow. `source` is what messages call it,
// and `advice` is said where something other than weights is found. Throws Error(kBadFile). Work is linear in the
// pickle's size, and memory is bounded.
Pickle read_pickle(std::span<const std::byte> bytes, const std::string& source, const std::string& advice);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_PICKLE_H_
