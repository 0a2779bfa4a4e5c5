// The check of a picture, against its definition word for word, on a model of pictures with known answers.
#include "attnflow/analysis/check/patch_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attnflow/analysis/check/patch_fills.h"
#include "attnflow/analysis/image/blank_patches.h"
#include "attnflow/analysis/image/explain_image.h"
#include "attnflow/analysis/image/picture_model_for_test.h"
#include "attnflow/model/prediction.h"

namespace attnflow::patch_check_test {
namespace {

using internal::PatchFill;
using internal::PatchFiller;
using internal::PixelBox;

constexpr std::size_t kFirst = PictureModel::kLeading;
constexpr std::size_t kSide = PictureModel::kPatch;  // of a patch, in pixels
constexpr std::size_t kRows = 3;
constexpr std::size_t kColumns = 4;
constexpr std::size_t kPatches = kRows * kColumns;
const ScoreTarget kTarget = {.kind = ScoreTarget::Kind::kLogitAgainstRest, .label = 1};

ImageInput input_of(const PictureModel& model, std::size_t rows = kRows, std::size_t columns = kColumns) {
  return image_input(random_picture(rows * kSide, columns * kSide, 4), "a.png", plain_processor(), model.info());
}

ImageQuestion question_of(PictureModel& model, const ImageInput& made) {
  return image_question(model, made.input, made.image, made.tokens, kTarget, {0.0F, 0.0F, 0.0F}, "mean color");
}

double value_of(PictureModel& model, const PixelInput& input) {
  return target_value(kTarget, model.classify({&input, 1}, {}).front().span());
}

double mean_of(const Tensor<float>& pixels, std::size_t channel, const PixelBox& box) {
  double sum = 0.0;
  for (std::size_t y = box.top; y < box.bottom; ++y) {
    for (std::size_t x = box.left; x < box.right; ++x) sum += pixels(channel, y, x);
  }
  return sum / static_cast<double>((box.bottom - box.top) * (box.right - box.left));
}

TEST(PatchFills, AreWhatTheirNamesSay) {
  const PictureModel model;
  const ImageInput made = input_of(model);
  const Tensor<float>& before = made.input.pixels;
  const ImageInfo& info = *model.info().image;
  const PatchFiller filler(made.input, info);
  const PixelBox box = {4, 8, 8, 12};
  for (const PatchFill fill : internal::kPatchFills) {
    SCOPED_TRACE(internal::name_of(fill));
    const std::optional<PixelInput> after = filler.filled(box, fill);
    ASSERT_TRUE(after);
    for (std::size_t c = 0; c < 3; ++c) {
      // The eight patches around this one are rows 0 to 11 and columns 4 to 15 without it.
      const double around = (9.0 * mean_of(before, c, {0, 4, 12, 16}) - mean_of(before, c, box)) / 8.0;
      for (std::size_t y = 0; y < 12; ++y) {
        for (std::size_t x = 0; x < 16; ++x) {
          const bool inside = y >= 4 && y < 8 && x >= 8 && x < 12;
          double expected = before(c, y, x);
          if (inside && fill == PatchFill::kPicture) expected = mean_of(before, c, {0, 0, 12, 16});
          if (inside && fill == PatchFill::kNeighbors) expected = around;
          if (inside && fill == PatchFill::kBlurred) {
            expected =
                mean_of(before, c, {y - 4, x - 4, std::min<std::size_t>(12, y + 5), std::min<std::size_t>(16, x + 5)});
          }
          if (inside && fill == PatchFill::kInterpolated) {
            const double up = 1.0 / static_cast<double>(y - 3);
            const double down = 1.0 / static_cast<double>(8 - y);
            const double left = 1.0 / static_cast<double>(x - 7);
            const double right = 1.0 / static_cast<double>(12 - x);
            expected =
                (up * before(c, 3, x) + down * before(c, 8, x) + left * before(c, y, 7) + right * before(c, y, 12)) /
                (up + down + left + right);
          }
          EXPECT_NEAR(after->pixels(c, y, x), expected, 1e-5) << c << ' ' << y << ' ' << x;
        }
      }
    }
  }
}

TEST(PatchFills, OfAWholePictureHaveNothingAround) {
  const PictureModel model;
  const ImageInput made = input_of(model, 1, 2);
  const PatchFiller filler(made.input, *model.info().image);
  const PixelBox whole = {0, 0, kSide, 2 * kSide};
  EXPECT_FALSE(filler.filled(whole, PatchFill::kInterpolated));
  EXPECT_FALSE(filler.filled(whole, PatchFill::kNeighbors));
  EXPECT_TRUE(filler.filled(whole, PatchFill::kBlurred));
  EXPECT_TRUE(filler.filled(whole, PatchFill::kPicture));
}

// The definition, word for word: each picture is filled by itself.
double expected_value(PictureModel& model, const ImageInput& made, std::size_t patch, PatchFill fill) {
  const PatchFiller filler(made.input, *model.info().image);
  const std::size_t row = patch / kColumns;
  const std::size_t column = patch % kColumns;
  const auto filled = [&](std::size_t top, std::size_t left, std::size_t bottom, std::size_t right) {
    const PixelBox box = {top * kSide, left * kSide, std::min(bottom, kRows) * kSide,
                          std::min(right, kColumns) * kSide};
    return value_of(model, *filler.filled(box, fill));
  };
  double around = 0.0;
  for (const std::size_t above : {0, 1}) {
    for (const std::size_t before : {0, 1}) {
      around += filled(row < above ? 0 : row - above, column < before ? 0 : column - before, row + 2 - above,
                       column + 2 - before);
    }
  }
  return 0.5 * filled(row, column, row + 1, column + 1) + around / 8.0;
}

TEST(PatchCheck, IsTheMeanOfAPatchAloneAndItsBlocks) {
  PictureModel model;
  const ImageInput made = input_of(model);
  const ImageQuestion question = question_of(model, made);
  std::vector<bool> wanted(question.groups.size(), true);
  wanted[kFirst + 5] = false;
  const ReplacementCheck found = check_patches(question, wanted);
  const double whole = value_of(model, made.input);
  EXPECT_NEAR(found.value, whole, 1e-6);
  ASSERT_EQ(found.places.size(), kFirst + kPatches);
  std::size_t more = 0;
  for (std::size_t g = 0; g < found.places.size(); ++g) {
    SCOPED_TRACE(g);
    const PlaceDrop& place = found.places[g];
    if (!wanted[g] || g < kFirst) {
      EXPECT_TRUE(place.tried.empty());
      continue;
    }
    ASSERT_GE(place.tried.size(), 2U);
    more += place.tried.size() > 2 ? 1 : 0;
    double drop = 0.0;
    for (std::size_t f = 0; f < place.tried.size(); ++f) {
      const PatchFill fill = internal::kPatchFills.at(f);
      EXPECT_EQ(place.tried[f].text, internal::name_of(fill));
      EXPECT_NEAR(place.tried[f].value, expected_value(model, made, g - kFirst, fill), 1e-5);
      drop += (whole - place.tried[f].value) / static_cast<double>(place.tried.size());
    }
    EXPECT_NEAR(place.drop, drop, 1e-5);
    EXPECT_GT(place.spread, 0.0);
  }
  EXPECT_GT(more, 0U);
  ASSERT_TRUE(found.reliability);
  EXPECT_GE(*found.reliability, 0.0);
  EXPECT_LE(*found.reliability, 1.0);
}

TEST(PatchCheck, RunsNoMoreThanItSays) {
  PictureModel model;
  const ImageInput made = input_of(model);
  ImageQuestion question = question_of(model, made);
  std::vector<std::size_t> runs;
  question.phases = [&](std::string_view) {
    return [&](std::size_t done, std::size_t all) {
      EXPECT_LE(done, all);
      runs.push_back(done);
    };
  };
  // Patches alone, and blocks but for the corners, which are patches.
  constexpr std::size_t kBlocks = kPatches + (kRows + 1) * (kColumns + 1) - 4;
  std::vector<bool> wanted(question.groups.size(), true);
  EXPECT_EQ(patch_check_runs(question, wanted), kBlocks * 4.0);  // few patches: every fill
  question.replacements = 1;
  EXPECT_EQ(patch_check_runs(question, wanted), kBlocks);
  EXPECT_EQ(check_patches(question, wanted).places[kFirst].tried.size(), 1U);
  ASSERT_FALSE(runs.empty());
  EXPECT_EQ(runs.back(), kBlocks);
  std::fill(wanted.begin(), wanted.end(), false);
  EXPECT_EQ(patch_check_runs(question, wanted), 0.0);
  wanted[kFirst + 5] = wanted[kFirst + 6] = true;  // side by side, they share two of their blocks
  EXPECT_EQ(patch_check_runs(question, wanted), 2.0 + 6.0);
}

TEST(PatchCheck, FindsThePatchThatDecides) {
  PictureModel model;
  constexpr std::size_t kDecides = 6;
  model.favourite = kDecides;
  ExplainOptions options;
  const Report report =
      explain_image(model, plain_processor(), shown_picture(random_picture(12, 16, 1), "a.png"), options);
  ASSERT_TRUE(report.check);
  EXPECT_EQ(report.check->blank, "");
  ASSERT_EQ(report.check->tokens.size(), kPatches);
  ASSERT_FALSE(report.check->maps.empty());
  for (const MapCheck& map : report.check->maps) EXPECT_EQ(map.first_token, kFirst + kDecides);
  const CheckedToken* const decides = report.check->find(kFirst + kDecides);
  for (const CheckedToken& one : report.check->tokens) {
    EXPECT_GE(one.replacements.size(), 2U);
    EXPECT_GE(decides->drop, one.drop);
  }
}

TEST(PatchCheck, IsLeftOutOrBlanksOnRequest) {
  PictureModel model;
  ExplainOptions options;
  options.settings.mixing = Mixing::kRelevance;
  options.settings.target = "boot";
  const auto explain = [&] {
    return explain_image(model, plain_processor(), shown_picture(random_picture(12, 16, 1), "a.png"), options);
  };
  options.check_replacements = 0;
  const Report blanked = explain();
  ASSERT_TRUE(blanked.check);
  EXPECT_EQ(blanked.check->blank, "mean color");
  EXPECT_TRUE(blanked.check->tokens.front().replacements.empty());
  options.check = CheckWhen::kNever;
  EXPECT_FALSE(explain().check);
}

TEST(SpreadNeighbors, GoesOutwardFromThePatchesThatStay) {
  const PictureModel model;
  const ImageInput made = input_of(model, 1, 4);
  const std::vector<std::size_t> removed = {1, 2, 3};
  const std::vector<float> color = {0.5F, 0.5F, 0.5F};
  PixelInput spread{.pixels = made.input.pixels};
  spread_neighbors(spread, made.image, *model.info().image, removed, color);
  for (std::size_t c = 0; c < 3; ++c) {
    const double first = mean_of(made.input.pixels, c, {0, 0, kSide, kSide});
    for (std::size_t x = 0; x < 4 * kSide; ++x) {
      EXPECT_NEAR(spread.pixels(c, 1, x), x < kSide ? made.input.pixels(c, 1, x) : first, 1e-6);
    }
  }
  const std::vector<std::size_t> all = {0, 1, 2, 3};
  spread_neighbors(spread, made.image, *model.info().image, all, color);
  EXPECT_EQ(spread.pixels(0, 0, 0), 0.5F);
  // Two that stay: the patch between them is their mean.
  const std::vector<std::size_t> between = {1};
  PixelInput one{.pixels = made.input.pixels};
  spread_neighbors(one, made.image, *model.info().image, between, color);
  const double mean =
      (mean_of(made.input.pixels, 1, {0, 0, 4, 4}) + mean_of(made.input.pixels, 1, {0, 8, 4, 12})) / 2.0;
  EXPECT_NEAR(one.pixels(1, 2, 5), mean, 1e-6);
}

}  // namespace
}  // namespace attnflow::patch_check_test
