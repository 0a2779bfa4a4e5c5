// What every backend's decoder promises, whatever its numbers are: chunks, room, sinks and stops change nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "attnflow/base/error_for_test.h"
#include "attnflow/base/progress.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/decoder.h"
#include "attnflow/model/numbers_for_test.h"

namespace attnflow::test {

using Ids = std::vector<std::int64_t>;

// Keeps a decoder's attention and checks its chunks: all layers of one before the next, keys up to the last query.
class KeptRows : public AttentionSink {
 public:
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override {
    ASSERT_EQ(attention.rank(), 3U);
    const std::size_t queries = attention.extent(1);
    ASSERT_EQ(attention.extent(2), query_begin + queries);
    if (layer == 1) {
      EXPECT_TRUE(chunks.empty() || (query_begin == tokens() && chunks.back().layers == layers()));
      chunks.push_back({query_begin, queries, 0});
    }
    ASSERT_FALSE(chunks.empty());
    EXPECT_EQ(query_begin, chunks.back().begin);
    EXPECT_EQ(queries, chunks.back().queries);
    EXPECT_EQ(layer, ++chunks.back().layers);
    rows_.resize(std::max(rows_.size(), layer));
    rows_[layer - 1].resize(attention.extent(0));
    for (std::size_t head = 0; head < attention.extent(0); ++head) {
      for (std::size_t query = 0; query < queries; ++query) {
        const std::span<const float> row = attention[head][query].span();
        rows_[layer - 1][head].emplace_back(row.begin(), row.end());
      }
    }
  }

  std::size_t layers() const { return rows_.size(); }
  std::size_t heads() const { return rows_.at(0).size(); }
  std::size_t tokens() const { return chunks.empty() ? 0 : chunks.back().begin + chunks.back().queries; }
  // Returns a query's weights on the tokens up to itself. Layers count from 1.
  std::span<const float> row(std::size_t layer, std::size_t head, std::size_t query) const {
    return std::span(stored(layer, head, query)).first(query + 1);
  }
  // Returns `keys` weights of a query: 0 after the keys that it arrived with.
  std::vector<float> row(std::size_t layer, std::size_t head, std::size_t query, std::size_t keys) const {
    std::vector<float> values = stored(layer, head, query);
    EXPECT_LE(values.size(), keys);
    values.resize(keys, 0.0F);
    return values;
  }
  friend bool operator==(const KeptRows& a, const KeptRows& b) { return a.rows_ == b.rows_; }

  struct Chunk {
    std::size_t begin = 0;
    std::size_t queries = 0;
    std::size_t layers = 0;
  };
  std::vector<Chunk> chunks;

 private:
  const std::vector<float>& stored(std::size_t layer, std::size_t head, std::size_t query) const {
    return rows_.at(layer - 1).at(head).at(query - chunks.at(0).begin);
  }

  std::vector<std::vector<std::vector<std::vector<float>>>> rows_;  // [layer][head][query][key]
};

// Returns the largest difference between two runs over the same tokens, cut anyhow.
inline double largest_difference(const KeptRows& a, const KeptRows& b) {
  if (a.layers() != b.layers() || a.tokens() != b.tokens() || a.layers() == 0 || a.heads() != b.heads())
    return std::numeric_limits<double>::infinity();
  double largest = 0.0;
  for (std::size_t layer = 1; layer <= a.layers(); ++layer) {
    for (std::size_t head = 0; head < a.heads(); ++head) {
      for (std::size_t query = 0; query < a.tokens(); ++query) {
        largest = std::max(
            largest, largest_difference(a.row(layer, head, query, a.tokens()), b.row(layer, head, query, a.tokens())));
      }
    }
  }
  return largest;
}

// Expects the rows of `queries` to be `expected`, [layer, head, row, key].
inline void expect_rows(const KeptRows& found, const Tensor<float>& expected, const std::vector<std::size_t>& queries,
                        double tolerance) {
  ASSERT_EQ(expected.rank(), 4U);
  ASSERT_EQ(found.layers(), expected.extent(0));
  ASSERT_EQ(found.heads(), expected.extent(1));
  ASSERT_EQ(queries.size(), expected.extent(2));
  double largest = 0.0;
  for (std::size_t layer = 0; layer < expected.extent(0); ++layer) {
    for (std::size_t head = 0; head < expected.extent(1); ++head) {
      for (std::size_t i = 0; i < queries.size(); ++i) {
        largest = std::max(largest, largest_difference(found.row(layer + 1, head, queries[i], expected.extent(3)),
                                                       expected[layer][head][i].span()));
      }
    }
  }
  EXPECT_LE(largest, tolerance);
}

class ActingSink : public AttentionSink {
 public:
  explicit ActingSink(std::function<void(std::size_t)> action) : action_(std::move(action)) {}
  void layer(std::size_t layer, std::size_t, TensorView<const float>) override { action_(layer); }

 private:
  std::function<void(std::size_t)> action_;
};

// Allowed differences: of an attention weight, and of a logit, relative to the largest if that is above 1.
struct DecoderTolerance {
  double attention = 2e-5;
  double logits = 1e-4;
};

// Appends `ids` to an empty sequence, in parts of these sizes; the last size repeats. Returns the last logits.
inline Tensor<float> append_in_parts(Decoder& decoder, const Ids& ids, const std::vector<std::size_t>& parts,
                                     AttentionSink* sink) {
  decoder.clear();
  EXPECT_EQ(decoder.length(), 0U);
  Tensor<float> logits;
  std::size_t done = 0;
  for (std::size_t i = 0; done < ids.size(); ++i) {
    const std::size_t part = std::min(parts.at(std::min(i, parts.size() - 1)), ids.size() - done);
    logits = decoder.append(std::span(ids).subspan(done, part), sink);
    done += part;
    EXPECT_EQ(decoder.length(), done);
  }
  return logits;
}

inline void expect_parts_agree(Decoder& decoder, const Ids& ids, const std::vector<std::vector<std::size_t>>& lists,
                               DecoderTolerance tolerance) {
  KeptRows whole;
  const Tensor<float> expected = decoder.run({ids, {}}, &whole, {{ids.size() - 1}}).logits;
  for (const std::vector<std::size_t>& parts : lists) {
    KeptRows rows;
    expect_close(append_in_parts(decoder, ids, parts, &rows), expected[0], tolerance.logits);
    EXPECT_LE(largest_difference(rows, whole), tolerance.attention);
  }
}

// Expects logits after a rewind to be those after the tokens that were kept.
inline void expect_rewinds(Decoder& decoder, const Ids& ids, DecoderTolerance tolerance) {
  for (const std::size_t kept : {ids.size() - 1, ids.size() / 2, std::size_t{1}, std::size_t{0}}) {
    Ids other(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept));
    const Ids rest = {ids[ids.size() - 1], ids[0], ids[1]};
    other.insert(other.end(), rest.begin(), rest.end());
    decoder.clear();
    const Tensor<float> expected = decoder.append(other, nullptr);
    decoder.clear();
    decoder.append(ids, nullptr);
    decoder.rewind(kept);
    EXPECT_EQ(decoder.length(), kept);
    expect_close(decoder.append(rest, nullptr), expected, tolerance.logits);
    EXPECT_EQ(decoder.length(), other.size());
  }
  expect_error(ErrorKind::kUsage, {"at most"}, [&] { decoder.rewind(ids.size() + 5); });
}

// Expects the same bits with and without a sink, also for a token after `ids`.
inline void expect_looking_changes_nothing(Decoder& decoder, const Ids& ids) {
  const auto logits = [&](AttentionSink* sink) {
    decoder.clear();
    const Tensor<float> first = decoder.append(ids, sink);
    return std::pair(first, decoder.append(Ids{5}, sink));
  };
  KeptRows sink;
  EXPECT_TRUE(logits(&sink) == logits(nullptr));
  EXPECT_EQ(sink.tokens(), ids.size() + 1);
}

// Expects the same bits whether room grows as tokens arrive, exists from the start, or is reserved on the way. `load`
// loads the decoder with room for a number of tokens.
inline void expect_room_changes_nothing(const std::function<std::unique_ptr<Decoder>(std::size_t)>& load,
                                        std::size_t little, std::size_t enough, const Ids& ids,
                                        const std::vector<std::size_t>& parts) {
  const auto growing = load(little);
  const auto asked = load(little);
  const auto roomy = load(enough);
  KeptRows rows;
  KeptRows rows_in_room;
  std::size_t done = 0;
  for (std::size_t i = 0; done < ids.size(); ++i) {
    const auto part =
        std::span(ids).subspan(done, std::min(parts.at(std::min(i, parts.size() - 1)), ids.size() - done));
    const Tensor<float> logits = growing->append(part, &rows);
    ASSERT_TRUE(roomy->append(part, &rows_in_room) == logits) << done;
    ASSERT_TRUE(asked->append(part, nullptr) == logits) << done;
    done += part.size();
    if (done == 100) asked->reserve(250);
    if (done == 255) asked->reserve(100000);  // more than the number of positions
  }
  EXPECT_EQ(roomy->length(), ids.size());
  EXPECT_TRUE(rows == rows_in_room);
}

inline void expect_logits_where_asked(Decoder& decoder, const Ids& ids, double tolerance) {
  const std::size_t last = ids.size() - 1;
  const std::vector<std::size_t> positions = {last, 3, last / 2, 3};
  const Tensor<float> logits = decoder.run({ids, {}}, nullptr, {positions}).logits;
  ASSERT_EQ(logits.shape(), (Shape{positions.size(), decoder.info().vocabulary}));
  EXPECT_EQ(decoder.length(), ids.size());
  EXPECT_EQ(decoder.run({ids, {}}, nullptr).logits.size(), 0U);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    decoder.clear();
    expect_close(logits[i], decoder.append(std::span(ids).first(positions[i] + 1), nullptr), tolerance);
  }
}

// Expects a replay to give the rows that the model used, from the top layer down, singly and in tiles.
inline void expect_replay_agrees(Decoder& decoder, const Ids& ids, double tolerance) {
  const std::size_t tokens = ids.size();
  decoder.clear();
  KeptRows expected;
  const Tensor<float> logits = decoder.append(ids, &expected);
  Tensor<float> found_logits;
  const std::unique_ptr<AttentionReplay> replay = decoder.run_for_replay(ids, &found_logits);
  EXPECT_TRUE(found_logits == logits);
  ASSERT_EQ(replay->layers(), decoder.info().layers);
  ASSERT_EQ(replay->heads(), decoder.info().heads);
  ASSERT_EQ(replay->tokens(), tokens);

  struct Compare : AttentionSink {
    explicit Compare(const KeptRows& rows) : expected(rows) {}
    void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override {
      calls.push_back({layer, query_begin, query_begin + attention.extent(1)});
      EXPECT_EQ(attention.extent(0), expected.heads());
      EXPECT_LE(attention.extent(2), expected.tokens());
      for (std::size_t head = 0; head < attention.extent(0); ++head) {
        for (std::size_t i = 0; i < attention.extent(1); ++i) {
          const TensorView<const float> row = attention[head][i];
          std::vector<float> values(row.span().begin(), row.span().end());
          values.resize(expected.tokens(), 0.0F);
          largest = std::max(largest,
                             largest_difference(values, expected.row(layer, head, query_begin + i, expected.tokens())));
        }
      }
    }
    const KeptRows& expected;
    std::vector<std::vector<std::size_t>> calls;  // layer, first query and the one after the last
    double largest = 0.0;
  } compare(expected);
  for (std::size_t layer = replay->layers(); layer > 0; --layer) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{50}, tokens}) {
      for (std::size_t begin = 0; begin < tokens; begin += step == 1 ? 37 : step) {
        const std::size_t end = std::min(tokens, begin + step);
        compare.calls.clear();
        replay->rows(layer, begin, end, compare);
        EXPECT_EQ(compare.calls, (std::vector<std::vector<std::size_t>>{{layer, begin, end}}));
      }
    }
  }
  EXPECT_LE(compare.largest, tolerance);
}

// Expects a decoder that is stopped, or whose sink throws, to forget its sequence and then to work as before.
inline void expect_stops_and_forgets(Decoder& decoder, const Ids& ids) {
  decoder.clear();
  const Tensor<float> expected = decoder.append(ids, nullptr);
  const auto expect_forgotten = [&] {
    EXPECT_EQ(decoder.length(), 0U);
    EXPECT_TRUE(decoder.append(ids, nullptr) == expected);
    decoder.clear();
  };
  std::stop_source source;
  std::size_t last = 0;
  ActingSink stopping([&](std::size_t layer) {
    last = layer;
    if (layer == 2) source.request_stop();
  });
  decoder.clear();
  decoder.append(std::span(ids).first(10), nullptr);
  EXPECT_THROW(decoder.append(std::span(ids).subspan(10), &stopping, source.get_token()), Cancelled);
  EXPECT_EQ(last, 2U);
  expect_forgotten();
  EXPECT_THROW(decoder.append(ids, nullptr, source.get_token()), Cancelled);
  EXPECT_THROW(decoder.run_for_replay(ids, nullptr, source.get_token()), Cancelled);
  expect_forgotten();
  ActingSink throwing([](std::size_t layer) {
    if (layer == 3) throw Error(ErrorKind::kOther, "no room for layer 3");
  });
  expect_error(ErrorKind::kOther, {"no room for layer 3"}, [&] { decoder.append(ids, &throwing); });
  expect_forgotten();
}

}  // namespace attnflow::test
