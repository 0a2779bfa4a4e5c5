#include "attnflow/model/model_card.h"

#include <gtest/gtest.h>

#include "attnflow/base/error.h"
#include "attnflow/files/files_for_test.h"

namespace attnflow::model_card_test {
namespace {

TEST(ModelCard, FrontMatterAndFirstParagraph) {
  const std::string text =
      "---\nlanguage: en\nlicense: cc-by-4.0\ntags:\n- a\n---\n\n# A model\n\n"
      "![a picture](a.png)\n\n| a | b |\n|---|---|\n\nSays whether a verb\r\nis singular **or** plural.\n\nMore.\n";
  const ModelCard card = parse_model_card(text);
  EXPECT_EQ(card.licence, "cc-by-4.0");
  EXPECT_EQ(card.summary, "Says whether a verb is singular **or** plural.");
  EXPECT_EQ(card.text, text);
}

TEST(ModelCard, WithoutFrontMatter) {
  const ModelCard card = parse_model_card("# A model\n```\nlicense: code\n```\n[A link](x) begins it.\n- a list\n");
  EXPECT_EQ(card.licence, "");
  EXPECT_EQ(card.summary, "[A link](x) begins it.");
}

TEST(ModelCard, FormsOfTheLicence) {
  const auto licence = [](const std::string& lines) { return parse_model_card("---\n" + lines + "\n---\n").licence; };
  EXPECT_EQ(licence("license: \"mit\""), "mit");
  EXPECT_EQ(licence("license: 'mit'"), "mit");
  EXPECT_EQ(licence("license:mit"), "mit");
  EXPECT_EQ(licence("license_name: own\nlicense: other"), "own");
  EXPECT_EQ(licence("license: other"), "other");
  EXPECT_EQ(licence("licenses: mit"), "");
  EXPECT_EQ(licence("license:"), "");
  EXPECT_EQ(licence("license: \""), "\"");
}

TEST(ModelCard, AnyTextIsTaken) {
  for (const std::string text : {"", "\n", "---", "---\n", "---\n---", "---\nlicense: mit", "#", "```"}) {
    const ModelCard card = parse_model_card(text);
    EXPECT_EQ(card.summary, "") << text;
    EXPECT_EQ(card.text, text);
  }
}

TEST(ModelCard, WhatIsShownIsShortAndHasNoControlCharacters) {
  EXPECT_EQ(parse_model_card("a\x1b[31m\xff\u0085 b").summary, "a[31m b");
  std::string snowmen;
  for (int i = 0; i < 1000; ++i) snowmen += "\u2603";
  const std::string summary = parse_model_card(snowmen).summary;
  EXPECT_EQ(summary.size(), 303U);  // 100 characters of 3 bytes, and "..."
  EXPECT_TRUE(summary.ends_with("\u2603..."));
}

TEST(ModelCard, OfAFolder) {
  const test::TempFolder folder;
  EXPECT_FALSE(read_model_card(folder.path()));
  test::put(folder / "README.md", "Text.");
  EXPECT_EQ(read_model_card(folder.path())->summary, "Text.");
  std::filesystem::remove(folder / "README.md");
  std::filesystem::create_directory(folder / "README.md");
  test::expect_error(ErrorKind::kBadFile, {"README.md", "folder"}, [&] { read_model_card(folder.path()); });
}

}  // namespace
}  // namespace attnflow::model_card_test
