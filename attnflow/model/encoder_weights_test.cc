#include <gtest/gtest.h>

#include <set>

#include "attnflow/attribution/note.h"
#include "attnflow/model/config_for_test.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/model_for_test.h"
#include "attnflow/model/model_weights.h"

namespace attnflow::encoder_weights_test {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::ModelCopy;
using test::WeightsFile;
using test::with;

void expect_bad(const ModelCopy& model, const std::vector<std::string>& words) {
  expect_error(ErrorKind::kBadFile, words, [&] { find_weights(model.path()); });
}

ModelHead head_of(const std::string& name) {
  if (name == "masked_lm") return ModelHead::kMaskedLm;
  return name == "classification" ? ModelHead::kClassification : ModelHead::kEmbedding;
}

bool is_unused(const std::string& tensor, ModelHead head) {
  if (tensor.find("position_ids") != tensor.npos || tensor.find("seq_relationship") != tensor.npos) return true;
  return head != ModelHead::kClassification && tensor.find("pooler") != tensor.npos;
}

const std::set<std::string> kMarksOfHeads = {"cls.predictions.transform.dense.weight",
                                             "lm_head.dense.weight",
                                             "vocab_transform.weight",
                                             "predictions.dense.weight",
                                             "bert.pooler.dense.weight",
                                             "ernie.pooler.dense.weight",
                                             "albert.pooler.weight",
                                             "pre_classifier.weight",
                                             "classifier.weight",
                                             "classifier.dense.weight",
                                             "classifier.out_proj.weight",
                                             "head.dense.weight"};

void expect_each_needed(const ModelCopy& model, const std::vector<PlannedTensor>& plan) {
  test::expect_each_needed(
      model, plan, [](const std::filesystem::path& folder) { return find_weights(folder); }, kMarksOfHeads);
}

TEST(EncoderWeights, DescribesEveryGoldenModel) {
  std::size_t models = 0;
  for (const Json& expected : test::golden_index()) {
    const auto name = expected.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const ModelInfo info = ModelFiles(test::golden_models() / name).info();
    test::expect_sizes(info, expected);
    EXPECT_EQ(info.head, head_of(expected.at("head")));
    EXPECT_EQ(info.labels, expected.at("labels").get<std::vector<std::string>>());
    EXPECT_FALSE(info.causal);
    ++models;
  }
  EXPECT_GT(models, 0U);
}

TEST(EncoderWeights, RefusesWeightsThatTheConfigHasNoPlaceFor) {
  OpenOptions allow;
  allow.allow_unused_weights = true;
  const ModelCopy cut("bert_base");
  cut.edit_config([](Json& config) { config["num_hidden_layers"] = 1; });
  expect_bad(cut, {"model.safetensors", "bert model of 1 layers", "32 more", "\"encoder.layer.1.attention",
                   "--allow-unused-weights"});
  EXPECT_EQ(find_weights(cut.path(), allow).info.layers, 1U);

  const ModelCopy prefixed("roberta_masked_lm");
  prefixed.edit_config([](Json& config) { config["num_hidden_layers"] = 1; });
  expect_bad(prefixed, {"roberta.encoder.layer.1."});
  const ModelCopy groups("albert_two_groups");
  groups.edit_config([](Json& config) { config["num_hidden_groups"] = 1; });
  expect_bad(groups, {"albert_layer_groups.1."});

  const ModelCopy adapted("bert_masked_lm");
  const auto add = [&](const std::string& name) {
    adapted.edit_weights([&](WeightsFile& weights) { weights.add(name); });
  };
  add("classifier.bias");
  add("bert.pooler.dense.bias");
  add("bert.embeddings.position_ids");
  add("some.head.bias");
  EXPECT_NO_THROW(find_weights(adapted.path()));
  add("bert.encoder.layer.0.attention.self.query.lora_A.weight");
  expect_bad(adapted, {"1 more", "query.lora_A.weight"});
  EXPECT_NO_THROW(find_weights(adapted.path(), allow));
}

TEST(EncoderWeights, AnAdapterBesideTheWeightsIsNoted) {
  const ModelCopy model("bert_base");
  EXPECT_TRUE(ModelFiles(model.path()).info().notes.empty());
  test::put(model.path() / "adapter_config.json", R"({"base_model_name_or_path": "org/base", "peft_type": "LORA"})");
  const std::vector<std::string> notes = note_texts(ModelFiles(model.path()).info().notes_for(1));
  ASSERT_EQ(notes.size(), 1U);
  for (const char* word : {"\"org/base\"", "not applied", "merge_and_unload"}) {
    EXPECT_NE(notes[0].find(word), std::string::npos) << notes[0];
  }
}

TEST(EncoderWeights, AnAdapterWithoutItsModelNamesIt) {
  const test::TempFolder folder;
  test::put(folder / "adapter_config.json", R"({"base_model_name_or_path": "org/base"})");
  expect_error(ErrorKind::kBadFile, {"adapter without its model", "\"org/base\"", "folder of that model"},
               [&] { ModelFiles(folder.path()).info(); });
  test::put(folder / "adapter_config.json", "{}");
  expect_error(ErrorKind::kBadFile, {"adapter without its model"}, [&] { ModelFiles(folder.path()).info(); });
}

TEST(EncoderWeights, AFolderOfGgufFilesNamesOne) {
  const test::TempFolder folder;
  const auto look = [&] { ModelFiles(folder.path()).info(); };
  expect_error(ErrorKind::kBadFile, {"found no config.json in it"}, look);
  test::put(folder / "second.gguf", "");
  test::put(folder / "First.GGUF", "");
  expect_error(ErrorKind::kBadFile, {"found GGUF files", "--model " + (folder / "First.GGUF").string()}, look);
}

TEST(EncoderWeights, CountsParameters) {
  const ModelCopy model("bert_base");
  const WeightsFile weights = WeightsFile::read(model.path() / "model.safetensors");
  std::size_t bytes = 0;
  for (const auto& [name, entry] : weights.header.items()) {
    if (name == "__metadata__") continue;
    ASSERT_EQ(entry.at("dtype"), "F32") << name;
    bytes += entry.at("data_offsets").at(1).get<std::size_t>() - entry.at("data_offsets").at(0).get<std::size_t>();
  }
  EXPECT_EQ(ModelFiles(model.path()).info().parameters, bytes / sizeof(float));
}

// Removes or reshapes each tensor of each model in turn: the message names it and where it was looked for.
TEST(EncoderWeights, ChecksEveryTensor) {
  std::set<std::string> architectures;
  for (const Json& golden : test::golden_index()) {
    const auto name = golden.at("name").get<std::string>();
    if (!std::filesystem::exists(test::golden_models() / name / "model.safetensors")) continue;  // sharded: see below
    SCOPED_TRACE(name);
    const ModelHead head = head_of(golden.at("head"));
    const std::vector<PlannedTensor> stored =
        test::stored_tensors(test::golden_models() / name, [&](const std::string& tensor) {
          // Where both are stored, either will do.
          const bool either = name == "bert_masked_lm" &&
                              (tensor == "cls.predictions.bias" || tensor == "cls.predictions.decoder.bias");
          return either || is_unused(tensor, head);
        });
    expect_each_needed(ModelCopy(name), stored);
    EXPECT_GE(stored.size(), 20U);
    architectures.insert(golden.at("architecture"));
  }
  EXPECT_EQ(architectures.size(), 9U);
}

TEST(EncoderWeights, ChecksTheNumbersThatDistancesAdd) {
  const Json config = test::bert("mpnet");
  const std::string bias = "mpnet.encoder.relative_attention_bias.weight";
  const ModelConfig parsed = parse_model_config(config.dump(), "config.json");
  const ModelCopy model(config, plan_tensors(parsed, ModelHead::kMaskedLm));
  EXPECT_EQ(find_weights(model.path()).distance_bias->shape, (Shape{32, 4}));
  model.edit_weights([&](WeightsFile& weights) { weights.header[bias]["shape"] = {16, 8}; });
  expect_bad(model, {bias, "[16, 8]", "expected [32, 4]", "relative_attention_num_buckets and num_attention_heads"});
  model.edit_weights([&](WeightsFile& weights) { weights.rename(bias, "away"); });
  expect_bad(model, {"missing", bias});
}

TEST(EncoderWeights, ChecksTheEmbeddingsOfDistances) {
  const Json config = with(test::deberta(), "position_buckets", 6);
  const std::string table = "deberta.encoder.rel_embeddings.weight";
  const ModelConfig parsed = parse_model_config(config.dump(), "config.json");
  const ModelCopy model(config, plan_tensors(parsed, ModelHead::kMaskedLm));
  const ModelWeights weights = find_weights(model.path());
  EXPECT_EQ(weights.distance_embedding->shape, (Shape{12, 24}));
  EXPECT_EQ(weights.position_embedding, nullptr);
  EXPECT_EQ(weights.token_type_embedding, nullptr);
  model.edit_weights([&](WeightsFile& file) { file.add("deberta.embeddings.position_embeddings.weight"); });
  EXPECT_EQ(find_weights(model.path()).position_embedding, nullptr);
  model.edit_weights([&](WeightsFile& file) { file.header[table]["shape"] = {24, 12}; });
  expect_bad(model, {table, "[24, 12]", "expected [12, 24]", "twice position_buckets"});
  model.edit_weights([&](WeightsFile& file) { file.rename(table, "away"); });
  expect_bad(model, {"missing", table});
}

TEST(EncoderWeights, TheFirstDebertaMapsHeadByHead) {
  const Json config = with(test::first_deberta(),
                           {{"num_hidden_layers", 1}, {"max_relative_positions", 7}, {"position_biased_input", false}});
  const std::vector<PlannedTensor> plan =
      plan_tensors(parse_model_config(config.dump(), "config.json"), ModelHead::kMaskedLm);
  const ModelCopy model(config, plan);
  const ModelWeights weights = find_weights(model.path());
  EXPECT_EQ(weights.distance_embedding->shape, (Shape{14, 24}));
  EXPECT_EQ(weights.distance_norm.scale, nullptr);
  const LayerWeights& layer = weights.layers.at(0);
  std::size_t begin = 0;
  for (const LinearWeights& map : {layer.query, layer.key, layer.value}) {
    EXPECT_EQ(map.weight->shape, (Shape{72, 24}));
    EXPECT_EQ(map.groups, 4U);
    EXPECT_EQ(map.begin, begin);
    EXPECT_EQ(map.out, 24U);
    begin += 6;
  }
  EXPECT_EQ(layer.query.bias->shape, (Shape{24}));
  EXPECT_EQ(layer.key.bias, nullptr);
  EXPECT_EQ(layer.value.bias->shape, (Shape{24}));
  EXPECT_EQ(layer.distance_key.bias, nullptr);
  EXPECT_NE(layer.distance_query.bias, nullptr);
  expect_each_needed(model, plan);
}

TEST(EncoderWeights, ModernbertHasOneMapForThreeAndNoBiases) {
  const Json config = test::bert("modernbert");
  const ModelConfig parsed = parse_model_config(config.dump(), "config.json");
  for (const ModelHead head : {ModelHead::kMaskedLm, ModelHead::kClassification}) {
    std::vector<PlannedTensor> plan = plan_tensors(parsed, head, 3);
    const ModelCopy model(config, plan);
    const ModelWeights weights = find_weights(model.path());
    EXPECT_EQ(weights.info.head, head);  // both begin with head.dense, and no class is named
    EXPECT_FALSE(weights.info.norms_after);
    EXPECT_EQ(weights.position_embedding, nullptr);
    EXPECT_EQ(weights.final_norm.kind, NormKind::kLayerNoShift);
    const LayerWeights& first = weights.layers.at(0);
    EXPECT_EQ(first.attention_norm.scale, nullptr);
    EXPECT_EQ(first.query.weight->name, "model.layers.0.attn.Wqkv.weight");
    EXPECT_EQ(first.value.weight, first.query.weight);
    EXPECT_EQ(first.value.begin, 48U);
    EXPECT_EQ(first.value.bias, nullptr);
    EXPECT_EQ(first.gate.begin, 0U);
    EXPECT_EQ(first.feed_forward_in.begin, 40U);
    EXPECT_EQ(weights.layers.at(1).attention_norm.shift, nullptr);
    EXPECT_EQ(weights.layers.at(1).attention_norm.kind, NormKind::kLayerNoShift);
    // Without its output, a classifier's map would be that of a masked language model.
    std::erase_if(plan, [](const PlannedTensor& tensor) { return tensor.name == "classifier.weight"; });
    expect_each_needed(model, plan);
  }
}

TEST(EncoderWeights, ListsAllMissingTensorsOfForeignFiles) {
  const ModelCopy model("bert_base");
  model.edit_weights([](WeightsFile& weights) {
    Json renamed;
    for (const auto& [name, entry] : weights.header.items())
      renamed[name == "__metadata__" ? name : "x." + name] = entry;
    weights.header = renamed;
  });
  expect_bad(model, {"53 of them missing", "embeddings.word_embeddings.weight", "and 45 more", "found \"x."});
}

TEST(EncoderWeights, RefusesIntegerWeights) {
  const ModelCopy model("bert_base");
  model.edit_weights(
      [](WeightsFile& weights) { weights.header["encoder.layer.0.attention.self.query.weight"]["dtype"] = "I32"; });
  expect_bad(model, {"encoder.layer.0.attention.self.query.weight", "i32", "bf16", "unquantized"});
}

TEST(EncoderWeights, RefusesConfigOfAnotherSize) {
  const ModelCopy model("bert_base");
  model.edit_config([](Json& config) { config["vocab_size"] = 1000; });
  expect_bad(model, {"embeddings.word_embeddings.weight", "expected [1000, 24]", "vocab_size and hidden_size"});
  model.edit_config([](Json& config) { config["vocab_size"] = 77, config["num_hidden_layers"] = 4; });
  expect_bad(model, {"16 of them missing", "encoder.layer.3."});
}

TEST(EncoderWeights, ClassNameDecidesBetweenTasksThatStoreTheSameTensors) {
  const ModelCopy model("bert_classification");
  const auto head = [&](const Json& classes) {
    model.edit_config([&](Json& config) { config["architectures"] = classes; });
    return find_weights(model.path()).info.head;
  };
  EXPECT_EQ(head({"BertForSequenceClassification"}), ModelHead::kClassification);
  EXPECT_EQ(head(nullptr), ModelHead::kClassification);  // inferred from the tensors alone
  EXPECT_EQ(head(Json::array()), ModelHead::kClassification);
  EXPECT_EQ(head({"BertForTokenClassification"}), ModelHead::kTokenClassification);
  EXPECT_EQ(head({"BertForMultipleChoice"}), ModelHead::kNone);
  EXPECT_EQ(head({"BertForMaskedLM"}), ModelHead::kNone);  // no such tensors
}

TEST(EncoderWeights, AnswersBeginAndEnd) {
  const ModelCopy model("bert_classification");
  model.edit_config([](Json& config) { config["architectures"] = {"BertForQuestionAnswering"}; });
  EXPECT_EQ(find_weights(model.path()).info.head, ModelHead::kNone);
  model.edit_weights([](WeightsFile& weights) {
    weights.rename("classifier.weight", "qa_outputs.weight");
    weights.rename("classifier.bias", "qa_outputs.bias");
  });
  expect_bad(model, {"qa_outputs.weight", "[3, 24]", "expected [2, 24]", "begin and end of an answer"});

  const ModelConfig& config = find_weights(test::golden_models() / "bert_base").config;
  const std::vector<PlannedTensor> plan = plan_tensors(config, ModelHead::kQuestionAnswering);
  ASSERT_EQ(plan.back().name, "qa_outputs.bias");
  EXPECT_EQ(plan.back().shape, Shape{2});
  Json json = Json::parse(test::get(test::golden_models() / "bert_base" / "config.json"));
  json["architectures"] = {"BertForQuestionAnswering"};
  const ModelWeights weights = find_weights(ModelCopy(json, plan).path());
  EXPECT_EQ(weights.info.head, ModelHead::kQuestionAnswering);
  EXPECT_TRUE(weights.info.labels.empty());
  EXPECT_EQ(weights.head.dense.weight, nullptr);
}

TEST(EncoderWeights, LabelsMustFitTheClassifier) {
  const ModelCopy model("bert_classification");
  model.edit_config([](Json& config) { config["id2label"] = {{"0", "no"}, {"1", "yes"}}; });
  expect_bad(model, {"classifier.weight", "[3, 24]", "expected [2, 24]", "id2label"});
  model.edit_config([](Json& config) {
    config.erase("id2label");
    config["problem_type"] = "multi_label_classification";
  });
  const ModelInfo info = ModelFiles(model.path()).info();
  EXPECT_EQ(info.labels, (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
  EXPECT_TRUE(info.multi_label);
}

TEST(EncoderWeights, DecoderIsTiedUnlessTheConfigSaysNo) {
  const ModelCopy model("bert_masked_lm_tied");
  const ModelWeights tied = find_weights(model.path());
  ASSERT_EQ(tied.info.head, ModelHead::kMaskedLm);
  EXPECT_EQ(tied.head.output.weight, tied.word_embedding);
  model.edit_config([](Json& config) { config["tie_word_embeddings"] = false; });
  expect_bad(model, {"missing", "cls.predictions.decoder.weight"});

  const ModelCopy stored("bert_masked_lm");
  EXPECT_EQ(find_weights(stored.path()).head.output.weight->name, "cls.predictions.decoder.weight");
  EXPECT_EQ(find_weights(stored.path()).head.output.bias->name, "cls.predictions.decoder.bias");
  stored.edit_weights([](WeightsFile& weights) { weights.rename("cls.predictions.decoder.bias", "away"); });
  EXPECT_EQ(find_weights(stored.path()).head.output.bias->name, "cls.predictions.bias");
}

TEST(EncoderWeights, SharedLayersAreFoundOnce) {
  const ModelWeights weights = find_weights(test::golden_models() / "albert_two_groups");
  EXPECT_EQ(weights.layers.size(), 2U);
  EXPECT_EQ(&weights.layer(0), &weights.layers[0]);
  EXPECT_EQ(&weights.layer(weights.config.layers - 1), &weights.layers[1]);
}

TEST(EncoderWeights, NameIsTheFolders) {
  const std::filesystem::path folder = test::golden_models() / "bert_base";
  EXPECT_EQ(ModelFiles(folder / "").info().name, "bert_base");
  EXPECT_EQ(ModelFiles(folder / ".").info().name, "bert_base");
}

}  // namespace
}  // namespace attnflow::encoder_weights_test
