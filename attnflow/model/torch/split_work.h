// Splitting a forward pass among threads so that its bits do not depend on how many there are.
//
// A library that multiplies one matrix on several threads chooses where to cut it by their number, and another cut sums
// in another order: the last bits change with the threads. So here every call of libtorch, and of the BLAS below it,
// stays on the thread that makes it, and BlockedOps and attend() do the cutting: matrices into blocks whose borders
// depend on their shape alone, attention into heads. Threads share out the blocks; whoever takes a block makes the same
// call on the same numbers.
#ifndef ATTNFLOW_MODEL_TORCH_SPLIT_WORK_H_
#define ATTNFLOW_MODEL_TORCH_SPLIT_WORK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace attnflow::internal {

// The multiply-adds that are worth a thread and a block of their own: a few tenths of a millisecond, when starting a
// thread takes a tenth of that on an idle machine and much more on a busy one. Attention's products are small and come
// with a softmax, so it takes longer over each. A product with one row waits for memory, a number for each
// multiply-add, so that fewer of them take as long.
inline constexpr std::int64_t kWorthOfProduct = 8'000'000;
inline constexpr std::int64_t kWorthOfAttention = 2'000'000;
inline constexpr std::int64_t kWorthOfVector = 1'000'000;

// As many of `threads` as there is work for; results do not depend on it.
inline std::size_t useful_threads(std::size_t threads, std::int64_t work, std::int64_t worth) {
  return std::min(threads, static_cast<std::size_t>(std::max<std::int64_t>(1, work / worth)));
}

// [0, length) in blocks as equal as they can be: the fewest of at most `most` each, rounded up to a power of two (but
// no empty ones), which any usual number of threads shares out evenly.
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

// Makes the calling thread's calls of libtorch and of OpenBLAS use no other thread. OpenBLAS's setting holds for all
// threads and libtorch's for this one and those that libtorch has not run on yet, so a model asks for it whenever it
// runs: programs that use libtorch themselves may have set something else meanwhile.
void keep_calls_on_one_thread();

// Calls body(block) for every block in [0, count) on up to `threads` threads, each in inference mode and with its calls
// kept on it.
void split_work(std::size_t threads, std::int64_t count, const std::function<void(std::int64_t block)>& body);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_SPLIT_WORK_H_
