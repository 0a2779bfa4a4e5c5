#include "attnflow/text/sentencepiece_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/text/model_folder_for_test.h"
#include "attnflow/text/sentencepiece_for_test.h"
#include "attnflow/text/sentencepiece_merges.h"

namespace attnflow::internal {
namespace {

using test::refusal;

const std::string kUnknown = piece_field("<unk>", 0, PieceType::kUnknown);

// An empty trie and the text "x".
const std::string kCharsmap("\4\0\0\0\0\0\0\0x\0", 10);

std::string failure(const std::string& bytes) {
  return refusal(ErrorKind::kBadFile, [&] { (void)parse_sentencepiece(bytes, "m.model"); });
}

TEST(SentencePieceFile, WhatIsNotThereHasTheFormatsDefaults) {
  const SentencePieceModel model = parse_sentencepiece(kUnknown + bytes_field(1, bytes_field(1, "a")), "m.model");
  ASSERT_EQ(model.pieces.size(), 2U);
  EXPECT_EQ(model.unknown, 0U);
  EXPECT_EQ(model.pieces[1].text, "a");
  EXPECT_EQ(model.pieces[1].score, 0.0F);
  EXPECT_EQ(model.pieces[1].type, PieceType::kNormal);
  EXPECT_EQ(model.kind, SentencePieceKind::kUnigram);
  EXPECT_FALSE(model.byte_fallback);
  EXPECT_FALSE(model.whitespace_as_suffix);
  EXPECT_TRUE(model.charsmap.empty());
  EXPECT_TRUE(model.add_dummy_prefix);
  EXPECT_TRUE(model.remove_extra_whitespaces);
  EXPECT_TRUE(model.escape_whitespaces);
}

TEST(SentencePieceFile, EverythingThatIsSaidIsRead) {
  std::string bytes = piece_field("▁the", -1.5F) + kUnknown + piece_field("</s>", 0, PieceType::kControl);
  for (int byte = 0; byte < 256; ++byte) bytes += piece_field(fmt::format("<0x{:02X}>", byte), 0, PieceType::kByte);
  bytes +=
      bytes_field(2, number_field(3, 2) + number_field(24, 1) + number_field(35, 1) + bytes_field(1, "corpus.txt"));
  bytes += bytes_field(3, bytes_field(2, kCharsmap) + number_field(3, 0) + number_field(4, 0));
  bytes += bytes_field(3, number_field(5, 0));  // continues the same message
  bytes += bytes_field(4, "self test") + number_field(100, 7) + float_field(101, 1) + varint(102U << 3U | 1U) +
           std::string(8, '\0');
  const SentencePieceModel model = parse_sentencepiece(bytes, "m.model");
  EXPECT_EQ(model.pieces[0].text, "▁the");
  EXPECT_EQ(model.pieces[0].score, -1.5F);
  EXPECT_EQ(model.unknown, 1U);
  EXPECT_EQ(model.pieces[2].type, PieceType::kControl);
  EXPECT_EQ(model.kind, SentencePieceKind::kBpe);
  EXPECT_TRUE(model.byte_fallback);
  EXPECT_TRUE(model.whitespace_as_suffix);
  EXPECT_EQ(model.charsmap, kCharsmap);
  EXPECT_FALSE(model.add_dummy_prefix);
  EXPECT_FALSE(model.remove_extra_whitespaces);
  EXPECT_FALSE(model.escape_whitespaces);
}

TEST(SentencePieceFile, BytesThatAreNoMessageAreNamedWithTheirPlace) {
  expect_mentions(failure("\x07"), "expected a SentencePiece model, found field number 0 at byte 0");
  expect_mentions(failure("\x0F"), "found wire type 7 at byte 0");
  expect_mentions(failure(kUnknown + "\x0B"), fmt::format("found wire type 3 at byte {}", kUnknown.size()));
  expect_mentions(failure("\x08"), "found a number that is cut off at byte 1");
  expect_mentions(failure("\x08" + std::string(11, '\xFF')), "found a number of more than ten bytes at byte 1");
  expect_mentions(failure("\x0A\x05"
                          "ab"),
                  "found a field of 5 bytes of which only 2 are present at byte 2");
  expect_mentions(failure(varint(1U << 3U | 2U) + varint(~std::uint64_t{0})), "of which only 0 are present");
  expect_mentions(failure("\x0D\x01"), "found a field of 4 bytes of which only 1 are present");
  expect_mentions(failure(number_field(1, 5)), "found wire type 0 for a piece at byte 0");
  expect_mentions(failure(bytes_field(1, float_field(1, 2))), "found wire type 5 for a piece's text at byte 2");
  expect_mentions(failure("version https://git-lfs.github.com/spec/v1\n"), "a Git LFS pointer");
  expect_mentions(failure("version https://git-lfs.github.com/spec/v1\n"), "git lfs pull");
  expect_mentions(failure("\x07"), "m.model: ");
}

TEST(SentencePieceFile, ModelsThatSentencePieceWouldNotLoadAreRefused) {
  expect_mentions(failure(""), "expected a SentencePiece model with pieces, found none");
  expect_mentions(failure(piece_field("a")), "expected one piece for unknown text, found 0");
  expect_mentions(failure(kUnknown + piece_field("u", 0, PieceType::kUnknown)), "for unknown text, found 2");
  expect_mentions(failure(kUnknown + piece_field("a") + piece_field("a")),
                  "expected pieces that differ, found \"a\" twice");
  expect_mentions(failure(kUnknown + piece_field(std::string(1025, 'a'))),
                  "expected pieces of at most 1024 bytes, found 1025 in piece 1");
  expect_mentions(failure(std::string(kMaxSentencePieceBytes + 1, ' ')), "of at most 16777216 bytes");
  expect_mentions(failure(kUnknown + piece_field("")), "expected a text for each piece, found none for piece 1");
  expect_mentions(failure(kUnknown + piece_field("a\xFF")), "expected pieces in UTF-8, found \"a\\xff\" as piece 1");
  expect_mentions(failure(kUnknown + piece_field("a", std::numeric_limits<float>::quiet_NaN())), "found nan for \"a\"");
  expect_mentions(failure(kUnknown + piece_field("a", std::numeric_limits<float>::infinity())), "found inf for \"a\"");
  for (const std::string& map :
       {std::string("\4\0\0", 3), std::string("\0\0\0\xC4", 4), kCharsmap.substr(0, 7), "\1" + kCharsmap.substr(1)}) {
    expect_mentions(failure(kUnknown + bytes_field(3, bytes_field(2, map))),
                    "expected a precompiled_charsmap with a whole trie");
  }
  expect_mentions(failure(bytes_field(1, bytes_field(1, "a") + number_field(3, 7))), "a type from 1 to 6, found 7");
  expect_mentions(failure(kUnknown + bytes_field(2, number_field(3, 0))), "a model_type from 1 to 4, found 0");
  expect_mentions(failure(kUnknown + bytes_field(2, number_field(35, 1))),
                  "as byte_fallback says, found none for <0x00>");
}

TEST(SentencePieceFile, AFileThatIsCutOffIsAnErrorOrAnotherModel) {
  const std::string whole =
      sentencepiece({"<pad>", "</s>", "<unk>"}, {"▁", "a", "▁the", "b"}) + bytes_field(3, number_field(4, 0));
  ASSERT_EQ(parse_sentencepiece(whole, "m.model").pieces.size(), 7U);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    try {
      EXPECT_LE(parse_sentencepiece(whole.substr(0, size), "m.model").pieces.size(), 7U);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadFile);
    }
  }
}

TEST(SentencePieceFile, AnyBytesGiveAModelOrABadFile) {
  rc::check([](std::vector<std::uint8_t> bytes, bool behind_a_model) {
    std::string text = behind_a_model ? kUnknown : "";
    text.append(bytes.begin(), bytes.end());
    try {
      (void)parse_sentencepiece(text, "m.model");
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::kBadFile);
    }
  });
}

TEST(SentencePieceMerges, TheBestPieceFirstAndOfOnePieceTheLongestLeftPart) {
  std::string bytes = kUnknown + piece_field("</s>", 0, PieceType::kControl);
  const std::vector<std::pair<std::string, float>> pieces = {{"é", -9},  {"b", -10},  {"c", -11}, {"éb", -2},
                                                             {"bc", -3}, {"ébc", -1}, {"zb", -4}};
  for (const auto& [text, score] : pieces) bytes += piece_field(text, score);
  bytes += piece_field("cc", -1, PieceType::kUnused);
  const SentencePieceModel model = parse_sentencepiece(bytes, "m.model");
  using Merge = std::pair<std::string_view, std::string_view>;
  EXPECT_EQ(sentencepiece_merges(model), (std::vector<Merge>{{"éb", "c"}, {"é", "bc"}, {"é", "b"}, {"b", "c"}}));
}

}  // namespace
}  // namespace attnflow::internal
