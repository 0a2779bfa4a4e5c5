// Writes; report_json_read.cc reads.
#include "attnflow/report/report_json.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>

#include "attnflow/attribution/note.h"
#include "attnflow/base/base64.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/half.h"
#include "attnflow/report/note_json.h"
#include "attnflow/report/report_answer.h"
#include "attnflow/report/report_array_table.h"
#include "attnflow/report/report_check.h"
#include "attnflow/report/report_json_parts.h"

namespace attnflow {
namespace internal {

bool graph_equals_raw_by_rule(const Report& report) {
  const std::size_t n = report.input.tokens.size();
  const auto counts_from = [](const std::vector<std::size_t>& values, std::size_t first, std::size_t count) {
    if (values.size() != count) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (values[i] != first + i) return false;
    }
    return true;
  };
  return !report.generation && !report.raw.empty() && !report.settings.heads.is_single() &&
         counts_from(report.settings.layers, 1, report.model.layers) && counts_from(report.output_tokens, 0, n);
}

}  // namespace internal

namespace {

using internal::Json;
using internal::json_of;
using internal::valid_utf8;

Json image_json(const ReportImage& image) {
  std::string data;
  base64_append(data, std::as_bytes(std::span(image.png)));
  Json json = {{"name", valid_utf8(image.name)},
               {"width", image.width},
               {"height", image.height},
               {"rows", image.rows},
               {"columns", image.columns},
               {"first_patch", image.first_patch},
               {"seen", {image.left, image.top, image.right, image.bottom}}};
  if (image.input_channels > 0) {
    json["model_input"] = {
        {"width", image.input_width}, {"height", image.input_height}, {"channels", image.input_channels}};
  }
  json["picture"] = {
      {"width", image.png_width}, {"height", image.png_height}, {"encoding", "png+base64"}, {"data", std::move(data)}};
  return json;
}

// Adds the parts without a token, the total and the error.
void add_sum(const MethodScores& scores, std::size_t prediction, Json& json) {
  json.update(json_of(scores.sums[prediction]));
  if (scores.sums[prediction].total) json["error"] = scores.error(prediction);
}

Json scores_json(const Report& report) {
  Json json = Json::array();
  for (const MethodScores& scores : report.scores) {
    Json& one = json.emplace_back(Json{{"method", to_text(scores.method)}});
    if (!report.generation) {
      add_sum(scores, 0, one);
      continue;
    }
    Json& sums = one["sums"] = Json::array();
    for (std::size_t t = 0; t < scores.sums.size(); ++t) add_sum(scores, t, sums.emplace_back(Json::object()));
  }
  return json;
}

// Converts in pieces to avoid a second copy of a large array.
template <typename Stored, typename T, typename Convert>
void append_converted(std::string& out, std::span<const T> values, Convert convert) {
  constexpr std::size_t kPiece = 3 * 1024;  // elements; a multiple of 3, as base64_append asks
  std::vector<Stored> piece;
  for (std::size_t begin = 0; begin < values.size(); begin += kPiece) {
    piece.clear();
    for (const T value : values.subspan(begin, std::min(kPiece, values.size() - begin))) {
      piece.push_back(convert(value));
    }
    base64_append(out, std::as_bytes(std::span(piece)));
  }
}

class ArrayWriter {
 public:
  ArrayWriter(std::string& out, const ReportJsonOptions& options) : out_(out), options_(options) {}

  template <typename T>
  void write(std::string_view name, const Tensor<T>& array) {
    static_assert(std::endian::native == std::endian::little, "arrays are stored in memory order");
    if (array.empty() || std::find(options_.omit.begin(), options_.omit.end(), name) != options_.omit.end()) return;
    const bool integer = std::is_same_v<T, std::uint8_t>;
    const ReportArrayType type = options_.array_type;
    const bool half = !integer && type == ReportArrayType::kF16;
    const bool narrow = std::is_same_v<T, double> && type == ReportArrayType::kF32;
    const char* dtype = integer ? "u8" : half ? "f16" : narrow || std::is_same_v<T, float> ? "f32" : "f64";
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":{\"shape\":" + Json(array.shape()).dump() + ",\"dtype\":\"" + dtype +
            "\",\"encoding\":\"base64\",\"data\":\"";
    if (half) {
      append_converted<std::uint16_t>(out_, array.span(),
                                      [](T value) { return float_to_half(static_cast<double>(value)); });
    } else if (narrow) {
      append_converted<float>(out_, array.span(), [](T value) { return static_cast<float>(value); });
    } else {
      base64_append(out_, std::as_bytes(array.span()));
    }
    out_ += "\"}";
  }

 private:
  std::string& out_;
  const ReportJsonOptions& options_;
  bool first_ = true;
};

// `check` is of what `output_token` explains.
Json check_json(const Report& report, const ReportCheck& check, std::size_t output_token, bool replacements) {
  Json json = json_of(check);
  if (!replacements) {
    for (Json& token : json["tokens"]) token.erase("replacements");
  }
  for (std::size_t m = 0; m < check.maps.size(); ++m) {
    const internal::MapWords words = internal::map_words(report, check, check.maps[m], output_token);
    json["maps"][m].update({{"level", words.level},
                            {"top_level", words.top_level},
                            {"order_level", words.order_level},
                            {"effect", valid_utf8(words.effect)},
                            {"order", words.order}});
  }
  return json;
}

Json answer_json(const Report& report) {
  const ReportAnswer answer = report_answer(report);
  Json json = {{"headline", valid_utf8(answer.headline)}};
  if (answer.method) json.update({{"method", to_text(*answer.method)}, {"map", answer.map}});
  Json& verdicts = json["verdicts"] = Json::array();
  for (const AnswerVerdict& verdict : answer.verdicts) {
    verdicts.push_back({{"question", verdict.question}, {"level", verdict.level}, {"text", valid_utf8(verdict.text)}});
  }
  return json;
}

// Adds the shown form of tokens that are parts of a character.
Json generation_json(const Report& report, bool replacements) {
  const Generation& generation = *report.generation;
  Json json = json_of(generation);
  for (std::size_t t = 0; t < generation.tokens.size(); ++t) {
    const GeneratedToken& token = generation.tokens[t];
    const bool has_range = token.begin < token.end && token.end <= generation.text.size();
    const std::string own = has_range ? generation.text.substr(token.begin, token.end - token.begin) : token.text;
    if (const std::string shown = generated_text(generation, t); shown != own) {
      json["tokens"][t]["shown"] = valid_utf8(shown);
    }
    const std::size_t output = report.input.tokens.size() + t - 1;
    if (token.check) json["tokens"][t]["check"] = check_json(report, *token.check, output, replacements);
  }
  return json;
}

}  // namespace

std::string internal::report_head(const Report& report, const HeadOptions& options) {
  std::string out = "{";
  auto field = [&](std::string_view name, const Json& value) { internal::append_field(out, name, value); };
  field("format", "attnflow-report");
  field("version", kReportVersion);
  field("settings", internal::settings_json(report.settings));
  field("model", json_of(report.model));
  Json input = json_of(report.input);
  if (report.input.image) input["image"] = image_json(*report.input.image);
  for (std::size_t t = 0; t < report.input.tokens.size(); ++t) {
    const std::string shown = display_text(report.input, t);
    if (shown != own_text(report.input, t)) input["tokens"][t]["shown"] = valid_utf8(shown);
  }
  field("input", input);
  field("answer", answer_json(report));
  field("predictions", json_of(report.predictions));
  if (report.target) field("target", json_of(*report.target));
  field("output_token", report.output_token);
  field("all_output_tokens", report.all_output_tokens);
  field("output_tokens", report.output_tokens);
  field("flow_output_tokens", report.flow_output_tokens);
  if (!report.flow_layers.empty()) field("flow_layers", report.flow_layers);
  if (!report.flow_gap.empty()) {
    // A summary for readers that ignore the flow_gap array; NaN must not pass for a small gap.
    double largest = 0.0;
    for (const double gap : report.flow_gap.span()) largest = gap <= largest ? largest : gap;
    field("flow_gap_max", largest);
  }
  if (!report.scores.empty()) field("scores", scores_json(report));
  if (report.check) field("check", check_json(report, *report.check, report.output_token, options.replacements));
  if (report.curve) field("curve", json_of(*report.curve));
  if (!report.certificates.empty()) field("certificates", json_of(report.certificates));
  if (!report.referents.empty()) field("referents", json_of(report.referents));
  if (report.generation) field("generation", generation_json(report, options.replacements));
  std::vector<Note> notes = report.notes;
  notes.insert(notes.end(), options.more_notes.begin(), options.more_notes.end());
  field("notes", internal::notes_json(notes, options.option_names));
  return out;
}

std::string report_to_json(const Report& report, const ReportJsonOptions& options) {
  std::string out = internal::report_head(report);
  out += ",\n\"arrays\": {";
  ArrayWriter arrays(out, options);
  const bool raw_written = std::find(options.omit.begin(), options.omit.end(), "raw") == options.omit.end();
  internal::for_each_array(report, [&](const std::string& name, const auto& values, const auto&) {
    if (name == "attention" && !options.attention) return;
    if (name == "graph" && raw_written && internal::graph_equals_raw_by_rule(report) && report.graph == report.raw) {
      return;
    }
    arrays.write(name, values);
  });
  out += "}\n}\n";
  return out;
}

void write_report_json(const std::filesystem::path& path, const Report& report, const ReportJsonOptions& options) {
  write_file(path, report_to_json(report, options));
}

}  // namespace attnflow
