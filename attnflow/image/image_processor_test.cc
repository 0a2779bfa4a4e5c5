#include "attnflow/image/image_processor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "attnflow/base/random.h"
#include "attnflow/image/golden_pictures_for_test.h"

namespace attnflow::image_processor_test {
namespace {

ImageProcessor processor_of(const nlohmann::json& settings, std::size_t channels = 3) {
  return read_image_processor(settings.dump(), "CONFIG", {channels, ""});
}

Picture golden_picture(const std::string& name) { return {test::golden_bytes("pictures.npz", name)}; }

TEST(ImageProcessorTest, EqualsTransformers) {
  std::size_t compared = 0;
  for (const auto& entry : test::pictures_index()["processors"]) {
    const std::string name = entry["name"];
    const ImageProcessor processor = processor_of(entry["settings"], entry["channels"]);
    for (const std::string picture : entry["pictures"]) {
      SCOPED_TRACE(name + " of " + picture);
      const bool large = name.find("_224") != std::string::npos;
      const Array array = large ? read_npz(test::pictures_folder() / (name + "_" + picture + ".npz"), "pixel_values")
                                : read_npz(test::pictures_folder() / "pixel_values.npz", name + "_" + picture);
      const Tensor<double> expected = array.to_double(name);
      const Tensor<float> found = pixel_values(golden_picture(picture), processor);
      ASSERT_EQ(found.shape(), expected.shape());
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(static_cast<double>(found.data()[i]), expected.data()[i]) << "at " << i;
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 60U);
}

TEST(ImageProcessorTest, EqualsTransformersOnPhotographs) {
  const char* const data = std::getenv("ATTNFLOW_SHARED_DATA");
  if (data == nullptr) GTEST_SKIP() << "ATTNFLOW_SHARED_DATA is not set";
  const auto golden = nlohmann::json::parse(test::get(test::pictures_folder() / "photographs.json"));
  std::size_t compared = 0;
  for (const auto& entry : test::pictures_index()["processors"]) {
    const std::string name = entry["name"];
    for (const auto& [file, hashes] : golden.items()) {
      if (!hashes.contains(name)) continue;
      const Picture picture = read_picture(std::filesystem::path(data) / "images" / file);
      const Tensor<std::uint8_t> input = input_pixels(picture, processor_of(entry["settings"]));
      const std::string_view bytes(reinterpret_cast<const char*>(input.data()), input.size());
      EXPECT_EQ(fmt::format("{:016x}", name_hash(bytes)), hashes[name].get<std::string>()) << name << " of " << file;
      ++compared;
    }
  }
  EXPECT_GE(compared, 9U);
}

TEST(ImageProcessorTest, ClassesHaveTheirDefaults) {
  const ImageProcessor vit = processor_of({{"image_processor_type", "ViTImageProcessor"}});
  EXPECT_EQ(vit.size.height, 224U);
  EXPECT_EQ(vit.resample, Resampling::kBilinear);
  EXPECT_FALSE(vit.do_center_crop);
  const ImageProcessor deit = processor_of({{"feature_extractor_type", "DeiTFeatureExtractor"}});
  EXPECT_EQ(deit.size.width, 256U);
  EXPECT_EQ(deit.crop_width, 224U);
  EXPECT_EQ(deit.resample, Resampling::kBicubic);
  const ImageProcessor clip = processor_of({{"image_processor_type", "CLIPImageProcessorFast"}, {"size", 336}});
  EXPECT_EQ(clip.type, "CLIPImageProcessor");
  const ImageProcessor dinov3 = processor_of({{"image_processor_type", "DINOv3ViTImageProcessorFast"}});
  EXPECT_EQ(dinov3.resample, Resampling::kBilinear);
  EXPECT_EQ(dinov3.image_mean, (std::vector<double>{0.485, 0.456, 0.406}));
  const ImageProcessor beit = processor_of({{"feature_extractor_type", "BeitFeatureExtractor"}, {"size", 384}});
  EXPECT_EQ(beit.size.width, 384U);
  EXPECT_EQ(beit.resample, Resampling::kBicubic);
  EXPECT_FALSE(beit.do_center_crop);
  EXPECT_EQ(clip.size.shortest_edge, 336U);
  EXPECT_EQ(clip.image_mean[0], 0.48145466);
  // Null means absent; settings without a class use that of the model.
  const ImageProcessor old =
      read_image_processor(R"({"size": 20, "resample": null, "do_pad": false})", "CONFIG", {3, "vit"});
  EXPECT_EQ(old.type, "ViTImageProcessor");
  EXPECT_EQ(old.size.height, 20U);
  EXPECT_EQ(read_image_processor("{}", "CONFIG", {3, "dinov2_with_registers"}).type, "BitImageProcessor");
  EXPECT_EQ(read_image_processor("{}", "CONFIG", {3, "data2vec-vision"}).type, "BeitImageProcessor");
}

TEST(ImageProcessorTest, RefusesWhatItDoesNotUnderstand) {
  const auto refused = [](const std::string& text, const std::vector<std::string>& words, ErrorKind kind,
                          const ImageProcessorOptions& options = {3, "vit"}) {
    std::vector<std::string> all = words;
    all.emplace_back("CONFIG: ");
    test::expect_error(kind, all, [&] { read_image_processor(text, "CONFIG", options); });
  };
  const auto unsupported = ErrorKind::kUnsupportedModel;
  const auto bad = ErrorKind::kBadFile;
  refused(R"({"do_pad": true, "pad_size": 5})", {"do_pad", "true"}, unsupported);
  refused(R"({"do_flip_channel_order": true})", {"do_flip_channel_order"}, unsupported);
  refused(R"({"crop_pct": 0.875})", {"crop_pct", "0.875"}, unsupported);
  refused(R"({"image_processor_type": "ConvNextImageProcessor"})", {"ConvNextImageProcessor", "ViTImageProcessor"},
          unsupported);
  refused("{}", {"no image_processor_type"}, unsupported, {3, ""});
  refused("{}", {"no image_processor_type", "bert"}, unsupported, {3, "bert"});
  refused("{}", {"1 or 3 channels, found 4"}, unsupported, {4, "vit"});
  refused(R"({"size": {"longest_edge": 5, "max_height": 3}})", {"max_height"}, unsupported);
  refused(R"({"do_convert_rgb": true, "image_mean": 0, "image_std": 1})", {"do_convert_rgb"}, unsupported, {1, "vit"});

  refused("", {"expected JSON"}, bad);
  refused("[1]", {"expected a JSON object"}, bad);
  refused(std::string(1000, '[') + std::string(1000, ']'), {"JSON"}, bad);
  refused(R"({"image_processor_type": 3})", {"a text", "image_processor_type"}, bad);
  refused(R"({"do_resize": 1})", {"true or false", "do_resize"}, bad);
  refused(R"({"size": 0})", {"from 1 to 65536", "size"}, bad);
  refused(R"({"size": -3})", {"from 1 to 65536", "size"}, bad);
  refused(R"({"size": 1e9})", {"from 1 to 65536"}, bad);
  refused(R"({"size": 99999999})", {"from 1 to 65536"}, bad);
  refused(R"({"size": [1, 2, 3]})", {"[height, width]"}, bad);
  refused(R"({"size": {"height": 3}})", {"height and width", "size"}, bad);
  refused(R"({"size": {"height": 3, "width": 3, "shortest_edge": 3}})", {"height and width", "size"}, bad);
  refused(R"({"size": {"longest_edge": 3}})", {"height and width", "size"}, bad);
  refused(R"({"resample": 6})", {"filter of PIL", "resample"}, bad);
  refused(R"({"resample": "bicubic"})", {"filter of PIL", "resample"}, bad);
  refused(R"({"do_center_crop": true})", {"crop_size"}, bad);
  refused(R"({"image_mean": [0.5, 0.5]})", {"image_mean", "3 channels", "found 2"}, bad);
  refused(R"({"image_mean": [0.5, 0.5, "x"]})", {"image_mean", "a number"}, bad);
  refused(R"({"image_std": [0.5, 0, 0.5]})", {"image_std", "other than 0"}, bad);
  refused(R"({"rescale_factor": 1e300})", {"rescale_factor"}, bad);
  refused(R"({"image_std": 1})", {"image_mean", "1 channel", "the default, 3"}, bad, {1, "vit"});
}

TEST(ImageProcessorTest, GeometryOfACrop) {
  // 640 x 480 -> shortest edge 256: 341 x 256 (341.33 rounded down) -> 224 x 224 from (58, 16).
  ImageProcessor processor =
      processor_of({{"image_processor_type", "BitImageProcessor"}, {"size", {{"shortest_edge", 256}}}});
  const InputGeometry geometry = input_geometry(480, 640, processor);
  EXPECT_EQ(geometry.resized_width, 341U);
  EXPECT_EQ(geometry.resized_height, 256U);
  EXPECT_EQ(geometry.left, 58);
  EXPECT_EQ(geometry.top, 16);
  const Rectangle seen = geometry.seen();
  EXPECT_DOUBLE_EQ(seen.left, 58 * 640.0 / 341);
  EXPECT_DOUBLE_EQ(seen.right, (58 + 224) * 640.0 / 341);
  EXPECT_DOUBLE_EQ(seen.top, 30.0);
  EXPECT_DOUBLE_EQ(seen.bottom, 450.0);

  // A picture smaller than the crop: it is padded with black, one pixel more on the left.
  processor.do_resize = false;
  const InputGeometry padded = input_geometry(100, 201, processor);
  EXPECT_EQ(padded.left, -12);
  EXPECT_EQ(padded.top, -62);
  EXPECT_DOUBLE_EQ(padded.seen().left, -12.0);
  EXPECT_DOUBLE_EQ(padded.seen().right, 212.0);
}

TEST(ImageProcessorTest, WithoutACropAllIsSeen) {
  const InputGeometry geometry = input_geometry(333, 77, processor_of({{"image_processor_type", "ViTImageProcessor"}}));
  const Rectangle seen = geometry.seen();
  EXPECT_DOUBLE_EQ(seen.left, 0.0);
  EXPECT_DOUBLE_EQ(seen.top, 0.0);
  EXPECT_DOUBLE_EQ(seen.right, 77.0);
  EXPECT_DOUBLE_EQ(seen.bottom, 333.0);
}

TEST(ImageProcessorTest, GeometryIsWhereThePixelsAre) {
  for (const char* const crop : {"30", "80"}) {  // cropped, and padded with black
    const ImageProcessor processor = read_image_processor(
        fmt::format(R"({{"size": {{"shortest_edge": 60}}, "crop_size": {0}, "resample": 4}})", crop), "CONFIG",
        {3, "dinov2"});
    Picture picture = test::plain_picture(120, 180, 0, 0, 0);
    picture.rgb(58, 94, 1) = 255;
    const InputGeometry geometry = input_geometry(120, 180, processor);
    const Tensor<std::uint8_t> input = input_pixels(picture, processor);
    std::size_t marks = 0;
    for (std::size_t y = 0; y < input.extent(0); ++y) {
      for (std::size_t x = 0; x < input.extent(1); ++x) {
        if (input(y, x, 1) == 0) continue;
        ++marks;
        const auto at = [](std::size_t i) { return static_cast<double>(i); };
        const Rectangle from = geometry.in_picture({at(x), at(y), at(x + 1), at(y + 1)});
        EXPECT_TRUE(from.left <= 94 && from.right >= 95 && from.top <= 58 && from.bottom >= 59) << crop;
      }
    }
    EXPECT_EQ(marks, 1U);  // 120 -> 60: a box of 2 x 2 pixels
  }
}

TEST(ImageProcessorTest, LongThinPictures) {
  const ImageProcessor cropped = processor_of({{"image_processor_type", "BitImageProcessor"}});
  EXPECT_EQ(pixel_values(test::plain_picture(1, 20000, 9, 9, 9), cropped).shape(), (Shape{3, 224, 224}));
  const ImageProcessor whole = processor_of({{"image_processor_type", "BitImageProcessor"}, {"do_center_crop", false}});
  test::expect_error(ErrorKind::kBadFile, {"found one of 4480000 x 224", "16777216", "20000 x 1"},
                     [&] { pixel_values(test::plain_picture(1, 20000, 9, 9, 9), whole); });
  const ImageProcessor edges = processor_of({{"image_processor_type", "BitImageProcessor"},
                                             {"size", {{"shortest_edge", 20}, {"longest_edge", 30}}},
                                             {"do_center_crop", false}});
  test::expect_error(ErrorKind::kBadFile, {"found one of 20000 x 1", "become 30 x 0"},
                     [&] { input_geometry(1, 20000, edges); });
}

}  // namespace
}  // namespace attnflow::image_processor_test
