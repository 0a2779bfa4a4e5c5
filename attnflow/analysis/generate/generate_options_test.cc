// All tables of options: names unique for each user, rows that set their own member, and a place in the documents.
#include "attnflow/analysis/generate/generate_options.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "attnflow/attribution/setting_options.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/files/atomic_file.h"

namespace attnflow::generate_options_test {
namespace {

template <typename Take>
void for_each_row(const Take& take) {
  for (const auto& row : setting_options()) take(row);
  for (const auto& row : explain_options()) take(row);
  for (const auto& row : generate_options()) take(row);
}

TEST(Options, HaveOneRowForEachWhoTakesThem) {
  std::set<std::pair<std::string, unsigned>> taken;
  for_each_row([&](const OptionInfo& row) {
    EXPECT_NE(row.uses, 0U) << row.name;
    EXPECT_STRNE(row.help, "") << row.name;
    for (unsigned use = 1; use <= kForGenerations; use <<= 1U) {
      EXPECT_TRUE(!row.is_for(use) || taken.emplace(row.name, use).second) << row.name << " for " << use;
    }
  });
}

TEST(Options, AreInTheDocuments) {
  std::string pages;
  for (const char* const page : {"explain.md", "generation.md", "serve.md", "python.md"}) {
    pages += read_file(std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "docs" / page);
  }
  for_each_row([&](const OptionInfo& row) {
    const bool of_command = row.is_for(kExplainCommand | kImageCommand | kGenerateCommand);
    const std::string name = of_command ? "`--" + row.dashed() : row.name;
    EXPECT_NE(pages.find(name), std::string::npos) << name;
  });
}

OptionValue changed(const OptionValue& value) {
  struct Change {
    OptionValue operator()(bool old) const { return !old; }
    OptionValue operator()(double old) const { return old + 0.5; }
    OptionValue operator()(std::size_t old) const { return old + 1; }
    OptionValue operator()(const std::string& old) const { return old + "x"; }
    OptionValue operator()(std::vector<std::string> old) const {
      old.insert(old.end(), {"1,2", "3,4"});  // words, referents or pairs
      return old;
    }
    OptionValue operator()(std::vector<std::size_t> old) const {
      old.push_back(3);
      return old;
    }
  };
  return std::visit(Change(), value);
}

template <typename Owner>
void expect_own_members(std::span<const Option<Owner>> table) {
  for (const Option<Owner>& row : table) {
    Owner owner;
    const OptionValue other = row.words.empty() ? changed(row.get(owner)) : OptionValue(std::string(row.words.front()));
    row.set(owner, other);
    for (const Option<Owner>& any : table) {
      EXPECT_EQ(any.get(owner), &any == &row ? other : any.get(Owner())) << row.name << " sets " << any.name;
    }
  }
}

TEST(Options, SetTheirOwnMember) {
  expect_own_members(explain_options());
  expect_own_members(generate_options());
}

}  // namespace
}  // namespace attnflow::generate_options_test
