#include "attnflow/http/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <vector>

namespace attnflow::work_queue_test {
namespace {

class Gate {
 public:
  Job job(const void* exclusive = nullptr) {
    return {.run =
                [this] {
                  begun.release();
                  open.acquire();
                },
            .moved = {},
            .exclusive = exclusive,
            .stop_token = {}};
  }
  std::counting_semaphore<> begun{0};
  std::counting_semaphore<> open{0};
};

TEST(WorkQueue, RunsEverythingThatItTakes) {
  std::atomic<int> ran = 0;
  {
    std::latch done(100);
    WorkQueue queue(4, 1000);
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(queue.submit({.run = [&] {
        ++ran;
        done.count_down();
      }}));
    }
    done.wait();
  }
  EXPECT_EQ(ran, 100);
}

TEST(WorkQueue, RefusesWhatIsTooMuch) {
  Gate gate;
  std::atomic<int> ran = 0;
  {
    WorkQueue queue(1, 2);
    ASSERT_TRUE(queue.submit(gate.job()));
    gate.begun.acquire();
    EXPECT_TRUE(queue.submit({.run = [&] { ++ran; }}));
    EXPECT_TRUE(queue.submit({.run = [&] { ++ran; }}));
    EXPECT_FALSE(queue.submit({.run = [&] { ++ran; }}));
    EXPECT_EQ(queue.waiting(), 2U);
    EXPECT_EQ(queue.running(), 1U);
    std::binary_semaphore last(0);
    gate.open.release();
    while (queue.waiting() > 0) std::this_thread::yield();
    EXPECT_TRUE(queue.submit({.run = [&] { last.release(); }}));
    last.acquire();
  }
  EXPECT_EQ(ran, 2);
}

TEST(WorkQueue, NoRoomToWaitIsRoomToRun) {
  Gate gate;
  WorkQueue queue(1, 0);
  ASSERT_TRUE(queue.submit(gate.job()));
  gate.begun.acquire();
  EXPECT_FALSE(queue.submit({.run = [] {}}));
  gate.open.release();
}

TEST(WorkQueue, FirstComeFirstServed) {
  Gate gate;
  std::vector<int> order;
  std::latch done(5);
  WorkQueue queue(1, 10);
  ASSERT_TRUE(queue.submit(gate.job()));
  gate.begun.acquire();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(queue.submit({.run = [&, i] {
      order.push_back(i);
      done.count_down();
    }}));
  }
  gate.open.release();
  done.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(WorkQueue, ExclusiveJobsLetOthersPass) {
  Gate first;
  Gate second;
  std::binary_semaphore other(0);
  const int model = 0;
  WorkQueue queue(2, 10);
  ASSERT_TRUE(queue.submit(first.job(&model)));
  first.begun.acquire();
  ASSERT_TRUE(queue.submit(second.job(&model)));
  ASSERT_TRUE(queue.submit({.run = [&] { other.release(); }}));
  other.acquire();  // passed the second
  EXPECT_FALSE(second.begun.try_acquire());
  first.open.release();
  second.begun.acquire();
  second.open.release();
}

TEST(WorkQueue, CancelledJobsDoNotRunAndAreDestroyed) {
  Gate gate;
  std::stop_source stop;
  std::atomic<bool> ran = false;
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = held;
  WorkQueue queue(1, 1);
  ASSERT_TRUE(queue.submit(gate.job()));
  gate.begun.acquire();
  ASSERT_TRUE(queue.submit(
      {.run = [&ran, held] { ran = true; }, .moved = {}, .exclusive = nullptr, .stop_token = stop.get_token()}));
  held.reset();
  EXPECT_FALSE(watched.expired());
  stop.request_stop();
  std::binary_semaphore next(0);
  ASSERT_TRUE(queue.submit({.run = [&] { next.release(); }}));  // takes its place
  EXPECT_TRUE(watched.expired());
  gate.open.release();
  next.acquire();
  EXPECT_FALSE(ran);
}

TEST(WorkQueue, SaysHowManyAreBefore) {
  Gate gate;
  std::mutex mutex;
  std::vector<std::string> said;
  std::latch done(2);
  WorkQueue queue(1, 10);
  ASSERT_TRUE(queue.submit(gate.job()));
  gate.begun.acquire();
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(queue.submit({.run = [&] { done.count_down(); },
                              .moved =
                                  [&, name](std::size_t before) {
                                    const std::scoped_lock lock(mutex);
                                    said.push_back(name + std::to_string(before));
                                  },
                              .exclusive = nullptr,
                              .stop_token = {}}));
  }
  gate.open.release();
  done.wait();
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(said, (std::vector<std::string>{"a0", "b1", "b0"}));
}

TEST(WorkQueue, DropsWhatWaitsWhenItEnds) {
  Gate gate;
  std::atomic<bool> ran = false;
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = held;
  {
    WorkQueue queue(1, 10);
    ASSERT_TRUE(queue.submit(gate.job()));
    gate.begun.acquire();
    ASSERT_TRUE(queue.submit({.run = [&ran, held] { ran = true; }}));
    held.reset();
    gate.open.release();
    // The waiting job may still be started before shutdown begins; either way it is gone afterwards.
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace attnflow::work_queue_test
