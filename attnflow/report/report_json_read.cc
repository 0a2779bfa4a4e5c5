// The reading half of report_json.h; report_json.cc is the other.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <variant>

#include "attnflow/attribution/setting_options.h"
#include "attnflow/base/base64.h"
#include "attnflow/base/checked_size.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/json_text.h"
#include "attnflow/report/note_json.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_json_arrays.h"
#include "attnflow/report/report_json_field.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

using internal::Field;
using UnorderedJson = nlohmann::json;

// The document itself nests 5 deep; unknown fields of later writers get some room.
constexpr int kMaxDepth = 32;

[[noreturn]] void fail(const std::string& where, const std::string& expected, const std::string& found) {
  internal::report_problem(where, expected, found);
}

// Parses with a bound on the depth, so that "[[[[..." costs nothing.
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
    throw Error(ErrorKind::kBadFile, fmt::format("report document: expected JSON, found something else: {}; is the "
                                                 "file complete, and written with -o FILE.json?",
                                                 internal::json_reason(error)));
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
  if (version == 0) fail("version", "1, 2 or 3", "0");
  if (version < 3 && document.find("generation")) {
    throw Error(ErrorKind::kBadFile, fmt::format("report document: expected a generation of version 3 or newer, found "
                                                 "version {}; open it in a web page, or generate it again",
                                                 version));
  }
}

// Settings had other names before version 3.
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
    SettingValue value = option.get(settings);
    std::visit([&](auto& typed) { given->get(typed); }, value);
    try {
      option.set(settings, value);
    } catch (const Error& error) {
      throw Error(ErrorKind::kBadFile, fmt::format("report document, {}: {}", given->path(), error.what()));
    }
  }
  return settings;
}

InputToken read_token(const Field& json, const ReportInput& input) {
  InputToken token;
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
    if (*token.begin > *token.end || *token.end > text.size() || !is_code_point_boundary(text, *token.begin) ||
        !is_code_point_boundary(text, *token.end)) {
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
  json.read("kind", input.kind);
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

// Of a list that may be missing.
template <typename Read>
void for_each_element(const std::optional<Field>& list, const Read& read) {
  const std::size_t count = list ? list->length() : 0;
  for (std::size_t i = 0; i < count; ++i) read(list->element(i));
}

std::vector<ReportChoice> read_choices(const std::optional<Field>& json) {
  std::vector<ReportChoice> choices;
  for_each_element(json, [&](const Field& choice) {
    choice.at("label").get(choices.emplace_back().label);
    choice.at("probability").get(choices.back().probability);
    if (const auto id = choice.find("id")) id->get(choices.back().id.emplace());
  });
  return choices;
}

std::optional<ReportTarget> read_target(const std::optional<Field>& json) {
  if (!json) return std::nullopt;
  ReportTarget target;
  json->read("kind", target.kind);
  json->read("label", target.label);
  json->read("index", target.index);
  json->read("logit", target.logit);
  json->read("position", target.position);
  if (const auto against = json->find("against")) {
    ReportAgainst& other = target.against.emplace();
    against->read("label", other.label);
    against->read("index", other.index);
    against->read("logit", other.logit);
  }
  return target;
}

std::vector<ReportPrediction> read_predictions(const std::optional<Field>& json, std::size_t tokens) {
  std::vector<ReportPrediction> predictions;
  for_each_element(json, [&](const Field& field) {
    ReportPrediction& prediction = predictions.emplace_back();
    field.read("kind", prediction.kind);
    field.read("position", prediction.position);
    if (prediction.position && *prediction.position >= tokens) {
      fail(field.path() + ".position", fmt::format("a position below {}", tokens),
           std::to_string(*prediction.position));
    }
    prediction.choices = read_choices(field.find("choices"));
    prediction.candidates = read_choices(field.find("candidates"));
  });
  return predictions;
}

Method read_method(const Field& json) {
  const std::string& name = json.at("method").string();
  try {
    return parse_method(name);
  } catch (const Error& error) {
    throw Error(ErrorKind::kBadFile, fmt::format("report document, {}: {}", json.path(), error.what()));
  }
}

ScoreSum read_sum(const Field& json) {
  ScoreSum sum;
  for_each_element(json.find("parts"), [&](const Field& part) {
    part.at("name").get(sum.parts.emplace_back().name);
    part.at("value").get(sum.parts.back().value);
  });
  json.read("total", sum.total);
  return sum;
}

// Without their values, which are arrays.
std::vector<MethodScores> read_scores(const std::optional<Field>& json, const Report& report) {
  std::vector<MethodScores> all;
  for_each_element(json, [&](const Field& field) {
    MethodScores scores{.method = read_method(field)};
    if (method_info(scores.method).aggregates() ||
        std::any_of(all.begin(), all.end(), [&](const auto& other) { return other.method == scores.method; })) {
      fail(field.path() + ".method", "each method beside the graph once", to_text(scores.method));
    }
    if (report.generation) {
      const Field sums = field.at("sums");
      const std::size_t tokens = report.generation->tokens.size();
      if (sums.length() != tokens) {
        fail(sums.path(), fmt::format("one for each of the {} generated tokens", tokens),
             std::to_string(sums.length()));
      }
      for (std::size_t t = 0; t < tokens; ++t) scores.sums.push_back(read_sum(sums.element(t)));
    } else {
      scores.sums.push_back(read_sum(field));
    }
    all.push_back(std::move(scores));
  });
  return all;
}

BlankOutAgreement read_agreement(const Field& json, const Report& report) {
  BlankOutAgreement agreement;
  json.read("quantity", agreement.quantity);
  json.at("value").get(agreement.value);
  json.read("blank", agreement.blank);
  for_each_element(json.at("maps"), [&](const Field& field) {
    MapAgreement& map = agreement.maps.emplace_back();
    map.method = read_method(field);
    field.read("layer", map.layer);
    field.read("rank_correlation", map.rank_correlation);
    field.at("first_token").get(map.first_token);
    field.at("blanked_value").get(map.blanked_value);
    field.read("decisive_token", map.decisive_token);
    if (map.decisive_token) field.at("decisive_value").get(map.decisive_value);
    const auto check = [&](const char* key, std::size_t token) {
      const std::size_t tokens = report.input.tokens.size();
      if (token >= tokens) {
        fail(fmt::format("{}.{}", field.path(), key), fmt::format("a position below {}", tokens),
             std::to_string(token));
      }
    };
    check("first_token", map.first_token);
    if (map.decisive_token) check("decisive_token", *map.decisive_token);
    if (map.layer && (*map.layer < 1 || *map.layer > report.model.layers)) {
      fail(field.path() + ".layer", fmt::format("a layer from 1 to {}", report.model.layers),
           std::to_string(*map.layer));
    }
  });
  return agreement;
}

Generation read_generation(const Field& json, const Report& report) {
  Generation generation;
  json.at("text").get(generation.text);
  json.read("stopped", generation.stopped);
  json.read("given", generation.given);
  json.read("chat", generation.chat);
  json.read("temperature", generation.sampling.temperature);
  json.read("top_p", generation.sampling.top_p);
  json.read("seed", generation.sampling.seed);
  const Field tokens = json.at("tokens");
  const std::size_t count = tokens.length();
  if (count == 0) fail(tokens.path(), "at least one generated token", "none");
  if (generation.given > count) {
    fail(json.path() + ".given", fmt::format("at most {} tokens", count), std::to_string(generation.given));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Field field = tokens.element(i);
    GeneratedToken& token = generation.tokens.emplace_back();
    field.read("id", token.id);
    field.at("text").get(token.text);
    field.read("begin", token.begin);
    field.read("end", token.end);
    if (token.begin > token.end || token.end > generation.text.size() ||
        !is_code_point_boundary(generation.text, token.begin) || !is_code_point_boundary(generation.text, token.end)) {
      fail(field.path(),
           fmt::format("a byte range of whole characters within the {} bytes of the text", generation.text.size()),
           fmt::format("[{}, {})", token.begin, token.end));
    }
    field.read("special", token.special);
    field.read("probability", token.probability);
    token.choices = read_choices(field.find("choices"));
    token.target = read_target(field.find("target"));
    if (const auto agreement = field.find("agreement")) token.agreement = read_agreement(*agreement, report);
  }
  return generation;
}

// Positions from `begin` to below `end`, increasing.
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

void check_layers(const std::string& name, const std::vector<std::size_t>& layers, const ReportModel& model) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i] < 1 || layers[i] > model.layers || (i > 0 && layers[i] <= layers[i - 1])) {
      fail(fmt::format("{}[{}]", name, i), fmt::format("increasing layers from 1 to model.layers = {}", model.layers),
           std::to_string(layers[i]));
    }
  }
}

// [layer, from, to, value]: an arc of the graph.
template <typename Arc, typename Value>
std::vector<Arc> read_arcs(const std::optional<Field>& json, Value Arc::*value, const Report& report) {
  std::vector<Arc> arcs;
  const std::size_t n = report.input.tokens.size();
  for_each_element(json, [&](const Field& entry) {
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
  });
  return arcs;
}

std::vector<ReportCertificate> read_certificates(const std::optional<Field>& json, const Report& report) {
  std::vector<ReportCertificate> certificates;
  const std::size_t n = report.input.tokens.size();
  for_each_element(json, [&](const Field& field) {
    ReportCertificate& certificate = certificates.emplace_back();
    field.at("layer").get(certificate.layer);
    field.read("to_layer", certificate.start_layer);  // before version 3
    field.read("start_layer", certificate.start_layer);
    field.at("output_token").get(certificate.output_token);
    field.at("input_token").get(certificate.input_token);
    if (certificate.layer > report.model.layers || certificate.start_layer >= certificate.layer ||
        certificate.output_token >= n || certificate.input_token >= n) {
      fail(field.path(), fmt::format("layers from {} down, and positions below {}", report.model.layers, n),
           fmt::format("layer {}, start_layer {}, output_token {}, input_token {}", certificate.layer,
                       certificate.start_layer, certificate.output_token, certificate.input_token));
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
    for_each_element(field.find("cut_shares"), [&](const Field& entry) {
      CutShare& share = certificate.cut_shares.emplace_back();
      entry.at("layer").get(share.layer);
      entry.read("arcs", share.arcs);
      entry.read("capacity", share.capacity);
      entry.read("share", share.share);
      if (share.layer <= certificate.start_layer || share.layer > certificate.layer) {
        fail(entry.path(), fmt::format("a layer from {} to {}", certificate.start_layer + 1, certificate.layer),
             std::to_string(share.layer));
      }
    });
    field.read("only_minimum_cut", certificate.only_minimum_cut);
    certificate.minimum_cut = read_arcs(field.find("minimum_cut"), &ReportCutArc::capacity, report);
    field.read("unit_exponent", certificate.unit_exponent);
    certificate.arc_flows = read_arcs(field.find("arc_flows"), &FlowArc::units, report);
  });
  return certificates;
}

std::vector<ReportReferent> read_referents(const std::optional<Field>& json, std::size_t tokens) {
  std::vector<ReportReferent> referents;
  for_each_element(json, [&](const Field& field) {
    ReportReferent& referent = referents.emplace_back();
    field.read("text", referent.text);
    field.at("tokens").get(referent.tokens);
    if (referent.tokens.empty()) fail(field.path() + ".tokens", "at least one position", "none");
    check_positions(field.path() + ".tokens", referent.tokens, 0, tokens);
  });
  return referents;
}

}  // namespace

Report report_from_json(std::string_view json, const ReportReadOptions& options) {
  const UnorderedJson parsed = parse(json);
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
  check_layers("settings.layers", report.settings.layers, report.model);
  report.input = read_input(document.at("input"));
  const std::size_t n = report.input.tokens.size();
  // The positions that have outputs: all of an explanation, those that chose tokens of a generation.
  std::size_t first = 0;
  std::size_t end = n;
  if (report.input.kind == "generation") {
    const Field generation = document.at("generation");
    report.generation = read_generation(generation, report);
    first = n - 1;
    end = first + report.generation->tokens.size();
    for_each_element(generation.find("excluded"), [&](const Field& rule) {
      ExcludedTokens& excluded = report.generation->excluded.emplace_back();
      rule.at("rule").get(excluded.rule);
      rule.at("tokens").get(excluded.tokens);
      check_positions(rule.path() + ".tokens", excluded.tokens, 0, n);
    });
    document.read("flow_layers", report.flow_layers);
    check_layers("flow_layers", report.flow_layers, report.model);
    report.output_token = first;
    for (const char* const name : {"certificates", "referents", "target", "agreement"}) {
      if (document.find(name)) fail(name, "none in a generation", "some");
    }
    if (report.input.image) fail("input.image", "none in a generation", "one");
  } else if (document.find("generation")) {
    fail("input.kind", "\"generation\" beside the field \"generation\"", '"' + report.input.kind.substr(0, 40) + '"');
  }
  report.predictions = read_predictions(document.find("predictions"), n);
  report.target = read_target(document.find("target"));
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
  if (const auto agreement = document.find("agreement")) report.agreement = read_agreement(*agreement, report);
  report.certificates = read_certificates(document.find("certificates"), report);
  report.referents = read_referents(document.find("referents"), n);
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
