#include "attnflow/flow/flow_bounds.h"

#include <gtest/gtest.h>

#include <random>

#include "attnflow/flow/blocking_flow.h"
#include "attnflow/flow/naive_flow_for_test.h"
#include "attnflow/flow/vector_targets_for_test.h"

namespace attnflow::internal::flow_bounds_test {
namespace {

// Units from zero to the largest allowed entry, with all orders of magnitude equally likely.
std::int64_t random_units(std::mt19937_64& random, int bits) {
  const int used = std::uniform_int_distribution<int>(0, bits)(random);
  return used == 0 ? 0 : std::uniform_int_distribution<std::int64_t>(0, std::int64_t{1} << used)(random);
}

std::vector<std::int64_t> random_row(std::mt19937_64& random, std::size_t count, int bits) {
  std::vector<std::int64_t> row(count);
  for (auto& units : row) units = random_units(random, bits);
  return row;
}

TEST(FlowBounds, SumOfMinimaIsThePlainSum) {
  for_each_vector_target([] {
    std::mt19937_64 random(1);
    std::size_t saturated = 0;
    for (std::size_t count = 0; count <= 70; ++count) {
      for (const int bits : {8, 40, 59, 61}) {
        const auto a = random_row(random, count, bits);
        const auto b = random_row(random, count, bits);
        for (const std::int64_t start : {std::int64_t{0}, random_units(random, 61), kManyUnits}) {
          WideUnits expected = start;
          for (std::size_t e = 0; e < count; ++e) expected += std::min(a[e], b[e]);
          saturated += expected > kManyUnits;
          expected = std::min<WideUnits>(expected, kManyUnits);
          EXPECT_EQ(sum_of_minima(a.data(), b.data(), count, start), static_cast<std::int64_t>(expected))
              << count << " entries of up to " << bits << " bits";
        }
      }
    }
    EXPECT_GT(saturated, 10U);
    const std::vector<std::int64_t> full(33, kManyUnits / 2);
    EXPECT_EQ(sum_of_minima(full.data(), full.data(), 33, 0), kManyUnits);
    EXPECT_EQ(sum_of_minima(full.data(), full.data(), 1, 5), kManyUnits / 2 + 5);
  });
}

TEST(FlowBounds, AddRowIsThePlainSum) {
  for_each_vector_target([] {
    std::mt19937_64 random(2);
    for (std::size_t count = 0; count <= 70; ++count) {
      for (const int bits : {8, 40, 60, 61}) {
        const auto row = random_row(random, count, bits);
        auto to = random_row(random, count + 3, bits);
        auto expected = to;
        for (std::size_t e = 0; e < count; ++e) {
          expected[e] = static_cast<std::int64_t>(
              std::min(static_cast<WideUnits>(to[e]) + row[e], static_cast<WideUnits>(kManyUnits / 2)));
        }
        add_row(row.data(), count, to.data());
        EXPECT_EQ(to, expected) << count << " entries of up to " << bits << " bits";  // nothing else is touched either
      }
    }
  });
}

struct Layers {
  std::size_t nodes, below, stride;
  std::vector<std::int64_t> capacity, mass;
  std::vector<std::uint32_t> widest;

  Layers(std::mt19937_64& random, std::size_t upper, std::size_t lower, int bits)
      : nodes(upper), below(lower), stride(padded(lower)), capacity(upper * stride, 0), mass(upper), widest(upper) {
    for (std::size_t p = 0; p < nodes; ++p) {
      std::int64_t* row = capacity.data() + p * stride;
      for (std::size_t q = 0; q < below; ++q) {
        row[q] = random_units(random, bits);
        mass[p] = add_units(mass[p], row[q]);
        if (row[q] > row[widest[p]]) widest[p] = static_cast<std::uint32_t>(q);
      }
    }
  }
  PushedLayer of(std::size_t p) const {
    return {capacity.data() + p * stride, 1, stride, mass.data() + p, widest.data() + p};
  }
  PushedLayer all() const { return {capacity.data(), nodes, stride, mass.data(), widest.data()}; }
};

TEST(FlowBounds, WhatIsPushedDownIsAFlow) {
  for_each_vector_target([] {
    std::mt19937_64 random(3);
    std::size_t filled = 0;
    std::size_t spread = 0;
    for (std::size_t round = 0; round < 300; ++round) {
      const std::size_t upper = std::uniform_int_distribution<std::size_t>(1, 20)(random);
      const std::size_t lower = std::uniform_int_distribution<std::size_t>(1, 40)(random);
      // Rows of a network sum to less than 2^61 (FixedPoint).
      const Layers layers(random, upper, lower, round % 3 == 0 ? 55 : round % 3 == 1 ? 30 : 3);
      std::vector<std::int64_t> from(upper);
      std::vector<std::int64_t> to(layers.stride, -1);
      std::vector<std::int64_t> sum(layers.stride, 0);
      std::int64_t arrived_in_all = 0;
      for (std::size_t p = 0; p < upper; ++p) {
        const std::int64_t mass = layers.mass[p];
        const std::int64_t choices[] = {0, 1, mass / 2, mass - 1, mass, mass + 1, random_units(random, 60)};
        from[p] = std::max<std::int64_t>(0, choices[std::uniform_int_distribution<std::size_t>(0, 6)(random)]);
        const std::int64_t arrived = push_down(layers.of(p), from.data() + p, to.data());
        std::int64_t total = 0;
        for (std::size_t q = 0; q < layers.stride; ++q) {
          EXPECT_TRUE(to[q] >= 0 && to[q] <= layers.capacity[p * layers.stride + q]) << q;
          total += to[q];
          sum[q] += to[q];
        }
        EXPECT_EQ(arrived, total) << "what arrives is what was counted";
        EXPECT_LE(arrived, from[p]);
        const std::int64_t possible = std::min(from[p], mass);
        if (from[p] >= mass) {
          EXPECT_EQ(arrived, mass);
          ++filled;
        } else if (from[p] > 0) {
          // At most one unit per arc and a fraction of 2^-49 do not fit anywhere.
          EXPECT_GE(arrived, possible - static_cast<std::int64_t>(lower) - (possible >> 49));
          ++spread;
        }
        arrived_in_all += arrived;
      }
      std::vector<std::int64_t> together(layers.stride, -1);
      EXPECT_EQ(push_down(layers.all(), from.data(), together.data()), arrived_in_all);
      EXPECT_EQ(together, sum);
    }
    EXPECT_GT(filled, 500U);
    EXPECT_GT(spread, 500U);
  });
}

TEST(FlowBounds, ARowWhoseSumSaturatedSendsNothing) {
  for_each_vector_target([] {
    const std::vector<std::int64_t> capacity(8, kManyUnits / 2);
    const std::int64_t mass = kManyUnits;
    const std::uint32_t widest = 0;
    const std::int64_t from = 1000;
    std::vector<std::int64_t> to(8, -1);
    EXPECT_EQ(push_down({capacity.data(), 1, 8, &mass, &widest}, &from, to.data()), 0);
    EXPECT_EQ(to, std::vector<std::int64_t>(8, 0));
  });
}

}  // namespace
}  // namespace attnflow::internal::flow_bounds_test
