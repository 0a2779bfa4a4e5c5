// The reading half of report_json.h; report_json.cc is the other.
#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>
#include <utility>

#include "attnflow/base/checked_size.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/half.h"
#include "attnflow/report/base64.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_json_internal.h"

namespace attnflow {
namespace {

using Json = nlohmann::json;

// The document itself nests 5 deep; unknown fields of later writers get some room.
constexpr int kMaxDepth = 32;

[[noreturn]] void fail(const std::string& where, const std::string& expected, const std::string& found) {
  throw Error(ErrorKind::kBadFile,
              fmt::format("report document, {}: expected {}, found {}; write the report again with -o FILE.json",
                          where.empty() ? "top level" : where, expected, found));
}

std::string describe(const Json& value) {
  constexpr std::size_t kMost = 40;
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return text.size() <= kMost ? "the string \"" + text + "\"" : fmt::format("a string of {} bytes", text.size());
  }
  if (value.is_number() || value.is_boolean()) return value.dump();
  return value.is_null() ? "null" : value.is_array() ? "an array" : "an object";
}

// A value and its place in the document, for messages.
class Field {
 public:
  Field(const Json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // The member, or nothing when it is missing or null.
  std::optional<Field> find(const char* name) const {
    if (!value_->is_object()) fail(path_, "an object", describe(*value_));
    const auto member = value_->find(name);
    if (member == value_->end() || member->is_null()) return std::nullopt;
    return Field(*member, path_.empty() ? name : path_ + "." + name);
  }
  Field at(const char* name) const {
    const std::optional<Field> member = find(name);
    if (!member) fail(path_, fmt::format("a field \"{}\"", name), "none");
    return *member;
  }

  std::size_t length() const {
    if (!value_->is_array()) fail(path_, "an array", describe(*value_));
    return value_->size();
  }
  Field element(std::size_t index) const { return {(*value_)[index], fmt::format("{}[{}]", path_, index)}; }

  const std::string& string() const {
    if (!value_->is_string()) fail(path_, "a string", describe(*value_));
    return value_->get_ref<const std::string&>();
  }
  void get(std::string& out) const { out = string(); }
  void get(double& out) const {
    if (!value_->is_number()) fail(path_, "a number", describe(*value_));
    out = value_->get<double>();
  }
  void get(bool& out) const {
    if (!value_->is_boolean()) fail(path_, "true or false", describe(*value_));
    out = value_->get<bool>();
  }
  void get(int& out) const {
    // An unsigned number beyond 63 bits would compare as a negative one.
    const bool huge = value_->is_number_unsigned() && value_->get<std::uint64_t>() > 2000;
    if (!value_->is_number_integer() || huge || *value_ < -2000 || *value_ > 2000) {
      fail(path_, "an integer from -2000 to 2000", describe(*value_));
    }
    out = value_->get<int>();
  }
  void get(std::size_t& out) const {
    if (!value_->is_number_unsigned()) fail(path_, "a non-negative integer", describe(*value_));
    out = value_->get<std::size_t>();
  }
  template <typename T>
  void get(std::vector<T>& out) const {
    out.clear();
    const std::size_t count = length();
    for (std::size_t i = 0; i < count; ++i) element(i).get(out.emplace_back());
  }

  // Sets `out` when the member is there.
  template <typename T>
  void read(const char* name, T& out) const {
    if (const std::optional<Field> member = find(name)) member->get(out);
  }
  void read(const char* name, std::optional<std::size_t>& out) const {
    if (const std::optional<Field> member = find(name)) member->get(out.emplace());
  }

 private:
  const Json* value_;
  std::string path_;
};

// Parses with a bound on the depth, so that "[[[[..." costs nothing.
Json parse(std::string_view text) {
  try {
    return Json::parse(text.begin(), text.end(), [](int depth, Json::parse_event_t event, Json&) {
      if (depth > kMaxDepth &&
          (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start))
        fail("", fmt::format("at most {} levels of nesting", kMaxDepth), "more");
      return true;
    });
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::kBadFile, fmt::format("report document: expected JSON, found something else: {}; is the "
                                                 "file complete, and written with -o FILE.json?",
                                                 error.what()));
  }
}

void check_version(const Field& document) {
  if (document.at("format").string() != "attnflow-report") {
    fail("format", "\"attnflow-report\"", '"' + document.at("format").string().substr(0, 40) + '"');
  }
  std::size_t version = 0;
  document.at("version").get(version);
  if (version > static_cast<std::size_t>(kReportVersion)) {
    throw Error(ErrorKind::kBadFile, fmt::format("report document: expected attnflow-report version {} or older, found "
                                                 "version {}; read it with a newer attnflow",
                                                 kReportVersion, version));
  }
  if (version == 0) fail("version", "1", "0");
}

ReportSettings read_settings(const Field& json) {
  ReportSettings settings;
  json.read("method", settings.method);
  json.read("mixing", settings.mixing);
  json.read("target", settings.target);
  json.read("heads", settings.heads);
  json.read("residual", settings.residual);
  json.read("discard", settings.discard);
  json.read("discard_keep_special", settings.discard_keep_special);
  json.read("set_aside", settings.set_aside);
  json.read("layers", settings.layers);
  json.read("to_layer", settings.to_layer);
  json.read("output_token", settings.output_token);
  json.read("normalize", settings.normalize);
  json.read("words", settings.words);
  json.read("flow_tolerance", settings.flow_tolerance);
  json.read("top_k", settings.top_k);
  return settings;
}

bool is_character_boundary(const std::string& text, std::size_t offset) {
  return offset == text.size() || (static_cast<unsigned char>(text[offset]) & 0xc0) != 0x80;
}

ReportToken read_token(const Field& json, const ReportInput& input) {
  ReportToken token;
  json.at("text").get(token.text);
  json.read("begin", token.begin);
  json.read("end", token.end);
  json.read("special", token.special);
  json.read("word", token.word);
  json.read("segment", token.segment);
  json.read("unknown", token.unknown);
  json.read("role", token.role);
  if (token.segment > 1) fail(json.path() + ".segment", "0 or 1", std::to_string(token.segment));
  if (token.begin.has_value() != token.end.has_value()) {
    fail(json.path(), "both begin and end, or neither", "one of them");
  }
  if (token.begin) {
    const std::string& text = token.segment == 0 ? input.text : input.text_pair;
    if (*token.begin > *token.end || *token.end > text.size() || !is_character_boundary(text, *token.begin) ||
        !is_character_boundary(text, *token.end)) {
      fail(json.path(), fmt::format("a byte range of whole characters within the {} bytes of the text", text.size()),
           fmt::format("[{}, {})", *token.begin, *token.end));
    }
  }
  return token;
}

ReportImage read_image(const Field& json, std::size_t tokens) {
  ReportImage image;
  json.at("name").get(image.name);
  json.at("width").get(image.width);
  json.at("height").get(image.height);
  json.at("rows").get(image.rows);
  json.at("columns").get(image.columns);
  json.at("first_patch").get(image.first_patch);
  const auto patches = checked_multiply(image.rows, image.columns);
  if (!patches || *patches == 0 || *patches > tokens || image.first_patch > tokens - *patches) {
    fail(json.path(), fmt::format("a grid of patches among {} tokens", tokens),
         fmt::format("{} rows of {} from token {} on", image.rows, image.columns, image.first_patch));
  }
  const Field seen = json.at("seen");
  std::vector<double> edges;
  seen.get(edges);
  if (edges.size() != 4 || !(edges[0] < edges[2]) || !(edges[1] < edges[3])) {
    fail(seen.path(), "left, top, right, bottom", "something else");
  }
  image.left = edges[0];
  image.top = edges[1];
  image.right = edges[2];
  image.bottom = edges[3];
  const Field picture = json.at("picture");
  picture.at("width").get(image.png_width);
  picture.at("height").get(image.png_height);
  const std::string& encoding = picture.at("encoding").string();
  if (encoding != "png+base64") {
    fail(picture.path() + ".encoding", "\"png+base64\"", '"' + encoding.substr(0, 40) + '"');
  }
  const std::string& data = picture.at("data").string();
  const std::size_t padding = data.ends_with("==") ? 2 : data.ends_with('=') ? 1 : 0;
  image.png.resize(data.size() % 4 == 0 ? data.size() / 4 * 3 - padding : 0);
  if (data.size() % 4 != 0 || !base64_decode(data, std::as_writable_bytes(std::span(image.png)))) {
    fail(picture.path() + ".data", "base64", "something else");
  }
  return image;
}

ReportInput read_input(const Field& json) {
  ReportInput input;
  json.read("kind", input.kind);
  if (input.kind == "generation") {
    fail("input.kind", "the report of a text, an attention file or a picture",
         "that of a generation, which only pages read");
  }
  json.read("text", input.text);
  json.read("text_pair", input.text_pair);
  const Field tokens = json.at("tokens");
  const std::size_t count = tokens.length();
  if (count == 0) fail(tokens.path(), "at least one token", "none");
  input.tokens.reserve(count);
  for (std::size_t i = 0; i < count; ++i) input.tokens.push_back(read_token(tokens.element(i), input));
  if (const auto image = json.find("image")) input.image = read_image(*image, count);
  return input;
}

std::vector<ReportChoice> read_choices(const std::optional<Field>& json) {
  std::vector<ReportChoice> choices;
  const std::size_t count = json ? json->length() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Field choice = json->element(i);
    choice.at("label").get(choices.emplace_back().label);
    choice.at("probability").get(choices.back().probability);
  }
  return choices;
}

std::optional<ReportTarget> read_target(const std::optional<Field>& json) {
  if (!json) return std::nullopt;
  ReportTarget target;
  json->read("kind", target.kind);
  json->read("label", target.label);
  json->read("index", target.index);
  json->read("logit", target.logit);
  return target;
}

std::vector<ReportPrediction> read_predictions(const std::optional<Field>& json, std::size_t tokens) {
  std::vector<ReportPrediction> predictions;
  const std::size_t count = json ? json->length() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Field field = json->element(i);
    ReportPrediction& prediction = predictions.emplace_back();
    field.read("kind", prediction.kind);
    field.read("position", prediction.position);
    if (prediction.position && *prediction.position >= tokens) {
      fail(field.path() + ".position", fmt::format("a position below {}", tokens),
           std::to_string(*prediction.position));
    }
    prediction.choices = read_choices(field.find("choices"));
    prediction.candidates = read_choices(field.find("candidates"));
  }
  return predictions;
}

// Positions below n, increasing.
void check_positions(const char* name, const std::vector<std::size_t>& positions, std::size_t n) {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] >= n || (i > 0 && positions[i] <= positions[i - 1])) {
      fail(fmt::format("{}[{}]", name, i), fmt::format("increasing positions below {}", n),
           std::to_string(positions[i]));
    }
  }
}

void check_layers(const Report& report) {
  const std::vector<std::size_t>& layers = report.settings.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i] < 1 || layers[i] > report.model.layers || (i > 0 && layers[i] <= layers[i - 1])) {
      fail(fmt::format("settings.layers[{}]", i),
           fmt::format("increasing layers from 1 to model.layers = {}", report.model.layers),
           std::to_string(layers[i]));
    }
  }
}

// [layer, from, to, value]: an arc of the graph.
template <typename Arc, typename Value>
std::vector<Arc> read_arcs(const std::optional<Field>& json, Value Arc::*value, const Report& report) {
  std::vector<Arc> arcs;
  const std::size_t count = json ? json->length() : 0;
  const std::size_t n = report.input.tokens.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Field entry = json->element(i);
    if (entry.length() != 4) {
      fail(entry.path(), "[layer, from, to, value]", fmt::format("{} entries", entry.length()));
    }
    Arc& arc = arcs.emplace_back();
    entry.element(0).get(arc.layer);
    entry.element(1).get(arc.from);
    entry.element(2).get(arc.to);
    entry.element(3).get(arc.*value);
    if (arc.layer < 1 || arc.layer > report.model.layers || arc.from >= n || arc.to >= n) {
      fail(entry.path(), fmt::format("a layer from 1 to {} and positions below {}", report.model.layers, n),
           fmt::format("[{}, {}, {}]", arc.layer, arc.from, arc.to));
    }
  }
  return arcs;
}

std::vector<ReportCertificate> read_certificates(const std::optional<Field>& json, const Report& report) {
  std::vector<ReportCertificate> certificates;
  const std::size_t count = json ? json->length() : 0;
  const std::size_t n = report.input.tokens.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Field field = json->element(i);
    ReportCertificate& certificate = certificates.emplace_back();
    field.at("layer").get(certificate.layer);
    field.read("to_layer", certificate.to_layer);
    field.at("output_token").get(certificate.output_token);
    field.at("input_token").get(certificate.input_token);
    if (certificate.layer > report.model.layers || certificate.to_layer >= certificate.layer ||
        certificate.output_token >= n || certificate.input_token >= n) {
      fail(field.path(), fmt::format("layers from {} down, and positions below {}", report.model.layers, n),
           fmt::format("layer {}, to_layer {}, output_token {}, input_token {}", certificate.layer,
                       certificate.to_layer, certificate.output_token, certificate.input_token));
    }
    field.read("flow", certificate.flow);
    field.read("flow_gap", certificate.flow_gap);
    if (!(certificate.flow >= 0.0 && certificate.flow_gap >= 0.0)) {
      fail(field.path(), "a flow and a gap of at least 0",
           fmt::format("{} and {}", certificate.flow, certificate.flow_gap));
    }
    if (const auto checked = field.find("checked")) {
      checked->read("feasible", certificate.feasible);
      checked->read("conserves", certificate.conserves);
      checked->read("separates", certificate.separates);
      checked->read("low", certificate.low);
      certificate.high = std::numeric_limits<double>::infinity();
      checked->read("high", certificate.high);
      checked->read("problem", certificate.problem);
    }
    const auto shares = field.find("cut_shares");
    for (std::size_t s = 0; shares && s < shares->length(); ++s) {
      const Field entry = shares->element(s);
      ReportCutShare& share = certificate.cut_shares.emplace_back();
      entry.at("layer").get(share.layer);
      entry.read("arcs", share.arcs);
      entry.read("capacity", share.capacity);
      entry.read("share", share.share);
      if (share.layer <= certificate.to_layer || share.layer > certificate.layer) {
        fail(entry.path(), fmt::format("a layer from {} to {}", certificate.to_layer + 1, certificate.layer),
             std::to_string(share.layer));
      }
    }
    field.read("only_minimum_cut", certificate.only_minimum_cut);
    certificate.minimum_cut = read_arcs(field.find("minimum_cut"), &ReportCutArc::capacity, report);
    field.read("unit_exponent", certificate.unit_exponent);
    certificate.arc_flows = read_arcs(field.find("arc_flows"), &ReportFlowArc::units, report);
  }
  return certificates;
}

std::vector<ReportReferent> read_referents(const std::optional<Field>& json, std::size_t tokens) {
  std::vector<ReportReferent> referents;
  const std::size_t count = json ? json->length() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Field field = json->element(i);
    ReportReferent& referent = referents.emplace_back();
    field.read("text", referent.text);
    field.at("tokens").get(referent.tokens);
    if (referent.tokens.empty()) fail(field.path() + ".tokens", "at least one position", "none");
    check_positions((field.path() + ".tokens").c_str(), referent.tokens, tokens);
  }
  return referents;
}

// Little-endian words as T, converted where they are stored narrower.
template <typename Stored, typename T>
std::vector<T> decode(const Field& data, std::size_t count) {
  const std::string& code = data.string();
  // The caller bounded count * sizeof(Stored); the text's length is compared before anything is allocated.
  if (code.size() != base64_size(count * sizeof(Stored))) {
    fail(data.path(), fmt::format("{} characters of base64", base64_size(count * sizeof(Stored))),
         fmt::format("{}", code.size()));
  }
  std::vector<Stored> stored(count);
  if (!base64_decode(code, std::as_writable_bytes(std::span(stored)))) {
    fail(data.path(), "base64 (RFC 4648, padded, no spaces)", "other characters or wrong padding");
  }
  if constexpr (std::is_same_v<Stored, T>) {
    return stored;
  } else {
    std::vector<T> values;
    values.reserve(count);
    for (const Stored word : stored) {
      if constexpr (std::is_same_v<Stored, std::uint16_t>) {
        values.push_back(static_cast<T>(half_to_float(word)));
      } else {
        values.push_back(static_cast<T>(word));
      }
    }
    return values;
  }
}

template <typename T>
void read_array(const Field& arrays, const char* name, const Shape& expected, Tensor<T>& out) {
  static_assert(std::endian::native == std::endian::little, "arrays are stored in memory order");
  const std::optional<Field> json = arrays.find(name);
  if (!json) return;
  Shape shape;
  json->at("shape").get(shape);
  if (shape != expected) fail(json->path() + ".shape", shape_to_string(expected), shape_to_string(shape));
  const std::optional<std::size_t> count = checked_product(shape);
  // An eighth of the address space leaves room for 8-byte elements and for the length of their code.
  if (!count || *count > std::numeric_limits<std::size_t>::max() / 16) {
    fail(json->path() + ".shape", "an array that fits in memory", shape_to_string(shape));
  }
  if (json->at("encoding").string() != "base64") {
    fail(json->path() + ".encoding", "\"base64\"", "\"" + json->at("encoding").string().substr(0, 40) + "\"");
  }
  const std::string& dtype = json->at("dtype").string();
  const Field data = json->at("data");
  std::vector<T> values;
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    if (dtype != "u8") fail(json->path() + ".dtype", "\"u8\"", '"' + dtype.substr(0, 40) + '"');
    values = decode<std::uint8_t, T>(data, *count);
  } else {
    if (dtype == "f32") {
      values = decode<float, T>(data, *count);
    } else if (dtype == "f16") {
      values = decode<std::uint16_t, T>(data, *count);
    } else if (std::is_same_v<T, double> && dtype == "f64") {
      values = decode<double, T>(data, *count);
    } else {
      fail(json->path() + ".dtype", std::is_same_v<T, double> ? "\"f64\", \"f32\" or \"f16\"" : "\"f32\" or \"f16\"",
           '"' + dtype.substr(0, 40) + '"');
    }
  }
  if (!values.empty()) out = Tensor<T>(std::move(shape), std::move(values));
}

void read_arrays(const Field& arrays, Report& report) {
  const std::size_t n = report.input.tokens.size();
  const std::size_t computed = report.settings.layers.size();
  const Shape rows = {computed, report.output_tokens.size(), n};
  const Shape flow_rows = {computed, report.flow_output_tokens.size(), n};
  read_array(arrays, "raw", rows, report.raw);
  read_array(arrays, "rollout", rows, report.rollout);
  read_array(arrays, "flow", flow_rows, report.flow);
  read_array(arrays, "flow_gap", flow_rows, report.flow_gap);
  read_array(arrays, "flow_degenerate", flow_rows, report.flow_degenerate);
  read_array(arrays, "graph", {report.model.layers, n, n}, report.graph);
  read_array(arrays, "attention", {report.model.layers, report.model.heads, n, n}, report.attention);
  if (!arrays.find("graph") && internal::graph_equals_raw_by_rule(report)) report.graph = report.raw;
}

}  // namespace

Report report_from_json(std::string_view json) {
  const Json parsed = parse(json);
  const Field document(parsed, "");
  check_version(document);
  Report report;
  if (const auto settings = document.find("settings")) report.settings = read_settings(*settings);
  if (const auto model = document.find("model")) {
    model->read("name", report.model.name);
    model->read("architecture", report.model.architecture);
    model->read("layers", report.model.layers);
    model->read("heads", report.model.heads);
    model->read("causal", report.model.causal);
  }
  check_layers(report);
  report.input = read_input(document.at("input"));
  const std::size_t n = report.input.tokens.size();
  report.predictions = read_predictions(document.find("predictions"), n);
  report.target = read_target(document.find("target"));
  document.read("output_token", report.output_token);
  if (report.output_token >= n) {
    fail("output_token", fmt::format("a position below {}", n), std::to_string(report.output_token));
  }
  document.read("all_output_tokens", report.all_output_tokens);
  document.read("output_tokens", report.output_tokens);
  document.read("flow_output_tokens", report.flow_output_tokens);
  check_positions("output_tokens", report.output_tokens, n);
  check_positions("flow_output_tokens", report.flow_output_tokens, n);
  report.certificates = read_certificates(document.find("certificates"), report);
  report.referents = read_referents(document.find("referents"), n);
  document.read("notes", report.notes);
  if (const auto arrays = document.find("arrays")) read_arrays(*arrays, report);
  return report;
}

Report read_report_json(const std::filesystem::path& path) {
  const std::string text = read_file(path, std::size_t{8} << 30);
  try {
    return report_from_json(text);
  } catch (const Error& error) {
    throw Error(error.kind(), path.string() + ": " + error.what());
  }
}

}  // namespace attnflow
