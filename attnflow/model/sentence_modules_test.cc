#include "attnflow/model/sentence_modules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "attnflow/base/error_for_test.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/model/model_for_test.h"
#include "attnflow/model/model_weights.h"

namespace attnflow::sentence_modules_test {
namespace {

constexpr const char* kUsual = R"([
  {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
  {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
  {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])";

// A folder with these modules and this pooling.
class SentenceFolder {
 public:
  SentenceFolder(const std::string& modules, const std::string& pooling) : model_("bert_base") {
    std::filesystem::create_directories(path() / "1_Pooling");
    test::put(path() / "modules.json", modules);
    test::put(path() / "1_Pooling" / "config.json", pooling);
  }
  const std::filesystem::path& path() const { return model_.path(); }

 private:
  test::ModelCopy model_;
};

SentencePooling pooling_of(const std::string& config, const std::string& modules = kUsual) {
  return read_sentence_pooling(SentenceFolder(modules, config).path());
}

TEST(SentencePooling, TheMeanWhereNothingIsSaid) {
  const test::ModelCopy model("bert_base");
  const SentencePooling found = read_sentence_pooling(model.path());
  EXPECT_EQ(found.pooling, Pooling::kMean);
  EXPECT_FALSE(found.is_declared);
  EXPECT_EQ(found.unknown, "");
  EXPECT_EQ(find_weights(model.path()).info.head, ModelHead::kEmbedding);
}

TEST(SentencePooling, ReadsBothFormsOfTheFile) {
  const auto old = [](const std::string& mode) {
    return R"({"word_embedding_dimension": 32, "pooling_mode_cls_token": )" +
           std::string(mode == "cls" ? "true" : "false") + R"(, "pooling_mode_mean_tokens": )" +
           std::string(mode == "mean" ? "true" : "false") + R"(, "pooling_mode_mean_sqrt_len_tokens": )" +
           std::string(mode == "mean_sqrt_len" ? "true" : "false") + "}";
  };
  for (const std::string& config : {old("cls"), std::string(R"({"pooling_mode": "cls"})")}) {
    EXPECT_EQ(pooling_of(config).pooling, Pooling::kFirstToken) << config;
  }
  for (const std::string& config : {old("mean"), old("mean_sqrt_len"), std::string(R"({"pooling_mode": "mean"})"),
                                    std::string(R"({"pooling_mode": ["mean"]})")}) {
    const SentencePooling found = pooling_of(config);
    EXPECT_EQ(found.pooling, Pooling::kMean) << config;
    EXPECT_TRUE(found.is_declared) << config;
    EXPECT_EQ(found.unknown, "") << config;
  }
}

TEST(SentencePooling, NamesWhatItDoesNotCompute) {
  EXPECT_EQ(pooling_of(R"({"pooling_mode": "weightedmean"})").unknown, "weightedmean pooling");
  EXPECT_EQ(pooling_of(R"({"pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true})").unknown,
            "max and mean pooling");
  EXPECT_EQ(pooling_of("{}").unknown, "no pooling");
  EXPECT_EQ(pooling_of("{}", R"([{"path": "2_Pooling", "type": "a.Pooling"}])").unknown,
            "pooling without 2_Pooling/config.json");
  std::string modules = kUsual;
  modules.replace(modules.find("models.Normalize"), 16, "models.Dense");
  EXPECT_EQ(pooling_of(R"({"pooling_mode": "mean"})", modules).unknown, "a module of type Dense");
}

TEST(SentencePooling, AModelWithoutAKnownPoolingHasNoEmbedding) {
  const SentenceFolder max(kUsual, R"({"pooling_mode": "max"})");
  const ModelInfo info = find_weights(max.path()).info;
  EXPECT_EQ(info.head, ModelHead::kNone);
  EXPECT_EQ(info.unknown_embedding, "max pooling");
}

TEST(SentencePooling, AFolderOfModulesIsASentenceEncoderWhateverHeadItHas) {
  const test::ModelCopy masked("bert_masked_lm");
  EXPECT_EQ(find_weights(masked.path()).info.head, ModelHead::kMaskedLm);
  std::filesystem::create_directories(masked.path() / "1_Pooling");
  test::put(masked.path() / "modules.json", kUsual);
  test::put(masked.path() / "1_Pooling" / "config.json", R"({"pooling_mode": "cls"})");
  const ModelInfo info = find_weights(masked.path()).info;
  EXPECT_EQ(info.head, ModelHead::kEmbedding);
  EXPECT_EQ(info.pooling, Pooling::kFirstToken);
}

TEST(SentencePooling, FoundBesideATransformerWithAFolderOfItsOwn) {
  const SentenceFolder model(kUsual, R"({"pooling_mode": "cls"})");
  const std::filesystem::path own = model.path() / "0_Transformer";
  std::filesystem::create_directories(own);
  EXPECT_FALSE(read_sentence_pooling(own).is_declared);  // not the one that is listed
  std::string modules = kUsual;
  modules.replace(modules.find(R"("path": "")"), 10, R"("path": "0_Transformer")");
  test::put(model.path() / "modules.json", modules);
  EXPECT_EQ(read_sentence_pooling(own).pooling, Pooling::kFirstToken);
}

TEST(SentencePooling, DamagedFiles) {
  using test::expect_error;
  const auto read = [](const std::string& modules, const std::string& pooling) {
    return [=] { read_sentence_pooling(SentenceFolder(modules, pooling).path()); };
  };
  expect_error(ErrorKind::kBadFile, {"modules.json", "list"}, read("{}", "{}"));
  expect_error(ErrorKind::kBadFile, {"1_Pooling", "config.json"}, read(kUsual, "["));
  expect_error(ErrorKind::kBadFile, {"modules.json", "Pooling", "../secret"},
               read(R"([{"path": "../secret", "type": "a.Pooling"}])", "{}"));
}

}  // namespace
}  // namespace attnflow::sentence_modules_test
