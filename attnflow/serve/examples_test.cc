#include "attnflow/serve/examples.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/model/builtin_models.h"
#include "attnflow/serve/model_shelf.h"

namespace attnflow::examples_test {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Examples, LinesOfAFile) {
  const Folder folder =
      Folder::built_in("m", {{"examples.txt", bytes("\xef\xbb\xbfone\r\n\n \t\ntwo words\none\nlast")}});
  const std::vector<Example> found = text_examples(folder);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].text, "one");
  EXPECT_EQ(found[1].text, "two words");
  EXPECT_EQ(found[2].text, "last");
  EXPECT_TRUE(text_examples(Folder::built_in("m", {})).empty());

  std::string many;
  for (int i = 0; i < 100; ++i) many += std::to_string(i) + "\n";
  EXPECT_EQ(text_examples(Folder::built_in("m", {{"examples.txt", bytes(many)}})).size(), 20U);
  EXPECT_THROW(text_examples(Folder::built_in("m", {{"examples.txt", bytes("caf\xe9\n")}})), Error);
  const std::string large(std::size_t{1} << 17U, 'x');
  EXPECT_THROW(text_examples(Folder::built_in("m", {{"examples.txt", bytes(large)}})), Error);
}

TEST(Examples, PicturesByName) {
  const std::vector<MemoryFile> files = {
      {"example_t_shirt.png", bytes("b")}, {"example_bag.png", bytes("a")}, {"config.json", {}}, {"other.png", {}}};
  const std::vector<Example> found = picture_examples(files);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "bag");
  EXPECT_EQ(found[0].picture, "a");
  EXPECT_EQ(found[1].name, "t shirt");
}

TEST(Examples, SuitTheTask) {
  ModelInfo info;
  info.head = ModelHead::kMaskedLm;
  for (const Example& example : examples_by_task(info, "<mask>")) {
    EXPECT_NE(example.text.find("<mask>"), std::string::npos) << example.text;
  }
  for (const Example& example : examples_by_task(info, "")) {
    EXPECT_EQ(example.text.find("mask"), std::string::npos) << example.text;
  }
  info.head = ModelHead::kCausalLm;
  EXPECT_FALSE(examples_by_task(info, "").empty());
  info.image.emplace();
  EXPECT_TRUE(examples_by_task(info, "").empty());
}

TEST(Examples, OfTheBuiltInModels) {
  const ModelShelf shelf({});
  ASSERT_FALSE(shelf.models().empty());
  for (const ShelfModel& model : shelf.models()) {
    SCOPED_TRACE(model.name);
    EXPECT_FALSE(model.examples.empty());
    for (const Example& example : model.examples) {
      EXPECT_EQ(example.text.empty(), model.kind == ModelKind::kImage);
      EXPECT_EQ(example.picture.starts_with("\x89PNG"), model.kind == ModelKind::kImage);
    }
  }
}

}  // namespace
}  // namespace attnflow::examples_test
