#include "attnflow/analysis/evaluate/evaluate_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/analysis/image/picture_model_for_test.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/image/encode_png.h"
#include "attnflow/metrics/perturbation_curve.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow::evaluate_image_test {
namespace {

using Json = nlohmann::json;
using test::expect_error;

const std::vector<Method> kAll = {Method::kRaw, Method::kRollout, Method::kFlow};

constexpr std::size_t kPatches = 12;
constexpr std::size_t kFavourite = 6;
constexpr std::size_t kBoot = 1;  // the class that the favourite speaks for

PictureSet pictures(std::size_t count, std::optional<std::size_t> label = std::nullopt) {
  PictureSet set;
  set.source = "made-up pictures";
  for (std::size_t i = 0; i < count; ++i) set.entries.push_back({"p" + std::to_string(i), label});
  set.read = [](std::size_t i) { return random_picture(12, 16, i + 1); };
  return set;
}

ImageEvaluationOptions quick(std::vector<Method> methods = {Method::kRaw},
                             std::vector<Mixing> mixings = {Mixing::kAttention}) {
  ImageEvaluationOptions options;
  options.settings.methods = std::move(methods);
  options.mixings = std::move(mixings);
  options.resampling.resamples = 200;
  return options;
}

// Probability of a class without these patches, by hand.
double probability_without(const ImageModel& model, const Picture& picture, std::size_t label,
                           const std::vector<std::size_t>& removed, float blank = 0.0F) {
  ImageInput made = image_input(picture, "", model.processor, model.model->info());
  for (const std::size_t patch : removed) {
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t y = 0; y < 4; ++y) {
        for (std::size_t x = 0; x < 4; ++x) made.input.pixels(c, patch / 4 * 4 + y, patch % 4 * 4 + x) = blank;
      }
    }
  }
  return softmax(model.model->classify({&made.input, 1}, {}).front().span())[label];
}

std::vector<std::size_t> all_patches() {
  std::vector<std::size_t> patches(kPatches);
  for (std::size_t p = 0; p < kPatches; ++p) patches[p] = p;
  return patches;
}

const ImageOrderCurves& curve_of(const ImageEvaluationReport& report, const std::string& method,
                                 Mixing mixing = Mixing::kAttention) {
  const auto found = std::find_if(report.curves.begin(), report.curves.end(), [&](const ImageOrderCurves& curve) {
    return curve.method == method && curve.mixing.value_or(mixing) == mixing;
  });
  EXPECT_NE(found, report.curves.end()) << method;
  return *found;
}

TEST(EvaluateImage, CurvesBeginAndEndAtTheWholeAndTheBlankPicture) {
  const ImageModel model = picture_model(kFavourite);
  for (const auto& [blank, name] : {std::pair{PictureBlank::kMean, "mean"}, std::pair{PictureBlank::kBlack, "black"},
                                    std::pair{PictureBlank::kNeighbors, "neighbors"}}) {
    ImageEvaluationOptions options = quick({Method::kRaw, Method::kRollout, Method::kFlow, Method::kAttnLrp,
                                            Method::kGradientTimesInput, Method::kBlankOut},
                                           {Mixing::kAttention, Mixing::kGradient, Mixing::kRelevance});
    options.own_class = true;
    options.check = true;
    options.blank = blank;
    const ImageEvaluationReport report = evaluate_image(model, pictures(3, kBoot), options);
    const float value = blank == PictureBlank::kBlack ? -2.0F : 0.0F;  // (0 - 0.5) / 0.25
    double whole = 0.0;
    double nothing = 0.0;
    for (std::size_t i = 0; i < 3; ++i) {
      whole += probability_without(model, random_picture(12, 16, i + 1), kBoot, {}) / 3.0;
      nothing += probability_without(model, random_picture(12, 16, i + 1), kBoot, all_patches(), value) / 3.0;
    }
    EXPECT_NEAR(report.probability, whole, 1e-12);
    EXPECT_NEAR(report.blank_probability, nothing, 1e-12);
    EXPECT_EQ(report.blank, name);
    ASSERT_EQ(report.curves.size(), 3U * 3U + 3U + 1U + 1U);
    EXPECT_EQ(report.curves[report.curves.size() - 2].method, "check");
    EXPECT_EQ(report.curves.back().method, "random");
    ASSERT_EQ(report.removed.size(), kPatches + 1);
    EXPECT_EQ(report.removed.front(), 0.0);
    EXPECT_EQ(report.removed.back(), 1.0);
    for (const ImageOrderCurves& curve : report.curves) {
      EXPECT_NEAR(curve.deletion.values.front(), whole, 1e-12) << curve.method;
      EXPECT_NEAR(curve.insertion.values.back(), whole, 1e-12) << curve.method;
      EXPECT_NEAR(curve.deletion.values.back(), nothing, 1e-12) << curve.method;
      EXPECT_NEAR(curve.insertion.values.front(), nothing, 1e-12) << curve.method;
    }
  }
}

TEST(EvaluateImage, TheMostImportantPatchGoesFirst) {
  const ImageModel model = picture_model(kFavourite);
  const ImageEvaluationReport report = evaluate_image(model, pictures(4), quick(kAll));
  double without = 0.0;
  double alone = 0.0;
  std::vector<std::size_t> others = all_patches();
  others.erase(others.begin() + kFavourite);
  for (std::size_t i = 0; i < 4; ++i) {
    without += probability_without(model, random_picture(12, 16, i + 1), kBoot, {kFavourite}) / 4.0;
    alone += probability_without(model, random_picture(12, 16, i + 1), kBoot, others) / 4.0;
  }
  EXPECT_EQ(report.scored_class, "predicted");
  const ImageOrderCurves& random = curve_of(report, "random");
  for (const char* method : {"raw", "rollout", "flow"}) {
    const ImageOrderCurves& curve = curve_of(report, method);
    EXPECT_NEAR(curve.deletion.values[1], without, 1e-12) << method;
    EXPECT_NEAR(curve.insertion.values[1], alone, 1e-12) << method;
    EXPECT_LT(curve.deletion.area.mean, random.deletion.area.mean) << method;
    EXPECT_GT(curve.insertion.area.mean, random.insertion.area.mean) << method;
  }
}

TEST(EvaluateImage, AreasAreThoseOfTheCurvesAndComparedPictureByPicture) {
  const ImageModel model = picture_model();  // no two patches get the same attention: no ties to shuffle
  ImageEvaluationOptions options = quick({Method::kRaw, Method::kRollout}, {Mixing::kAttention, Mixing::kGradient});
  options.random_orders = 2;
  const ImageEvaluationReport together = evaluate_image(model, pictures(5), options);
  const std::vector<std::size_t> points = curve_points(kPatches, kPatches);
  const ImageOrderCurves& random = curve_of(together, "random");
  for (const ImageOrderCurves& curve : together.curves) {
    // The area of a mean is the mean of the areas.
    for (const auto of : {&ImageOrderCurves::deletion, &ImageOrderCurves::insertion}) {
      EXPECT_NEAR((curve.*of).area.mean, area_under_curve(points, (curve.*of).values), 1e-12);
      EXPECT_NEAR((curve.*of).from_random.difference.mean, (curve.*of).area.mean - (random.*of).area.mean, 1e-12);
    }
    EXPECT_EQ(curve.deletion.from_random.difference.count, 5U);
  }
  const ImageOrderCurves& gradient = curve_of(together, "rollout", Mixing::kGradient);
  for (const ImageOrderCurves& curve : together.curves) {
    const bool compared = &curve != &gradient && &curve != &random;
    for (const auto of : {&ImageOrderCurves::deletion, &ImageOrderCurves::insertion}) {
      ASSERT_EQ((curve.*of).from_gradient.has_value(), compared) << curve.method;
      if (!compared) continue;
      EXPECT_NEAR((curve.*of).from_gradient->difference.mean, (curve.*of).area.mean - (gradient.*of).area.mean, 1e-12);
    }
  }
  EXPECT_EQ(random.deletion.from_random.difference.std, 0.0);
  std::vector<double> areas;
  for (std::size_t i = 0; i < 5; ++i) {
    PictureSet one = pictures(5);
    ImageEvaluationOptions alone = options;
    alone.samples = 0;
    one.read = [i](std::size_t) { return random_picture(12, 16, i + 1); };
    const ImageEvaluationReport report = evaluate_image(model, one, alone);
    EXPECT_NEAR(curve_of(report, "raw").deletion.area.std, 0.0, 1e-12);  // five times the same picture
    areas.push_back(curve_of(report, "raw").deletion.area.mean);
  }
  double mean = 0.0;
  for (const double area : areas) mean += area / 5.0;
  EXPECT_NEAR(curve_of(together, "raw").deletion.area.mean, mean, 1e-12);
  double square = 0.0;
  for (const double area : areas) square += (area - mean) * (area - mean) / 4.0;
  EXPECT_NEAR(curve_of(together, "raw").deletion.area.std, std::sqrt(square), 1e-12);
}

TEST(EvaluateImage, RandomIsTheMeanOfOrdersThatOnlySeedAndPictureDecide) {
  const ImageModel model = picture_model();
  ImageEvaluationOptions options = quick();
  options.random_orders = 1;
  const ImageEvaluationReport one = evaluate_image(model, pictures(2), options);
  options.settings.methods = {Method::kRollout, Method::kFlow};
  const ImageEvaluationReport others = evaluate_image(model, pictures(2), options);
  EXPECT_EQ(curve_of(one, "random").deletion.values, curve_of(others, "random").deletion.values);
  options.seed = 2;
  EXPECT_NE(curve_of(one, "random").deletion.values,
            curve_of(evaluate_image(model, pictures(2), options), "random").deletion.values);
  options.seed = 1;
  options.random_orders = 4;
  EXPECT_NE(curve_of(one, "random").deletion.values,
            curve_of(evaluate_image(model, pictures(2), options), "random").deletion.values);
}

TEST(EvaluateImage, GradientsAreThoseOfTheClassThatIsScored) {
  const ImageModel model = picture_model(kFavourite);
  auto& made_up = dynamic_cast<PictureModel&>(*model.model);
  ImageEvaluationOptions options = quick({Method::kRollout, Method::kFlow}, {Mixing::kGradient});
  evaluate_image(model, pictures(2, 2), options);
  EXPECT_EQ(made_up.targets, (std::vector<std::size_t>{kBoot, kBoot}));  // what the model says
  EXPECT_EQ(made_up.kinds, std::vector(2, ScoreTarget::Kind::kLogit));   // as published
  made_up.targets.clear();
  made_up.kinds.clear();
  // One backward pass for each rule, whatever the number of mixings and methods; relevance explains against the others.
  options.mixings = {Mixing::kGradient, Mixing::kRelevance, Mixing::kGradientRenormalized};
  evaluate_image(model, pictures(1, 2), options);
  EXPECT_EQ(made_up.targets, (std::vector<std::size_t>{kBoot, kBoot}));
  EXPECT_EQ(made_up.kinds, (std::vector{ScoreTarget::Kind::kLogit, ScoreTarget::Kind::kLogitAgainstRest}));
  options.mixings = {Mixing::kGradient};
  made_up.targets.clear();
  options.own_class = true;
  evaluate_image(model, pictures(2, 2), options);
  EXPECT_EQ(made_up.targets, (std::vector<std::size_t>{2, 2}));
  // Also if the class's name is another's number.
  made_up.changeable_info().labels = {"2", "0", "1"};
  made_up.targets.clear();
  evaluate_image(model, pictures(2, 2), options);
  EXPECT_EQ(made_up.targets, (std::vector<std::size_t>{2, 2}));
  options.settings.heads = parse_heads("max");
  const ImageEvaluationReport report = evaluate_image(model, pictures(2, 2), options);
  EXPECT_EQ(test::codes_of(report.notes), (std::vector{NoteCode::kHeadsUnused, NoteCode::kNoIntervals}));
}

TEST(EvaluateImage, MethodsBesideTheGraphOrderByWhatSpeaksForTheClass) {
  const ImageModel model = picture_model();
  // The model adds up its patches, so that blank-out is gradient x input, and both know the best order.
  const ImageEvaluationReport report =
      evaluate_image(model, pictures(3), quick({Method::kBlankOut, Method::kGradientTimesInput, Method::kRollout}));
  ASSERT_EQ(report.curves.size(), 4U);
  EXPECT_EQ(report.curves[0].method, "rollout");  // those over mixings come first
  const ImageOrderCurves& blanked = curve_of(report, "blank-out");
  EXPECT_FALSE(blanked.mixing);
  for (std::size_t j = 0; j < blanked.deletion.values.size(); ++j) {
    EXPECT_NEAR(blanked.deletion.values[j], curve_of(report, "gradient-x-input").deletion.values[j], 1e-6);
    EXPECT_LE(blanked.deletion.values[j], curve_of(report, "rollout").deletion.values[j] + 1e-6);
  }
  EXPECT_LT(blanked.deletion.area.mean, curve_of(report, "random").deletion.area.mean);
}

TEST(EvaluateImage, AllMixingsAreThoseThatTheModelCanBeGiven) {
  const ImageModel model = picture_model();
  const ImageEvaluationReport report = evaluate_image(model, pictures(2), quick({Method::kRollout}, {}));
  using M = Mixing;
  EXPECT_EQ(report.mixings,
            (std::vector{M::kAttention, M::kGradient, M::kGradientRenormalized, M::kRelevance, M::kRelevanceByHead}));
  EXPECT_EQ(report.curves.size(), 6U);
  ASSERT_EQ(report.impossible.size(), 5U);
  for (const auto& [name, reason] : report.impossible) EXPECT_FALSE(reason.empty()) << name;
  test::expect_parts(evaluation_table(report), {"Left out --mixing alti: "});
  test::expect_parts(evaluation_markdown(report), {"Left out --mixing alti: "});
}

TEST(EvaluateImage, CountsWhatTheModelIsRightAbout) {
  const ImageModel model = picture_model(kFavourite);
  PictureSet set = pictures(4, kBoot);
  set.entries[0].label = 0;
  set.entries[1].label.reset();
  ImageEvaluationOptions options = quick();
  const ImageEvaluationReport report = evaluate_image(model, set, options);
  EXPECT_EQ(report.with_label, 3U);
  EXPECT_EQ(report.right, 2U);
  options.samples = 2;
  const ImageEvaluationReport drawn = evaluate_image(model, set, options);
  EXPECT_EQ(drawn.available, 4U);
  EXPECT_EQ(drawn.scored, 2U);
  options.samples = 0;
  EXPECT_EQ(evaluate_image(model, set, options).scored, 4U);
}

TEST(EvaluateImage, PicturesOfSeveralGridsNeedAsManySteps) {
  const ImageModel model = picture_model();
  PictureSet set = pictures(3);
  set.read = [](std::size_t i) { return random_picture(i == 0 ? 8 : 12, 16, i + 1); };
  ImageEvaluationOptions options = quick({Method::kRaw, Method::kRollout});
  expect_error(ErrorKind::kUsage, {"as many patches", "--steps"}, [&] { evaluate_image(model, set, options); });
  options.steps = 4;
  const ImageEvaluationReport report = evaluate_image(model, set, options);
  EXPECT_EQ(report.patches, 0U);
  EXPECT_EQ(report.removed, (std::vector<double>{0.0, 0.25, 0.5, 0.75, 1.0}));
  options.steps = 100;
  EXPECT_EQ(evaluate_image(model, pictures(2), options).removed.size(), kPatches + 1);
  set.read = [](std::size_t) { return random_picture(3, 3, 1); };
  expect_error(ErrorKind::kUsage, {"patch"}, [&] { evaluate_image(model, set, options); });
}

struct Asked {
  ImageModel model = picture_model();
  ImageEvaluationOptions options = quick();
  PictureSet set = pictures(2);
};

TEST(EvaluateImage, RefusesWhatItCannotScore) {
  const auto refuses = [&](ErrorKind kind, const char* part, auto change) {
    Asked asked;
    change(asked);
    expect_error(kind, {part}, [&] { evaluate_image(asked.model, asked.set, asked.options); });
  };
  refuses(ErrorKind::kUnsupportedModel, "expected an image classifier",
          [](Asked& a) { a.model.model = std::make_unique<PictureModel>(ModelHead::kNone); });
  refuses(ErrorKind::kUnsupportedModel, "expected an image classifier", [](Asked& a) {
    dynamic_cast<PictureModel&>(*a.model.model).changeable_info().image.reset();  // a model of text
  });
  refuses(ErrorKind::kUsage, "at least one", [](Asked& a) { a.options.settings.methods.clear(); });
  refuses(ErrorKind::kUsage, "found auto", [](Asked& a) { a.options.mixings = {Mixing::kAuto}; });
  refuses(ErrorKind::kUsage, "found gradient again", [](Asked& a) {
    a.options.mixings = {Mixing::kGradient, Mixing::kAttention, Mixing::kGradient};
  });
  refuses(ErrorKind::kUnsupportedModel, "alti", [](Asked& a) { a.options.mixings = {Mixing::kAlti}; });
  refuses(ErrorKind::kUnsupportedModel, "integrated-gradients",
          [](Asked& a) { a.options.settings.methods = {Method::kIntegratedGradients}; });
  refuses(ErrorKind::kUsage, "--random-orders", [](Asked& a) { a.options.random_orders = 0; });
  refuses(ErrorKind::kUsage, "found all",
          [](Asked& a) { a.options.settings.output_token = parse_output_token("all"); });
  refuses(ErrorKind::kUsage, "layers: expected layers from 1 to 3", [](Asked& a) { a.options.settings.layers = {9}; });
  refuses(ErrorKind::kUsage, "--words", [](Asked& a) { a.options.settings.words = true; });
  refuses(ErrorKind::kBadFile, "expected images, found none", [](Asked& a) { a.set.entries.clear(); });
  refuses(ErrorKind::kBadFile, "found none for p0", [](Asked& a) { a.options.own_class = true; });
  refuses(ErrorKind::kUsage, "--blank black", [](Asked& a) { a.model.processor.do_normalize = false; });

  const ImageModel model = picture_model();
  ImageEvaluationOptions options = quick();
  std::stop_source stop;
  options.stop_token = stop.get_token();
  std::vector<std::size_t> done;
  options.progress = [&](std::size_t finished, std::size_t total) {
    EXPECT_EQ(total, 4U);
    done.push_back(finished);
    if (finished == 2) stop.request_stop();
  };
  EXPECT_THROW(evaluate_image(model, pictures(4), options), Cancelled);
  EXPECT_EQ(done, (std::vector<std::size_t>{1, 2}));
}

class PictureList : public testing::Test {
 protected:
  PictureList() {
    for (const char* name : {"a.png", "b.png", "c.png", "d,e.png", "f.png", "g, h.png"}) test::put(folder_ / name, "");
  }
  PictureSet read(const std::string& text) {
    test::put(folder_ / "list.tsv", text);
    return read_picture_list(folder_ / "list.tsv", model_.info());
  }
  std::vector<std::optional<std::size_t>> labels(const std::string& text) {
    std::vector<std::optional<std::size_t>> found;
    for (const auto& entry : read(text).entries) found.push_back(entry.label);
    return found;
  }

  test::TempFolder folder_;
  PictureModel model_;
};

TEST_F(PictureList, NamesAndNumbersOfClasses) {
  using Labels = std::vector<std::optional<std::size_t>>;
  EXPECT_EQ(labels("a.png\tboot\nb.png,2\r\n\nc.png\nd,e.png\tBag\nf.png\tid:0"), (Labels{1, 2, std::nullopt, 2, 0}));
  const PictureSet set = read("d,e.png\tboot\n");
  EXPECT_EQ(set.entries[0].name, "d,e.png");
  EXPECT_EQ(set.source, "list.tsv");
  EXPECT_EQ(labels("d,e.png,2\nd,e.png\ng, h.png\n"), (Labels{2, std::nullopt, std::nullopt}));
  model_.changeable_info().labels = {"tench, Tinca tinca", "Tinca tinca", "tench,Tinca tinca"};
  EXPECT_EQ(labels("a.png,tench, Tinca tinca\nd,e.png,Tinca tinca\na.png,2"), (Labels{0, 1, 2}));
  EXPECT_EQ(read("d,e.png,tench, Tinca tinca").entries[0].name, "d,e.png");
  test::put(folder_ / "photo,tench", "");
  EXPECT_EQ(labels("photo,tench,Tinca tinca"), (Labels{1}));
  // Labels that are numerals: the name comes first, id:N is the number.
  model_.changeable_info().labels = {"2", "0", "1"};
  EXPECT_EQ(labels("a.png\t2\na.png\t0\na.png\t1\na.png\tid:2\na.png\tid:0"), (Labels{0, 1, 2, 2, 0}));
}

TEST_F(PictureList, RefusesClassesThatAreNone) {
  for (const char* wrong : {"3", "id:3", "id:", "id:1x", "trousers", "-1", "99999999999999999999"}) {
    expect_error(ErrorKind::kBadFile, {"list.tsv, line 2", wrong, "id:N", "made-up"},
                 [&] { read("a.png\tboot\nb.png\t" + std::string(wrong) + "\n"); });
  }
  expect_error(ErrorKind::kBadFile, {"list.tsv, line 1", "name of an image"}, [&] { read("\tboot\n"); });
  expect_error(ErrorKind::kBadFile, {"nowhere.tsv"},
               [&] { read_picture_list(folder_ / "nowhere.tsv", model_.info()); });
}

TEST_F(PictureList, ReadsPicturesBesideTheList) {
  const Picture picture = random_picture(12, 16, 3);
  test::put(folder_ / "a.png", encode_png(picture));
  const PictureSet set = read("a.png\tboot\nb.png\tbag\n");
  const PictureSet small = read_picture_list(folder_ / "list.tsv", model_.info(), {.max_pixels = 191});
  expect_error(ErrorKind::kBadFile, {"at most 191 pixels", "--max-megapixels"}, [&] { small.read(0); });
  EXPECT_EQ(set.read(0).rgb, picture.rgb);
  expect_error(ErrorKind::kBadFile, {"b.png"}, [&] { set.read(1); });
  expect_error(ErrorKind::kBadFile, {"list.tsv, line 2", "expected an image", "missing.png"},
               [&] { read("a.png\tboot\nmissing.png\tbag\n"); });
}

ImageEvaluationReport small_report() {
  return evaluate_image(
      picture_model(kFavourite), pictures(3, kBoot),
      quick({Method::kRaw, Method::kRollout}, {Mixing::kAttention, Mixing::kGradient, Mixing::kRelevance}));
}

TEST(ImageEvaluationOutput, JsonHoldsEverything) {
  const ImageEvaluationReport report = small_report();
  const Json json = Json::parse(evaluation_json(report));
  EXPECT_EQ(json.at("format"), "attnflow-image-evaluation");
  EXPECT_EQ(json.at("pictures").at("scored"), 3);
  EXPECT_EQ(json.at("pictures").at("right"), 3);
  EXPECT_EQ(json.at("settings").at("layer"), 3);
  EXPECT_EQ(json.at("settings").at("method"), (Json{"raw", "rollout"}));
  EXPECT_EQ(json.at("settings").at("mixing"), (Json{"attention", "gradient", "relevance"}));
  EXPECT_EQ(json.at("removed").get<std::vector<double>>(), report.removed);
  ASSERT_EQ(json.at("curves").size(), report.curves.size());
  for (std::size_t c = 0; c < report.curves.size(); ++c) {
    const Json& curve = json.at("curves").at(c);
    EXPECT_EQ(curve.at("method"), report.curves[c].method);
    const auto& mixing = report.curves[c].mixing;
    EXPECT_EQ(curve.at("mixing"), mixing ? Json(to_text(*mixing)) : Json());
    EXPECT_EQ(curve.contains("deletion_from_gradient"), report.curves[c].deletion.from_gradient.has_value());
    EXPECT_EQ(curve.at("deletion").get<std::vector<double>>(), report.curves[c].deletion.values);
    EXPECT_EQ(curve.at("insertion").get<std::vector<double>>(), report.curves[c].insertion.values);
    EXPECT_EQ(curve.at("deletion_area").at("mean"), report.curves[c].deletion.area.mean);
    EXPECT_EQ(curve.at("insertion_from_random").at("mean"), report.curves[c].insertion.from_random.difference.mean);
  }
  // Invalid UTF-8 (a file's name) does not break it, and NaN is null.
  ImageEvaluationReport odd = report;
  odd.source = "caf\xE9";
  odd.curves[0].deletion.area.std = std::nan("");
  const Json again = Json::parse(evaluation_json(odd));
  EXPECT_TRUE(again.at("curves").at(0).at("deletion_area").at("std").is_null());
}

TEST(ImageEvaluationOutput, TablesNameEveryMethod) {
  const ImageEvaluationReport report = small_report();
  const std::string csv = evaluation_csv(report);
  EXPECT_TRUE(csv.starts_with("method,mixing,removed,deletion,insertion\nraw,attention,0,"));
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')),
            1 + report.curves.size() * report.removed.size());
  for (const std::string& text : {evaluation_markdown(report), evaluation_table(report, 400)}) {
    test::expect_parts(text, {"raw over attention", "rollout over gradient", "rollout over relevance", "random",
                              "Difference from rollout over gradient",
                              "3 of 3 images from made-up pictures, 12 patches each", "right about 3 of 3 (100.0%)"});
  }
  const std::string plain = evaluation_table(evaluate_image(picture_model(), pictures(2), quick()));
  test::expect_parts(plain, {"\nraw  "});
  test::expect_no_parts(plain, {"over attention", "Difference"});
  for (const std::string& line : test::lines_of(plain)) EXPECT_LE(display_width(line), 80U) << line;
  ImageEvaluationReport hostile = report;
  hostile.source = "\x1b[2J";
  test::expect_no_parts(evaluation_table(hostile), {"\x1b"});
}

TEST(ImageEvaluationOutput, EndingsChooseTheKind) {
  const test::TempFolder folder;
  const ImageEvaluationReport report = small_report();
  write_evaluation(folder / "a.json", report);
  write_evaluation(folder / "a.CSV", report);
  write_evaluation(folder / "a.md", report);
  EXPECT_EQ(test::get(folder / "a.json"), evaluation_json(report));
  EXPECT_EQ(test::get(folder / "a.CSV"), evaluation_csv(report));
  EXPECT_EQ(test::get(folder / "a.md"), evaluation_markdown(report));
  expect_error(ErrorKind::kUsage, {".json, .csv or .md", "a.html"},
               [&] { check_evaluation_output(folder / "a.html"); });
  expect_error(ErrorKind::kUsage, {"no"}, [&] { check_evaluation_output(folder / "no" / "a.json"); });
}

}  // namespace
}  // namespace attnflow::evaluate_image_test
