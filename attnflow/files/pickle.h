// Reads pickles that describe weights, and nothing else.
//
// A pickle is a program for a stack machine. Python's reader lets it import and call any function, so reading a pickle
// can run arbitrary code. This reader knows only the instructions that build plain values and the few names that
// PyTorch's weights need, and records a call of one of them as a value. It rejects any other name or instruction.
//
// References:
//   The instructions: Lib/pickletools.py of CPython
//   The pickles that PyTorch writes: torch/serialization.py and torch/_utils.py
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/array_file.h"

namespace attnflow::internal {

// Index of a value in Pickle::values.
using PickleRef = std::uint32_t;

struct PickleValue {
  enum class Kind {
    kNone,
    kBool,        // `number`
    kNumber,      // `number`
    kLongNumber,  // an integer beyond 64 bits: its little-endian bytes are `text`
    kFloat,       // value not kept: weights have no floats
    kText,        // `text`
    kTuple,       // `items`
    kList,        // `items`
    kDict,        // `items`: alternating keys and values, in file order; keys may repeat
    kName,        // `name` of a function or class
    kCall,        // `items`: the kName to be called, and the kTuple of its arguments
    kPersistent,  // `items`: the id of an object outside the pickle
  };
  enum class Name { kOrderedDict, kRebuildTensor, kRebuildTensorV2, kRebuildParameter, kStorage };

  Kind kind = Kind::kNone;
  Name name = Name::kOrderedDict;
  DType dtype = DType::kF32;  // element type, for kStorage
  std::int64_t number = 0;
  std::string_view text;  // points into the pickle's bytes; for text, usually UTF-8
  std::vector<PickleRef> items;
};

struct Pickle {
  std::deque<PickleValue> values;  // refer to each other by index; lists and dicts may form cycles
  PickleRef result = 0;
  std::size_t size = 0;  // in bytes, including the instruction that ends it

  const PickleValue& operator[](PickleRef ref) const { return values[ref]; }
};

// Describes a value in messages: "a dict", "the text \"x\"".
std::string show_pickled(const PickleValue& value);

// Larger pickles are rejected; a tensor takes about 150 bytes.
inline constexpr std::size_t kMaxPickleBytes = std::size_t{64} << 20;

// Reads the pickle at the beginning of `bytes`, which must outlive the result; others may follow. Messages call it
// `source`, and end with `advice` where something other than weights is found. Throws Error(kBadFile). Time is linear
// in the pickle's size, and memory is bounded.
Pickle read_pickle(std::span<const std::byte> bytes, const std::string& source, const std::string& advice);

}  // namespace attnflow::internal
