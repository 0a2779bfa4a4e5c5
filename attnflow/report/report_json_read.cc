// Reads; report_json.cc writes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <variant>

#include "attnflow/attribution/setting_options.h"
#include "attnflow/base/base64.h"
#include "attnflow/base/checked_size.h"
#include "attnflow/base/format_error.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/json_text.h"
#include "attnflow/report/note_json.h"
#include "attnflow/report/report_fields.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_json_arrays.h"
#include "attnflow/report/report_json_field.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

using internal::Field;
using UnorderedJson = nlohmann::json;

// The document nests 5 deep; the rest is room for later fields.
constexpr int kMaxDepth = 32;

[[noreturn]] void fail(const std::string& where, const std::string& expected, const std::string& found) {
  internal::report_problem(where, expected, found);
}

// Bounds the depth, so that "[[[[..." costs nothing.
UnorderedJson parse(std::string_view text) {
  try {
    return UnorderedJson::parse(text.begin(), text.end(),
                                [](int depth, UnorderedJson::parse_event_t event, UnorderedJson&) {
                                  if (depth > kMaxDepth && (event == UnorderedJson::parse_event_t::object_start ||
                                                            event == UnorderedJson::parse_event_t::array_start))
                                    fail("", fmt::format("at most {} levels of nesting", kMaxDepth), "more");
                                  return true;
                                });
  } catch (const UnorderedJson::exception& error) {
    throw internal::file_error(
        "report document: expected JSON, found something else: {}; is the file complete, and written with -o "
        "FILE.json?",
        internal::json_reason(error));
  }
}

void check_version(const Field& document) {
  if (document.at("format").string() != "attnflow-report") {
    fail("format", "\"attnflow-report\"", '"' + document.at("format").string().substr(0, 40) + '"');
  }
  std::size_t version = 0;
  document.at("version").get(version);
  if (version > static_cast<std::size_t>(kReportVersion)) {
    throw internal::file_error(
        "report document: expected attnflow-report version {} or older, found version {}; read it with a newer "
        "attnflow",
        kReportVersion, version);
  }
  if (version == 0) fail("version", "1, 2 or 3", "0");
  if (version < 3 && document.find("generation")) {
    throw internal::file_error(
        "report document: expected a generation of version 3 or newer, found version {}; open it in a web page, or "
        "generate it again",
        version);
  }
}

// Settings' names before version 3.
constexpr std::array<std::pair<const char*, std::string_view>, 2> kFormerNames = {
    {{"to_layer", "start_layer"}, {"set_aside", "mask_columns"}}};

Settings read_settings(const Field& json) {
  Settings settings;
  for (const SettingOption& option : setting_options()) {
    auto given = json.find(option.name);
    const auto* former = std::find_if(kFormerNames.begin(), kFormerNames.end(),
                                      [&](const auto& names) { return option.name == names.second; });
    if (!given && former != kFormerNames.end()) given = json.find(former->first);
    if (!given) continue;
    OptionValue value = option.get(settings);
    std::visit([&](auto& typed) { given->get(typed); }, value);
    try {
      option.set(settings, value);
    } catch (const Error& error) {
      throw internal::file_error("report document, {}: {}", given->path(), error.what());
    }
  }
  return settings;
}

template <typename Read>
void for_each_element(const std::optional<Field>& list, const Read& read) {
  const std::size_t count = list ? list->length() : 0;
  for (std::size_t i = 0; i < count; ++i) read(list->element(i));
}

Method read_method(const Field& json, const char* field = "method") {
  const std::string& name = json.at(field).string();
  try {
    return parse_method(name);
  } catch (const Error& error) {
    throw internal::file_error("report document, {}: {}", json.path(), error.what());
  }
}

// Reads the fields of report_fields.h; values are validated later.
class FieldReader {
 public:
  explicit FieldReader(const Field& json) : json_(json) {}

  template <typename T>
  void operator()(const char* name, T& value) const {
    if (const auto field = json_.find(name)) read(*field, value);
  }
  template <typename T>
  void required(const char* name, T& value) const {
    read(json_.at(name), value);
  }
  void required(const char* name, Method& method) const { method = read_method(json_, name); }
  template <typename Fields>
  void object(const char* name, const Fields& fields) const {
    if (const auto field = json_.find(name)) {
      const FieldReader inner(*field);
      fields(inner);
    }
  }
  template <typename Arc, typename Value>
  void arcs(const char* name, std::vector<Arc>& arcs, Value Arc::*value) const {
    for_each_element(json_.find(name), [&](const Field& entry) {
      if (entry.length() != 4) {
        fail(entry.path(), "[layer, from, to, value]", fmt::format("{} entries", entry.length()));
      }
      Arc& arc = arcs.emplace_back();
      entry.element(0).get(arc.layer);
      entry.element(1).get(arc.from);
      entry.element(2).get(arc.to);
      entry.element(3).get(arc.*value);
    });
  }
  static void derived(const char*, const auto&) {}
  bool has(const char* name, bool) const { return json_.find(name).has_value(); }

  template <typename T>
  static void read(const Field& json, T& value) {
    if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
      const FieldReader reader(json);
      internal::fields(reader, value);
    } else {
      json.get(value);
    }
  }
  template <typename T>
  static void read(const Field& json, std::optional<T>& value) {
    read(json, value.emplace());
  }
  template <typename T>
  static void read(const Field& json, std::vector<T>& values) {
    for_each_element(json, [&](const Field& element) { read(element, values.emplace_back()); });
  }

 private:
  const Field& json_;
};

void check_range(const Field& json, std::size_t begin, std::size_t end, const std::string& text) {
  if (begin <= end && end <= text.size() && is_code_point_boundary(text, begin) && is_code_point_boundary(text, end)) {
    return;
  }
  fail(json.path(), fmt::format("a byte range of whole characters within the {} bytes of the text", text.size()),
       fmt::format("[{}, {})", begin, end));
}

void check_token(const Field& json, const InputToken& token, const ReportInput& input) {
  if (token.segment > 1) fail(json.path() + ".segment", "0 or 1", std::to_string(token.segment));
  if (token.begin.has_value() != token.end.has_value()) {
    fail(json.path(), "both begin and end, or neither", "one of them");
  }
  if (token.begin) check_range(json, *token.begin, *token.end, token.segment == 0 ? input.text : input.text_pair);
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
  if (const auto given = json.find("model_input")) {
    given->at("width").get(image.input_width);
    given->at("height").get(image.input_height);
    given->at("channels").get(image.input_channels);
    if (image.input_width == 0 || image.input_height == 0 || image.input_channels == 0) {
      fail(given->path(), "a width, a height and channels of at least 1",
           fmt::format("{} x {} x {}", image.input_width, image.input_height, image.input_channels));
    }
  }
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
  FieldReader::read(json, input);
  const Field tokens = json.at("tokens");
  const std::size_t count = input.tokens.size();
  if (count == 0) fail(tokens.path(), "at least one token", "none");
  for (std::size_t i = 0; i < count; ++i) check_token(tokens.element(i), input.tokens[i], input);
  if (const auto image = json.find("image")) input.image = read_image(*image, count);
  return input;
}

void check_position(const std::string& name, std::optional<std::size_t> position, std::size_t tokens) {
  if (!position || *position < tokens) return;
  fail(name, fmt::format("a position below {}", tokens), std::to_string(*position));
}

// Values are read later, with the arrays.
std::vector<MethodScores> read_scores(const std::optional<Field>& json, const Report& report) {
  std::vector<MethodScores> all;
  for_each_element(json, [&](const Field& field) {
    MethodScores scores{.method = read_method(field)};
    if (method_info(scores.method).aggregates() ||
        std::any_of(all.begin(), all.end(), [&](const auto& other) { return other.method == scores.method; })) {
      fail(field.path() + ".method", "each method without layers once", to_text(scores.method));
    }
    if (report.generation) {
      const Field sums = field.at("sums");
      const std::size_t tokens = report.generation->tokens.size();
      if (sums.length() != tokens) {
        fail(sums.path(), fmt::format("one for each of the {} generated tokens", tokens),
             std::to_string(sums.length()));
      }
      FieldReader::read(sums, scores.sums);
    } else {
      FieldReader::read(field, scores.sums.emplace_back());
    }
    all.push_back(std::move(scores));
  });
  return all;
}

void check_positions(const std::string& name, const std::vector<std::size_t>& positions, std::size_t begin,
                     std::size_t end) {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] < begin || positions[i] >= end || (i > 0 && positions[i] <= positions[i - 1])) {
      const std::string range =
          begin == 0 ? fmt::format("below {}", end) : fmt::format("from {} to {}", begin, end - 1);
      fail(fmt::format("{}[{}]", name, i), "increasing positions " + range, std::to_string(positions[i]));
    }
  }
}

// Reports written before tokens were replaced by others have the values of some blanked tokens beside their maps.
void read_blanked_maps(const Field& json, ReportCheck& check) {
  const auto add = [&](std::size_t token, double value) {
    if (check.find(token) == nullptr) check.tokens.push_back({.token = token, .drop = check.value - value});
  };
  json.read("quantity", check.quantity);
  json.read("value", check.value);
  json.read("blank", check.blank);
  for_each_element(json.find("maps"), [&](const Field& field) {
    MapCheck& map = check.maps.emplace_back();
    FieldReader::read(field, map);
    double value = check.value;
    field.read("blanked_value", value);
    add(map.first_token, value);
    const std::optional<Field> least = field.find("decisive_value");
    if (!map.decisive_token || !least) return;
    least->get(value);
    add(*map.decisive_token, value);
  });
  std::sort(check.tokens.begin(), check.tokens.end(),
            [](const CheckedToken& a, const CheckedToken& b) { return a.token < b.token; });
}

std::optional<ReportCheck> read_check(const Field& json, const Report& report) {
  std::optional<ReportCheck> found;
  std::optional<Field> field = json.find("check");
  if (field) {
    FieldReader::read(*field, found.emplace());
  } else if (field = json.find("agreement"); field) {
    read_blanked_maps(*field, found.emplace());
  } else {
    return found;
  }
  if (found->reliability && !(*found->reliability >= 0.0 && *found->reliability <= 1.0)) {
    fail(field->path() + ".reliability", "a number from 0 to 1", fmt::format("{}", *found->reliability));
  }
  const std::size_t tokens = report.input.tokens.size();
  for (std::size_t t = 0; t < found->tokens.size(); ++t) {
    const std::string name = fmt::format("{}.tokens[{}].token", field->path(), t);
    check_position(name, found->tokens[t].token, tokens);
    if (t > 0 && found->tokens[t].token <= found->tokens[t - 1].token) {
      fail(name, "increasing positions", std::to_string(found->tokens[t].token));
    }
  }
  check_positions(field->path() + ".irreplaceable", found->irreplaceable, 0, tokens);
  for (std::size_t m = 0; m < found->maps.size(); ++m) {
    const MapCheck& map = found->maps[m];
    const std::string path = fmt::format("{}.maps[{}]", field->path(), m);
    check_position(path + ".first_token", map.first_token, tokens);
    check_position(path + ".decisive_token", map.decisive_token, tokens);
    check_position(path + ".unchecked_token", map.unchecked_token, tokens);
    if (map.layer && (*map.layer < 1 || *map.layer > report.model.layers)) {
      fail(path + ".layer", fmt::format("a layer from 1 to {}", report.model.layers), std::to_string(*map.layer));
    }
  }
  return found;
}

void check_curve(const ReportCurve& curve) {
  const std::vector<double>& steps = curve.steps;
  const bool rises = steps.size() > 1 && steps.front() == 0.0 && steps.back() == 1.0 &&
                     std::adjacent_find(steps.begin(), steps.end(), std::greater_equal<>()) == steps.end();
  if (!rises) fail("curve.steps", "shares that increase from 0 to 1", "others");
  for (const auto& [name, values] :
       {std::pair("insertion", &curve.insertion), std::pair("deletion", &curve.deletion)}) {
    const bool fits = values->size() == steps.size() &&
                      std::all_of(values->begin(), values->end(), [](double p) { return p >= 0.0 && p <= 1.0; });
    if (!fits) fail(fmt::format("curve.{}", name), fmt::format("{} probabilities", steps.size()), "others");
  }
}

void check_layers(const std::string& name, const std::vector<std::size_t>& layers, const ReportModel& model) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i] < 1 || layers[i] > model.layers || (i > 0 && layers[i] <= layers[i - 1])) {
      fail(fmt::format("{}[{}]", name, i), fmt::format("increasing layers from 1 to model.layers = {}", model.layers),
           std::to_string(layers[i]));
    }
  }
}

Generation read_generation(const Field& json, const Report& report) {
  Generation generation;
  FieldReader::read(json, generation);
  const Field tokens = json.at("tokens");
  const std::size_t count = generation.tokens.size();
  if (count == 0) fail(tokens.path(), "at least one generated token", "none");
  if (generation.given > count) {
    fail(json.path() + ".given", fmt::format("at most {} tokens", count), std::to_string(generation.given));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Field field = tokens.element(i);
    GeneratedToken& token = generation.tokens[i];
    check_range(field, token.begin, token.end, generation.text);
    token.check = read_check(field, report);
  }
  for (std::size_t i = 0; i < generation.excluded.size(); ++i) {
    check_positions(fmt::format("{}.excluded[{}].tokens", json.path(), i), generation.excluded[i].tokens, 0,
                    report.input.tokens.size());
  }
  return generation;
}

template <typename Arc>
void check_arcs(const Field& json, const char* name, const std::vector<Arc>& arcs, const Report& report) {
  const std::size_t n = report.input.tokens.size();
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    const Arc& arc = arcs[i];
    if (arc.layer >= 1 && arc.layer <= report.model.layers && arc.from < n && arc.to < n) continue;
    fail(fmt::format("{}.{}[{}]", json.path(), name, i),
         fmt::format("a layer from 1 to {} and positions below {}", report.model.layers, n),
         fmt::format("[{}, {}, {}]", arc.layer, arc.from, arc.to));
  }
}

std::vector<ReportCertificate> read_certificates(const std::optional<Field>& json, const Report& report) {
  std::vector<ReportCertificate> certificates;
  const std::size_t n = report.input.tokens.size();
  for_each_element(json, [&](const Field& field) {
    ReportCertificate& certificate = certificates.emplace_back();
    field.read("to_layer", certificate.start_layer);  // before version 3
    if (field.find("checked")) certificate.high = std::numeric_limits<double>::infinity();
    FieldReader::read(field, certificate);
    if (certificate.layer > report.model.layers || certificate.start_layer >= certificate.layer ||
        certificate.output_token >= n || certificate.input_token >= n) {
      fail(field.path(), fmt::format("layers from {} down, and positions below {}", report.model.layers, n),
           fmt::format("layer {}, start_layer {}, output_token {}, input_token {}", certificate.layer,
                       certificate.start_layer, certificate.output_token, certificate.input_token));
    }
    if (!(certificate.flow >= 0.0 && certificate.flow_gap >= 0.0)) {
      fail(field.path(), "a flow and a gap of at least 0",
           fmt::format("{} and {}", certificate.flow, certificate.flow_gap));
    }
    for (std::size_t i = 0; i < certificate.cut_shares.size(); ++i) {
      const std::size_t layer = certificate.cut_shares[i].layer;
      if (layer > certificate.start_layer && layer <= certificate.layer) continue;
      fail(fmt::format("{}.cut_shares[{}]", field.path(), i),
           fmt::format("a layer from {} to {}", certificate.start_layer + 1, certificate.layer), std::to_string(layer));
    }
    check_arcs(field, "minimum_cut", certificate.minimum_cut, report);
    check_arcs(field, "arc_flows", certificate.arc_flows, report);
  });
  return certificates;
}

}  // namespace

Report report_from_json(std::string_view json, const ReportReadOptions& options) {
  const UnorderedJson parsed = parse(json);
  const Field document(parsed, "");
  check_version(document);
  Report report;
  if (const auto settings = document.find("settings")) report.settings = read_settings(*settings);
  const FieldReader read(document);
  read("model", report.model);
  check_layers("settings.layers", report.settings.layers, report.model);
  report.input = read_input(document.at("input"));
  const std::size_t n = report.input.tokens.size();
  // Output positions: all of an explanation, or those that chose a generation's tokens.
  std::size_t first = 0;
  std::size_t end = n;
  if (report.input.kind == "generation") {
    report.generation = read_generation(document.at("generation"), report);
    first = n - 1;
    end = first + report.generation->tokens.size();
    document.read("flow_layers", report.flow_layers);
    check_layers("flow_layers", report.flow_layers, report.model);
    report.output_token = first;
    for (const char* const name : {"certificates", "referents", "target", "check", "agreement"}) {
      if (document.find(name)) fail(name, "none in a generation", "some");
    }
    if (report.input.image) fail("input.image", "none in a generation", "one");
  } else if (document.find("generation")) {
    fail("input.kind", "\"generation\" next to the field \"generation\"", '"' + report.input.kind.substr(0, 40) + '"');
  }
  read("predictions", report.predictions);
  for (std::size_t p = 0; p < report.predictions.size(); ++p) {
    check_position(fmt::format("predictions[{}].position", p), report.predictions[p].position, n);
  }
  read("target", report.target);
  document.read("output_token", report.output_token);
  if (report.output_token < first || report.output_token >= end) {
    fail("output_token",
         first == 0 ? fmt::format("a position below {}", end) : fmt::format("a position from {} to {}", first, end - 1),
         std::to_string(report.output_token));
  }
  document.read("all_output_tokens", report.all_output_tokens);
  document.read("output_tokens", report.output_tokens);
  document.read("flow_output_tokens", report.flow_output_tokens);
  check_positions("output_tokens", report.output_tokens, first, end);
  check_positions("flow_output_tokens", report.flow_output_tokens, first, end);
  for (const std::size_t position : report.flow_output_tokens) {
    if (!report.output_tokens.empty() && !row_index(report.output_tokens, position)) {
      fail("flow_output_tokens", "positions of \"output_tokens\"", std::to_string(position));
    }
  }
  report.scores = read_scores(document.find("scores"), report);
  report.check = read_check(document, report);
  read("curve", report.curve);
  if (report.curve && !report.input.image) fail("curve", "none without a picture", "one");
  if (report.curve) check_curve(*report.curve);
  report.certificates = read_certificates(document.find("certificates"), report);
  read("referents", report.referents);
  for (std::size_t r = 0; r < report.referents.size(); ++r) {
    const std::string path = fmt::format("referents[{}].tokens", r);
    if (report.referents[r].tokens.empty()) fail(path, "at least one position", "none");
    check_positions(path, report.referents[r].tokens, 0, n);
  }
  for_each_element(document.find("notes"),
                   [&](const Field& note) { report.notes.push_back(internal::read_note(note)); });
  if (const auto arrays = document.find("arrays")) internal::read_report_arrays(*arrays, options, report);
  return report;
}

Report read_report_json(const std::filesystem::path& path, const ReportReadOptions& options) {
  const std::string text = read_file(path, std::size_t{8} << 30);
  try {
    return report_from_json(text, options);
  } catch (const Error& error) {
    throw Error(error.kind(), path.string() + ": " + error.what());
  }
}

}  // namespace attnflow
