// The writing half of report_json.h; report_json_read.cc is the other.
#include "attnflow/report/report_json.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "attnflow/files/atomic_file.h"
#include "attnflow/files/utf8.h"
#include "attnflow/report/base64.h"
#include "attnflow/report/report_json_internal.h"

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
  const std::string& heads = report.settings.heads;
  return !report.raw.empty() && (heads == "mean" || heads == "max" || heads == "min") &&
         counts_from(report.settings.layers, 1, report.model.layers) && counts_from(report.output_tokens, 0, n);
}

std::uint16_t half_from_double(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520.0) return sign | 0x7c00;  // half-way above the largest finite half: rounds to infinity
  if (magnitude < 0x1p-14) {
    // Subnormal: a multiple of 2^-24. Rounding up to 1024 gives the code of the smallest normal number by itself.
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1p24)));
  }
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // magnitude = fraction * 2^exponent, 0.5 <= fraction < 1
  const auto significand = static_cast<int>(std::nearbyint(fraction * 2048.0));  // 1024..2048; 2048 carries over
  return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + (significand - 1024)));
}

}  // namespace internal

namespace {

using Json = nlohmann::ordered_json;

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (internal::next_code_point(text, at)) {
      out += text.substr(begin, at - begin);
    } else {
      out += '?';  // one byte for one byte: ranges of tokens stay what they are
    }
  }
  return out;
}

// Appends JSON text so that it can stand inside a <script> element. The three characters occur in strings only.
void append_escaped(std::string& out, std::string_view json) {
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '<') {
      out += "\\u003c";
    } else if (json.substr(i, 3) == "\xe2\x80\xa8") {
      out += "\\u2028";
      i += 2;
    } else if (json.substr(i, 3) == "\xe2\x80\xa9") {
      out += "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
}

Json text_list(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(valid_utf8(text));
  return list;
}

Json settings_json(const ReportSettings& settings) {
  return {{"method", text_list(settings.method)},
          {"heads", valid_utf8(settings.heads)},
          {"residual", settings.residual},
          {"discard", settings.discard},
          {"discard_keep_special", settings.discard_keep_special},
          {"set_aside", valid_utf8(settings.set_aside)},
          {"layers", settings.layers},
          {"to_layer", settings.to_layer},
          {"output_token", valid_utf8(settings.output_token)},
          {"normalize", valid_utf8(settings.normalize)},
          {"words", settings.words},
          {"flow_tolerance", settings.flow_tolerance},
          {"top_k", settings.top_k}};
}

Json token_json(const ReportToken& token) {
  Json json = Json::object();
  json["text"] = valid_utf8(token.text);
  if (token.begin) json["begin"] = *token.begin;
  if (token.end) json["end"] = *token.end;
  json["special"] = token.special;
  if (token.word) json["word"] = *token.word;
  json["segment"] = token.segment;
  return json;
}

Json choices_json(const std::vector<ReportChoice>& choices) {
  Json list = Json::array();
  for (const ReportChoice& choice : choices) {
    list.push_back({{"label", valid_utf8(choice.label)}, {"probability", choice.probability}});
  }
  return list;
}

Json prediction_json(const ReportPrediction& prediction) {
  Json json = Json::object();
  json["kind"] = valid_utf8(prediction.kind);
  if (prediction.position) json["position"] = *prediction.position;
  json["choices"] = choices_json(prediction.choices);
  json["candidates"] = choices_json(prediction.candidates);
  return json;
}

Json certificate_json(const ReportCertificate& certificate) {
  Json shares = Json::array();
  for (const ReportCutShare& share : certificate.cut_shares) {
    shares.push_back(
        {{"layer", share.layer}, {"arcs", share.arcs}, {"capacity", share.capacity}, {"share", share.share}});
  }
  Json cut = Json::array();
  for (const ReportCutArc& arc : certificate.minimum_cut) {
    cut.push_back(Json::array({arc.layer, arc.from, arc.to, arc.capacity}));
  }
  Json flows = Json::array();
  for (const ReportFlowArc& arc : certificate.arc_flows) {
    flows.push_back(Json::array({arc.layer, arc.from, arc.to, arc.units}));
  }
  return {{"layer", certificate.layer},
          {"to_layer", certificate.to_layer},
          {"output_token", certificate.output_token},
          {"input_token", certificate.input_token},
          {"flow", certificate.flow},
          {"flow_gap", certificate.flow_gap},
          {"checked",
           {{"feasible", certificate.feasible},
            {"conserves", certificate.conserves},
            {"separates", certificate.separates},
            {"low", certificate.low},
            {"high", certificate.high},  // null when infinite
            {"problem", valid_utf8(certificate.problem)}}},
          {"cut_shares", std::move(shares)},
          {"only_minimum_cut", certificate.only_minimum_cut},
          {"minimum_cut", std::move(cut)},
          {"unit_exponent", certificate.unit_exponent},
          {"arc_flows", std::move(flows)}};
}

// Stored words of `values`, converted piece by piece so that no second copy of a large array is made.
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
                                      [](T value) { return internal::half_from_double(static_cast<double>(value)); });
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

}  // namespace

std::string report_to_json(const Report& report, const ReportJsonOptions& options) {
  std::string out = "{";
  auto field = [&, first = true](std::string_view name, const Json& value) mutable {
    out += first ? "\n\"" : ",\n\"";
    first = false;
    out += name;
    out += "\": ";
    append_escaped(out, value.dump());
  };
  field("format", "attnflow-report");
  field("version", kReportVersion);
  field("settings", settings_json(report.settings));
  field("model", {{"name", valid_utf8(report.model.name)},
                  {"architecture", valid_utf8(report.model.architecture)},
                  {"layers", report.model.layers},
                  {"heads", report.model.heads},
                  {"causal", report.model.causal}});
  Json tokens = Json::array();
  for (const ReportToken& token : report.input.tokens) tokens.push_back(token_json(token));
  field("input", {{"kind", valid_utf8(report.input.kind)},
                  {"text", valid_utf8(report.input.text)},
                  {"text_pair", valid_utf8(report.input.text_pair)},
                  {"tokens", std::move(tokens)}});
  Json predictions = Json::array();
  for (const ReportPrediction& prediction : report.predictions) predictions.push_back(prediction_json(prediction));
  field("predictions", predictions);
  field("output_token", report.output_token);
  field("all_output_tokens", report.all_output_tokens);
  field("output_tokens", report.output_tokens);
  field("flow_output_tokens", report.flow_output_tokens);
  if (!report.flow_gap.empty()) {
    // A summary for readers that take no flow_gap array; a NaN gap would not compare, and must not pass for a small
    // one.
    double largest = 0.0;
    for (const double gap : report.flow_gap.span()) largest = gap <= largest ? largest : gap;
    field("flow_gap_max", largest);
  }
  if (!report.certificates.empty()) {
    Json certificates = Json::array();
    for (const ReportCertificate& certificate : report.certificates) {
      certificates.push_back(certificate_json(certificate));
    }
    field("certificates", certificates);
  }
  if (!report.referents.empty()) {
    Json referents = Json::array();
    for (const ReportReferent& referent : report.referents) {
      referents.push_back({{"text", valid_utf8(referent.text)}, {"tokens", referent.tokens}});
    }
    field("referents", referents);
  }
  field("notes", text_list(report.notes));

  out += ",\n\"arrays\": {";
  ArrayWriter arrays(out, options);
  arrays.write("raw", report.raw);
  arrays.write("rollout", report.rollout);
  arrays.write("flow", report.flow);
  arrays.write("flow_gap", report.flow_gap);
  arrays.write("flow_degenerate", report.flow_degenerate);
  const bool raw_written = std::find(options.omit.begin(), options.omit.end(), "raw") == options.omit.end();
  if (!(raw_written && internal::graph_equals_raw_by_rule(report) && report.graph == report.raw)) {
    arrays.write("graph", report.graph);
  }
  if (options.attention) arrays.write("attention", report.attention);
  out += "}\n}\n";
  return out;
}

void write_report_json(const std::filesystem::path& path, const Report& report, const ReportJsonOptions& options) {
  write_file(path, report_to_json(report, options));
}

}  // namespace attnflow
