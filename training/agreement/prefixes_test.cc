#include "training/agreement/prefixes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace attnflow::prefixes_test {
namespace {

std::vector<AgreementExample> some_examples(std::size_t count) {
  std::vector<AgreementExample> examples(count);
  for (std::size_t i = 0; i < count; ++i) {
    examples[i].text = "prefix " + std::to_string(i);
    examples[i].plural = i % 2 == 1;
    examples[i].attractor = i % 5 == 0;
    examples[i].source = "book";
  }
  return examples;
}

TEST(Prefixes, AreATableWithAHeader) {
  std::vector<AgreementExample> examples = some_examples(2);
  examples[1].text = "the\tkeys";
  EXPECT_EQ(prefixes_tsv(examples),
            "text\tlabel\tgroup\tsource\nprefix 0\tsingular\tattractor\tbook\nthe keys\tplural\tno attractor\tbook\n");
}

TEST(Prefixes, AreDrawnBalancedAndInOrder) {
  const std::vector<AgreementExample> examples = some_examples(100);
  EXPECT_EQ(draw_prefixes(examples, 0, 1).size(), 100U);
  EXPECT_EQ(draw_prefixes(examples, 200, 1).size(), 100U);
  const std::vector<AgreementExample> drawn = draw_prefixes(examples, 21, 1);
  ASSERT_EQ(drawn.size(), 21U);
  EXPECT_EQ(std::count_if(drawn.begin(), drawn.end(), [](const AgreementExample& e) { return e.plural; }), 10);
  const auto number = [](const AgreementExample& example) { return std::stoul(example.text.substr(7)); };
  EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end(), [&](const AgreementExample& a, const AgreementExample& b) {
    return number(a) < number(b);
  }));
  EXPECT_EQ(prefixes_tsv(draw_prefixes(examples, 21, 1)), prefixes_tsv(drawn));
  EXPECT_NE(prefixes_tsv(draw_prefixes(examples, 21, 2)), prefixes_tsv(drawn));
}

}  // namespace
}  // namespace attnflow::prefixes_test
