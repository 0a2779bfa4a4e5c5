#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnflow/base/fail.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/image/image_processor.h"

namespace attnflow {
namespace {

using Json = nlohmann::json;

// Above any model's size, and low enough that multiplying it by picture sizes (below 2^31) cannot overflow.
constexpr std::size_t kMaxEdge = std::size_t{1} << 16;

struct ProcessorClass {
  const char* name;
  const char* model_types;  // space-separated: those whose configuration may name no class
  ImageProcessor defaults;
  bool default_to_square;  // the meaning of a size given as one number: both edges, or the shortest
  bool convert_rgb;
};

ImageProcessor processor_of(TargetSize size, Resampling resample, std::size_t crop, std::vector<double> mean,
                            std::vector<double> deviation) {
  ImageProcessor processor;
  processor.size = size;
  processor.resample = resample;
  processor.do_center_crop = crop != 0;
  processor.crop_height = processor.crop_width = crop;
  processor.image_mean = std::move(mean);
  processor.image_std = std::move(deviation);
  return processor;
}

const std::vector<ProcessorClass>& processor_classes() {
  static const std::vector<double> half = {0.5, 0.5, 0.5};
  static const std::vector<double> clip_mean = {0.48145466, 0.4578275, 0.40821073};
  static const std::vector<double> clip_std = {0.26862954, 0.26130258, 0.27577711};
  static const std::vector<ProcessorClass> classes = {
      {"ViTImageProcessor", " vit vit_mae vit_msn ijepa ",
       processor_of({224, 224, 0, 0}, Resampling::kBilinear, 0, half, half), true, false},
      {"DeiTImageProcessor", " deit ", processor_of({256, 256, 0, 0}, Resampling::kBicubic, 224, half, half), true,
       false},
      {"BitImageProcessor", " bit dinov2 dinov2_with_registers ",
       processor_of({0, 0, 224, 0}, Resampling::kBicubic, 224, clip_mean, clip_std), false, true},
      {"DINOv3ViTImageProcessor", " dinov3_vit ",
       processor_of({224, 224, 0, 0}, Resampling::kBilinear, 0, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}), true,
       false},
      {"BeitImageProcessor", " beit data2vec-vision ",
       processor_of({224, 224, 0, 0}, Resampling::kBicubic, 0, half, half), true, false},
      {"CLIPImageProcessor", " clip clip_vision_model ",
       processor_of({0, 0, 224, 0}, Resampling::kBicubic, 224, clip_mean, clip_std), false, true},
      {"SiglipImageProcessor", " siglip siglip_vision_model ",
       processor_of({224, 224, 0, 0}, Resampling::kBicubic, 0, half, half), false, true},
  };
  return classes;
}

// Settings about how, or by what, a processor is called, which change no pixel. "reduce_labels" is about segmentation.
constexpr std::array kHarmless = {
    "_name_or_path",       "_processor_class",  "_valid_processor_keys",  "data_format",          "device",
    "disable_grouping",    "do_reduce_labels",  "feature_extractor_type", "image_processor_type", "image_seq_length",
    "input_data_format",   "model_input_names", "processor_class",        "reduce_labels",        "return_tensors",
    "transformers_version"};

constexpr std::array kUnderstood = {"crop_size",    "default_to_square", "do_center_crop", "do_convert_rgb",
                                    "do_normalize", "do_rescale",        "do_resize",      "image_mean",
                                    "image_std",    "resample",          "rescale_factor", "size"};

template <std::size_t n>
bool is_one_of(const std::array<const char*, n>& names, const std::string& key) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

// The settings of one file. Null means absent, as in transformers.
class Settings {
 public:
  Settings(std::string_view text, const std::string& source)
      : source_(source), json_(internal::parse_json_object(text, source)) {}

  [[noreturn]] void fail(ErrorKind kind, const std::string& message) const {
    throw Error(kind, source_ + ": " + message);
  }
  [[noreturn]] void wrong(const char* key, const std::string& expected, const Json& found) const {
    fail(ErrorKind::kBadFile,
         fmt::format("expected {} as \"{}\", found {}", expected, key, internal::show_json(found)));
  }

  const Json& object() const { return json_; }
  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  std::string text(const char* key) const {
    const Json* const value = find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) wrong(key, "a text", *value);
    return value->get<std::string>();
  }
  bool flag(const char* key, bool fallback) const {
    const Json* const value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) wrong(key, "true or false", *value);
    return value->get<bool>();
  }
  double number(const char* key, const Json& value) const {
    constexpr double kLargest = 1e6;
    const bool fits = value.is_number() && std::fabs(value.get<double>()) <= kLargest;
    if (!fits) wrong(key, "a number from -1e6 to 1e6", value);
    return value.get<double>();
  }
  std::size_t edge(const char* key, const Json& value) const {
    const bool fits =
        value.is_number_unsigned() && value.get<std::uint64_t>() >= 1 && value.get<std::uint64_t>() <= kMaxEdge;
    if (!fits) wrong(key, fmt::format("whole numbers of pixels from 1 to {}", kMaxEdge), value);
    return value.get<std::size_t>();
  }
  // One number per channel, or one for all.
  std::vector<double> per_channel(const char* key, std::vector<double> fallback, std::size_t channels) const {
    const Json* const value = find(key);
    std::vector<double> numbers = std::move(fallback);
    if (value != nullptr && !value->is_array()) {
      numbers.assign(channels, number(key, *value));
    } else if (value != nullptr) {
      numbers.clear();
      for (const Json& item : *value) numbers.push_back(number(key, item));
    }
    if (numbers.size() != channels) {
      fail(ErrorKind::kBadFile, fmt::format("expected \"{}\" for the {} channel{} of the model, found {} of them", key,
                                            channels, channels == 1 ? "" : "s",
                                            value == nullptr ? fmt::format("the default, {}", numbers.size())
                                                             : std::to_string(numbers.size())));
    }
    return numbers;
  }

  // {"height", "width"}, {"shortest_edge"[, "longest_edge"]}, [height, width] or one number.
  TargetSize size(const char* key, TargetSize fallback, bool square) const {
    const Json* const value = find(key);
    if (value == nullptr) return fallback;
    TargetSize size;
    if (value->is_array()) {
      if (value->size() != 2) wrong(key, "[height, width]", *value);
      return {edge(key, (*value)[0]), edge(key, (*value)[1]), 0, 0};
    }
    if (!value->is_object()) {
      const std::size_t one = edge(key, *value);
      return square ? TargetSize{one, one, 0, 0} : TargetSize{0, 0, one, 0};
    }
    for (const auto& [name, item] : value->items()) {
      if (item.is_null()) continue;
      std::size_t* const field = name == "height"          ? &size.height
                                 : name == "width"         ? &size.width
                                 : name == "shortest_edge" ? &size.shortest_edge
                                 : name == "longest_edge"  ? &size.longest_edge
                                                           : nullptr;
      if (field == nullptr) {
        fail(ErrorKind::kUnsupportedModel,
             fmt::format(
                 "\"{}\" holds {}, which is not supported; supported are height and width, or shortest_edge with or "
                 "without longest_edge",
                 key, internal::quote_name(name)));
      }
      *field = edge(key, item);
    }
    const bool exact = size.height != 0 && size.width != 0 && size.shortest_edge == 0 && size.longest_edge == 0;
    const bool edges = size.height == 0 && size.width == 0 && size.shortest_edge != 0;
    if (!exact && !edges) wrong(key, "height and width, or shortest_edge with or without longest_edge,", *value);
    return size;
  }

 private:
  std::string source_;
  Json json_;
};

// "ViTFeatureExtractor", "ViTImageProcessorFast" -> "ViTImageProcessor".
std::string plain_class_name(std::string name) {
  const auto cut_end = [&](std::string_view end) {
    if (name.size() <= end.size() || name.compare(name.size() - end.size(), end.size(), end) != 0) return false;
    name.resize(name.size() - end.size());
    return true;
  };
  if (!cut_end("Fast")) cut_end("Pil");
  if (cut_end("FeatureExtractor")) name += "ImageProcessor";
  return name;
}

const ProcessorClass& class_of(const Settings& settings, const ImageProcessorOptions& options) {
  std::string name = settings.text("image_processor_type");
  if (name.empty()) name = settings.text("feature_extractor_type");
  const std::string plain = plain_class_name(name);
  std::string known;
  for (const ProcessorClass& candidate : processor_classes()) {
    if (name.empty()
            ? !options.model_type.empty() &&
                  std::string_view(candidate.model_types).find(" " + options.model_type + " ") != std::string_view::npos
            : plain == candidate.name) {
      return candidate;
    }
    known += (known.empty() ? "" : ", ") + std::string(candidate.name);
  }
  const std::string found = !name.empty()                ? "image_processor_type " + internal::quote_name(name)
                            : options.model_type.empty() ? "no image_processor_type"
                                                         : "no image_processor_type, in a model of type " +
                                                               internal::quote_name(options.model_type);
  settings.fail(ErrorKind::kUnsupportedModel,
                fmt::format("expected an image processor of one of the classes {}; found {}", known, found));
}

// Any setting that is not supported, harmless or switched off might change the pixels.
void refuse_unknown(const Settings& settings) {
  for (const auto& [key, value] : settings.object().items()) {
    if (is_one_of(kHarmless, key) || is_one_of(kUnderstood, key)) continue;
    if (value.is_null() || (value.is_boolean() && !value.get<bool>())) continue;
    if (key == "pad_size" && !settings.flag("do_pad", false)) continue;
    settings.fail(ErrorKind::kUnsupportedModel,
                  fmt::format("{} is {}, a setting unknown to attnflow, which may change the pixels that the model "
                              "sees. Remove it from the file if it does not",
                              internal::quote_name(key), internal::show_json(value)));
  }
}

Resampling resampling_of(const Settings& settings, Resampling fallback) {
  constexpr std::uint64_t kLast = 5;
  const Json* const value = settings.find("resample");
  if (value == nullptr) return fallback;
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() > kLast) {
    settings.wrong("resample", "a filter of PIL (0 nearest, 1 Lanczos, 2 bilinear, 3 bicubic, 4 box, 5 Hamming)",
                   *value);
  }
  return static_cast<Resampling>(value->get<int>());
}

}  // namespace

ImageProcessor read_image_processor(std::string_view text, const std::string& source,
                                    const ImageProcessorOptions& options) {
  if (options.channels != 1 && options.channels != 3) {
    fail_with(ErrorKind::kUnsupportedModel, "{}: expected a vision model with 1 or 3 channels, found {}", source,
              options.channels);
  }
  const Settings settings(text, source);
  const ProcessorClass& kind = class_of(settings, options);
  refuse_unknown(settings);

  ImageProcessor processor = kind.defaults;
  processor.type = kind.name;
  processor.channels = options.channels;
  if (options.channels == 1 && settings.flag("do_convert_rgb", kind.convert_rgb)) {
    settings.fail(
        ErrorKind::kUnsupportedModel,
        "do_convert_rgb gives images with 3 channels, and the model takes 1; set it to false for grayscale images");
  }
  const bool square = settings.flag("default_to_square", kind.default_to_square);
  processor.do_resize = settings.flag("do_resize", processor.do_resize);
  processor.size = settings.size("size", processor.size, square);
  processor.resample = resampling_of(settings, processor.resample);

  processor.do_center_crop = settings.flag("do_center_crop", processor.do_center_crop);
  const TargetSize crop = settings.size("crop_size", {processor.crop_height, processor.crop_width, 0, 0}, true);
  if (processor.do_center_crop && crop.height == 0) {
    settings.fail(ErrorKind::kBadFile, "expected a crop_size of height and width, because do_center_crop is true");
  }
  processor.crop_height = crop.height;
  processor.crop_width = crop.width;

  processor.do_rescale = settings.flag("do_rescale", processor.do_rescale);
  if (const Json* const factor = settings.find("rescale_factor")) {
    processor.rescale_factor = settings.number("rescale_factor", *factor);
  }
  processor.do_normalize = settings.flag("do_normalize", processor.do_normalize);
  if (processor.do_normalize) {
    processor.image_mean = settings.per_channel("image_mean", processor.image_mean, options.channels);
    processor.image_std = settings.per_channel("image_std", processor.image_std, options.channels);
    for (const double deviation : processor.image_std) {
      // Used as a divisor in float32.
      if (!(std::fabs(static_cast<float>(deviation)) >= 1e-30F)) {
        settings.wrong("image_std", "numbers other than 0", *settings.find("image_std"));
      }
    }
  }
  return processor;
}

}  // namespace attnflow
