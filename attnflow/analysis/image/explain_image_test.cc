#include "attnflow/analysis/image/explain_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "attnflow/analysis/image/picture_model_for_test.h"
#include "attnflow/analysis/loaded_model.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/flow/flow.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::explain_image_test {
namespace {

using test::expect_error;

constexpr std::size_t kFirst = PictureModel::kLeading;
constexpr std::size_t kRows = 3;
constexpr std::size_t kColumns = 4;
constexpr std::size_t kTokens = kFirst + kRows * kColumns;

std::filesystem::path golden(const std::string& model) {
  return std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden" / model;
}

Report explain(PictureModel& model, const ExplainOptions& options = {}, std::size_t height = 12,
               std::size_t width = 16) {
  return explain_image(model, plain_processor(), shown_picture(random_picture(height, width, 1), "a.png"), options);
}

double row_sum(const Tensor<double>& values, std::size_t row) {
  const std::size_t n = values.extent(2);
  return std::accumulate(values.data() + row * n, values.data() + (row + 1) * n, 0.0);
}

TEST(ImageInput, TokensKnowTheirRolesAndPlaces) {
  const PictureModel model;
  const ImageInput made = image_input(random_picture(12, 16, 1), "a.png", plain_processor(), model.info());
  ASSERT_EQ(made.tokens.size(), kTokens);
  EXPECT_EQ(made.tokens[0].text, "[CLS]");
  EXPECT_EQ(made.tokens[0].role, "class");
  EXPECT_TRUE(made.tokens[0].special);
  EXPECT_EQ(made.tokens[1].text, "[REG 1]");
  EXPECT_EQ(made.tokens[1].role, "register");
  EXPECT_TRUE(made.tokens[1].special);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = 0; c < kColumns; ++c) {
      const InputToken& token = made.tokens[kFirst + r * kColumns + c];
      EXPECT_EQ(token.text, std::to_string(r) + "," + std::to_string(c));
      EXPECT_EQ(token.role, "patch");
      EXPECT_FALSE(token.special);
    }
  }
  EXPECT_EQ(made.image.first_patch, kFirst);
  EXPECT_EQ(made.image.rows, kRows);
  EXPECT_EQ(made.image.columns, kColumns);
  EXPECT_EQ(made.input.pixels.shape(), (Shape{3, 12, 16}));
}

TEST(ImageInput, EveryKindOfLeadingToken) {
  PictureModel model;
  model.changeable_info().image->leading = {TokenRole::kClass, TokenRole::kDistillation, TokenRole::kRegister,
                                            TokenRole::kRegister};
  const ImageInput made = image_input(random_picture(4, 4, 1), "a.png", plain_processor(), model.info());
  std::vector<std::string> texts;
  for (const InputToken& token : made.tokens) texts.push_back(token.text);
  EXPECT_EQ(texts, (std::vector<std::string>{"[CLS]", "[DIST]", "[REG 1]", "[REG 2]", "0,0"}));
}

TEST(ImageInput, LeavesOutAStripThatMakesNoPatch) {
  const PictureModel model;
  const Picture picture = random_picture(14, 19, 2);
  const ImageInput made = image_input(picture, "a.png", plain_processor(), model.info());
  EXPECT_EQ(made.image.rows, kRows);
  EXPECT_EQ(made.image.columns, kColumns);
  EXPECT_EQ(made.image.width, 19U);
  EXPECT_EQ(made.image.height, 14U);
  EXPECT_EQ(made.image.left, 0.0);
  EXPECT_EQ(made.image.top, 0.0);
  EXPECT_EQ(made.image.right, 16.0);
  EXPECT_EQ(made.image.bottom, 12.0);
  EXPECT_EQ(made.image.input_width, 16U);
  EXPECT_EQ(made.image.input_height, 12U);
  EXPECT_EQ(made.image.input_channels, 3U);
  ASSERT_EQ(made.input.pixels.shape(), (Shape{3, 12, 16}));
  // The pixel next to the strip is the picture's own.
  const auto expected = static_cast<float>((static_cast<double>(picture.rgb(11, 15, 2)) / 255.0 - 0.5) / 0.25);
  EXPECT_NEAR(made.input.pixels(2, 11, 15), expected, 1e-6F);
}

TEST(ImageInput, RefusesModelsOfTextAndPicturesBelowAPatch) {
  PictureModel model;
  expect_error(ErrorKind::kUsage, {"patch"},
               [&] { image_input(random_picture(3, 16, 1), "a.png", plain_processor(), model.info()); });
  model.changeable_info().image.reset();
  expect_error(ErrorKind::kUsage, {"made-up", "a text model", "attnflow explain"},
               [&] { image_input(random_picture(12, 16, 1), "a.png", plain_processor(), model.info()); });
}

TEST(ExplainImage, ValuesAreThoseOfTheAttention) {
  PictureModel model;
  const Report report = explain(model);
  const AttentionGraph graph = attention_graph(model.stack_for(kRows * kColumns), {});
  EXPECT_EQ(report.raw, graph.weights);
  EXPECT_EQ(report.rollout, rollout(graph));
  EXPECT_EQ(report.flow, attention_flow(graph).flow);
  for (std::size_t r = 0; r < PictureModel::kLayers * kTokens; ++r) {
    // float32 softmax sums to 1 within its rounding, and rollout inherits that.
    EXPECT_NEAR(row_sum(report.raw, r), 1.0, 1e-6);
    EXPECT_NEAR(row_sum(report.rollout, r), 1.0, 1e-6);
  }
  for (std::size_t e = 0; e < report.rollout.size(); ++e) {
    EXPECT_LE(report.rollout.data()[e], report.flow.data()[e] + report.flow_gap.data()[e] + 1e-12);
  }
  EXPECT_EQ(report.input.kind, "image");
  EXPECT_EQ(report.output_token, 0U);
  EXPECT_EQ(report.model.layers, PictureModel::kLayers);
}

TEST(ExplainImage, PredictionsAreTheModelsByFallingProbability) {
  PictureModel model;
  const Report report = explain(model);
  ASSERT_EQ(report.predictions.size(), 1U);
  const auto& choices = report.predictions[0].choices;
  ASSERT_EQ(choices.size(), 3U);
  double sum = 0.0;
  for (std::size_t c = 0; c < choices.size(); ++c) {
    sum += choices[c].probability;
    EXPECT_GE(choices[c == 0 ? 0 : c - 1].probability, choices[c].probability);
  }
  EXPECT_NEAR(sum, 1.0, 1e-12);
  ExplainOptions one;
  one.settings.top_k = 1;
  const Report best = explain(model, one);
  ASSERT_EQ(best.predictions[0].choices.size(), 1U);
  EXPECT_EQ(best.predictions[0].choices[0].label, choices[0].label);
  PictureModel headless(ModelHead::kNone);
  EXPECT_TRUE(explain(headless).predictions.empty());
}

TEST(ExplainImage, PatchesAsOutputTokensAndColumnsMaskColumns) {
  PictureModel model;
  ExplainOptions options;
  options.settings.output_token = parse_output_token("1,2");
  EXPECT_EQ(explain(model, options).output_token, kFirst + kColumns + 2);
  options.settings.output_token = parse_output_token("[REG 1]");
  EXPECT_EQ(explain(model, options).output_token, 1U);
  options.settings.output_token = parse_output_token("9,9");
  expect_error(ErrorKind::kUsage, {"--output-token", "9,9"}, [&] { explain(model, options); });

  options = {};
  options.settings.column_mask = parse_column_mask("registers");
  const Report aside = explain(model, options);
  for (std::size_t r = 0; r < PictureModel::kLayers * kTokens; ++r) {
    EXPECT_EQ(aside.raw.data()[r * kTokens + 1], 0.0);
    EXPECT_GT(aside.raw.data()[r * kTokens], 0.0);
    EXPECT_NEAR(row_sum(aside.raw, r), 1.0, 1e-12);  // what a step changed is renormalised exactly
  }
  model.changeable_info().image->leading = {TokenRole::kClass, TokenRole::kClass};
  expect_error(ErrorKind::kUsage, {"--mask-columns registers"}, [&] { explain(model, options); });
}

TEST(ExplainImage, KeepsAttentionAndThePicture) {
  PictureModel model;
  ExplainOptions options;
  options.keep_attention = true;
  const Report report = explain(model, options);
  EXPECT_EQ(report.attention, model.stack_for(kRows * kColumns).weights());
  EXPECT_EQ(report.rollout, explain(model).rollout);
  const auto bytes = std::as_bytes(std::span(report.input.image->png));
  EXPECT_EQ(decode_picture(bytes, "kept").rgb, random_picture(12, 16, 1).rgb);
  // A large picture shrinks in proportion.
  options.keep_attention = false;
  options.settings.methods = {Method::kRaw};
  const Report large = explain(model, options, 8, 1280);
  EXPECT_EQ(large.input.image->png_width, 640U);
  EXPECT_EQ(large.input.image->png_height, 4U);
  EXPECT_EQ(large.input.image->width, 1280U);
}

TEST(ExplainImage, GradientsOfAClass) {
  PictureModel model;
  ExplainOptions options;
  options.settings.mixing = Mixing::kGradient;
  options.settings.target = "bag";
  const Report report = explain(model, options);
  ASSERT_TRUE(report.target);
  EXPECT_EQ(report.target->index, 2U);
  EXPECT_EQ(model.targets, (std::vector<std::size_t>{2}));
  const AttentionStack stack = model.stack_for(kRows * kColumns);
  EXPECT_EQ(report.raw, gradient_graph_of(stack, random_gradient(stack, 2.0, 3)).weights);
  options.settings.target = "auto";
  const Report best = explain(model, options);
  EXPECT_EQ(best.target->label, best.predictions[0].choices[0].label);
  options.settings.target = "trousers";
  expect_error(ErrorKind::kUsage, {"--target", "shirt, boot, bag", "trousers"}, [&] { explain(model, options); });
  PictureModel headless(ModelHead::kNone);
  expect_error(ErrorKind::kUnsupportedModel, {"--mixing gradient"}, [&] { explain(headless, options); });
}

TEST(ExplainImage, AModelWithoutClassesAndClassToken) {
  PictureModel model(ModelHead::kNone);
  model.changeable_info().image->leading = {TokenRole::kRegister, TokenRole::kRegister};
  const Report report = explain(model);
  EXPECT_TRUE(report.predictions.empty());
  EXPECT_FALSE(report.target);
  EXPECT_EQ(report.output_token, kFirst + 1 * kColumns + 2);
  EXPECT_TRUE(test::has_note(report.notes, NoteCode::kNoHead));
  const std::vector<Note> middle = test::notes_of(report.notes, NoteCode::kOutputTokenMiddle);
  ASSERT_EQ(middle.size(), 1U);
  test::expect_parts(middle[0].text, {"row 2, column 3"});
  ExplainOptions options;
  options.settings.output_token = parse_output_token("last");
  EXPECT_EQ(explain(model, options).output_token, kTokens - 1);
}

TEST(ExplainImage, RefusesWhatIsForTextsAlone) {
  PictureModel model;
  const auto refuses = [&](const char* option, auto change) {
    ExplainOptions options;
    change(options);
    expect_error(ErrorKind::kUsage, {option, "found an image"}, [&] { explain(model, options); });
  };
  refuses("--words", [](ExplainOptions& o) { o.settings.words = true; });
  refuses("--candidates", [](ExplainOptions& o) { o.candidates = {"his"}; });
  refuses("--referents", [](ExplainOptions& o) { o.referents.resize(2); });
  refuses("--only-output-token", [](ExplainOptions& o) { o.only_output_token = true; });
  refuses("--truncate", [](ExplainOptions& o) { o.truncate = true; });
  refuses("--renormalize", [](ExplainOptions& o) { o.renormalize = true; });
  refuses("--any-weights", [](ExplainOptions& o) { o.any_weights = true; });
  ExplainOptions layers;
  layers.settings.layers = {4};
  expect_error(ErrorKind::kUsage, {"layers: expected layers from 1 to 3"}, [&] { explain(model, layers); });
}

TEST(LoadImageModel, SaysWhatAFolderLacks) {
  expect_error(ErrorKind::kUsage, {"bert_classification", "a vision model", "attnflow explain"},
               [] { load_image_model(ModelFiles(golden("models/bert_classification"))); });
  expect_error(ErrorKind::kBadFile, {"vit_classification", "preprocessor_config.json", "next to config.json"},
               [] { load_image_model(ModelFiles(golden("vision/vit_classification"))); });
  const test::TempFolder folder;
  for (const char* file : {"config.json", "model.safetensors"}) {
    std::filesystem::copy(golden("vision/vit_classification") / file, folder / file);
  }
  test::put(folder / "preprocessor_config.json",
            R"({"image_processor_type": "ViTImageProcessor", "image_mean": [0.5], "image_std": [0.5]})");
  expect_error(ErrorKind::kBadFile, {"preprocessor_config.json", "image_mean"},
               [&] { load_image_model(ModelFiles(folder.path())); });
}

}  // namespace
}  // namespace attnflow::explain_image_test
