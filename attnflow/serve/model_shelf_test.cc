#include "attnflow/serve/model_shelf.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace attnflow::model_shelf_test {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden";
const std::string kEncoder = (kGolden / "models" / "bert_masked_lm").string();
const std::string kDecoder = (kGolden / "decoders" / "llama_grouped").string();

TEST(ModelShelf, TheModelNamedFirstIsTheFirst) {
  struct Case {
    std::vector<std::string> references;
    std::vector<std::string> names;
    std::string text, image, generation;  // for a request without a model
  };
  const std::vector<Case> cases = {
      {{}, {"agreement", "fashion"}, "agreement", "fashion", ""},
      {{"fashion"}, {"fashion", "agreement"}, "agreement", "fashion", ""},
      {{kEncoder}, {"bert_masked_lm", "agreement", "fashion"}, "bert_masked_lm", "fashion", ""},
      {{"agreement", kEncoder}, {"agreement", "bert_masked_lm", "fashion"}, "agreement", "fashion", ""},
      {{kDecoder, kEncoder},
       {"llama_grouped", "bert_masked_lm", "agreement", "fashion"},
       "llama_grouped",
       "fashion",
       "llama_grouped"},
      {{kEncoder, "fashion", kDecoder, "fashion"},
       {"bert_masked_lm", "fashion", "llama_grouped", "agreement"},
       "bert_masked_lm",
       "fashion",
       "llama_grouped"},
  };
  for (const Case& one : cases) {
    ModelShelf shelf(one.references);
    std::vector<std::string> names;
    for (const ShelfModel& model : shelf.models()) names.push_back(model.name);
    EXPECT_EQ(names, one.names);
    const auto first = [&](const std::vector<ModelKind>& kinds) {
      const ShelfModel* const model = shelf.first(kinds);
      return model == nullptr ? std::string() : model->name;
    };
    EXPECT_EQ(first(kTextModels), one.text);
    EXPECT_EQ(first({ModelKind::kImage}), one.image);
    EXPECT_EQ(first({ModelKind::kGeneration}), one.generation);
  }
}

}  // namespace
}  // namespace attnflow::model_shelf_test
