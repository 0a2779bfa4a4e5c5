// Divides a forward pass among threads so that the result is bitwise independent of their number.
//
// A library that multiplies one matrix on several threads cuts it according to their number, which changes the order of
// sums and so the last bits. Here every call to libtorch and its BLAS stays on the calling thread, and BlockedOps and
// attend() do the cutting: matrices into blocks whose borders depend only on the shape, attention into heads. Whichever
// thread takes a block makes the same call on the same numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace attnflow::internal {

// Multiply-adds that justify a thread and a block: a few tenths of a millisecond, when starting a thread takes a tenth
// of that on an idle machine and much more on a busy one. Attention needs fewer, because its products are small and
// come with a softmax, and so does a product with one row, which waits for memory at every multiply-add.
inline constexpr std::int64_t kWorthOfProduct = 8'000'000;
inline constexpr std::int64_t kWorthOfAttention = 2'000'000;
inline constexpr std::int64_t kWorthOfVector = 1'000'000;

// At most `threads`, as many as `work` justifies; results do not depend on it.
inline std::size_t useful_threads(std::size_t threads, std::int64_t work, std::int64_t worth) {
  return std::min(threads, static_cast<std::size_t>(std::max<std::int64_t>(1, work / worth)));
}

// Divides [0, length) into blocks as equal as possible: the fewest of at most `most` each, rounded up to a power of two
// (without empty blocks), which divides evenly among any usual number of threads.
class Blocks {
 public:
  Blocks(std::int64_t length, std::int64_t most) : length_(length) {
    while (count_ * most < length) count_ *= 2;
    count_ = std::min(count_, length);
  }

  std::int64_t count() const { return count_; }
  std::int64_t begin(std::int64_t block) const { return block * length_ / count_; }
  std::int64_t size(std::int64_t block) const { return begin(block + 1) - begin(block); }

 private:
  std::int64_t length_;
  std::int64_t count_ = 1;
};

// Makes libtorch and OpenBLAS calls from the calling thread use no other thread. OpenBLAS's setting applies to all
// threads; libtorch's applies to this one and those it has not run on yet. Models call this for each run, because a
// program that uses libtorch itself may have changed the setting.
void keep_calls_on_one_thread();

// Calls body(block) for every block in [0, count) on up to `threads` threads, each in inference mode, with its
// library calls kept on that thread.
void split_work(std::size_t threads, std::int64_t count, const std::function<void(std::int64_t block)>& body);

}  // namespace attnflow::internal
