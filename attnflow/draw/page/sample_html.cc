// Writes pages for the browser test (tests/browser) and manual inspection: attnflow_sample_html FOLDER.
//
// Sample NAME becomes NAME.html and NAME.json, the same report in full precision; generations are in FOLDER/generation,
// pictures in FOLDER/image. Random attention (seeded) is peaked and favors neighbors and special tokens, as in trained
// models; rollout and flow are computed from it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/draw/html.h"
#include "attnflow/draw/page/generation_samples_for_test.h"
#include "attnflow/draw/page/image_samples_for_test.h"
#include "attnflow/flow/flow.h"
#include "attnflow/report/report_json.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow {
namespace {

// Adds tokens from words between spaces: "piece=text", "_" for a space and "$" for a line break in texts, or just the
// piece, whose text is its own, after a space unless it continues a word ("##ets") or is a mark; "[CLS]=" is special.
void add_tokens(const std::string& words, std::size_t segment, Report* report) {
  std::string& text = segment == 0 ? report->input.text : report->input.text_pair;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    InputToken& token = report->input.tokens.emplace_back();
    const std::size_t equals = word.find('=', 1);
    token.text = word.substr(0, equals);
    token.segment = segment;
    std::string own;
    if (equals != std::string::npos) {
      own = word.substr(equals + 1);
    } else if (word.starts_with("##")) {
      own = word.substr(2);
    } else {
      own = (word == "." || word == "," ? "" : " ") + word;
    }
    std::replace(own.begin(), own.end(), '_', ' ');
    std::replace(own.begin(), own.end(), '$', '\n');
    token.special = own.empty();
    if (token.special) continue;
    const std::size_t gap = own.find_first_not_of(" \n");
    token.begin = text.size() + (gap == std::string::npos ? 0 : gap);  // all of a token of white space
    text += own;
    token.end = text.size();
  }
}

AttentionGraph random_graph(const std::vector<InputToken>& tokens, std::size_t layers) {
  const std::size_t n = tokens.size();
  AttentionGraph graph;
  graph.weights = Tensor<double>({layers, n, n});
  std::mt19937_64 random(layers * 1000 + n);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (std::size_t l = 0; l < layers; ++l) {
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        const double distance = std::fabs(static_cast<double>(i) - static_cast<double>(j));
        double& weight = graph.weights(l, i, j);
        weight = std::pow(uniform(), 8.0) + 0.5 * std::exp(-distance) + (tokens[j].special ? uniform() : 0.002);
        sum += weight;
      }
      for (std::size_t j = 0; j < n; ++j) graph.weights(l, i, j) /= sum;
    }
  }
  return graph;
}

// `flow_row`: flow of one output token only.
void compute(std::size_t layers, bool flow_row, Report* report) {
  const std::size_t n = report->input.tokens.size();
  report->model.layers = layers;
  report->model.heads = 12;
  const AttentionGraph graph = random_graph(report->input.tokens, layers);
  for (std::size_t l = 1; l <= layers; ++l) report->settings.layers.push_back(l);
  for (std::size_t i = 0; i < n; ++i) report->output_tokens.push_back(i);
  report->raw = graph.weights;
  report->graph = graph.weights;
  report->rollout = rollout(graph);
  FlowOptions options;
  if (flow_row) options.output_token = report->output_token;
  FlowResult flow = attention_flow(graph, options);
  report->flow = std::move(flow.flow);
  report->flow_gap = std::move(flow.flow_gap);
  report->flow_degenerate = std::move(flow.degenerate);
  report->flow_output_tokens = flow_row ? std::vector{report->output_token} : report->output_tokens;
}

Report text_report(std::string name, const std::string& first, const std::string& second = "") {
  Report report;
  report.model.name = std::move(name);
  report.model.architecture = "bert";
  add_tokens(first, 0, &report);
  add_tokens(second, 1, &report);
  return report;
}

std::string many_words(std::size_t n) {
  std::istringstream stream(
      "the=_The key to the cabin ##ets that no one had un ##lock ##ed was on the table . it=_It stayed there for years "
      ", they say .");
  const std::vector<std::string> words(std::istream_iterator<std::string>(stream), {});
  std::string made = "[CLS]= the=The";
  for (std::size_t i = 1; i + 2 < n; ++i) made += " " + words[i % words.size()];
  return made + " [SEP]=";
}

void write(const std::filesystem::path& folder, const std::string& name, const Report& report) {
  write_html(folder / (name + ".html"), report);
  write_report_json(folder / (name + ".json"), report);
}

void write_samples(const std::filesystem::path& folder) {
  const auto sample = [&](const char* file, std::size_t layers, Report report) {
    compute(layers, /*flow_row=*/false, &report);
    write(folder, file, report);
  };
  Report small = text_report("all-MiniLM-L6-v2", "[CLS]= the=The key to the cabinets [MASK] [SEP]=");
  small.output_token = 6;
  small.predictions = {{"masked", 6, {{"is", 0.61}, {"was", 0.22}, {"are", 0.05}}, {{"is", 0.61}, {"are", 0.05}}},
                       {"classification", std::nullopt, {{"grammatical", 0.93}, {"not grammatical", 0.07}}, {}}};
  sample("short", 6, small);
  Report long_text = text_report("long-text", many_words(128));
  long_text.notes = {Note(NoteCode::kFlowDegenerate, {{"layers", std::vector<std::size_t>{6}},
                                                      {"start_layer", std::size_t{0}},
                                                      {"fewer_layers", "1-5"},
                                                      {"least", 0.98},
                                                      {"most", 0.98},
                                                      {"first_layer_share", 1.0},
                                                      {"mixing", "attention"}})};
  sample("long", 6, long_text);
  sample("deep", 12, text_report("deep-model", many_words(48)));
  Report emoji = text_report(
      "emoji",
      "[CLS]= [UNK]=\U0001F469\u200D\U0001F469\u200D\U0001F467 loves cafe=_cafe\u0301 [UNK]=_\U0001F1E9\U0001F1EA "
      "donau=_Donau ##dampfschifffahrtselektrizitatenhauptbetriebswerkbauunterbeamtengesellschaft="
      "dampfschifffahrtselektrizit\u00E4tenhauptbetriebswerkbauunterbeamtengesellschaft \u010A=$ "
      "\u00F0\u0141\u013A=\U0001F600 \u0122=! a [SEP]=");
  emoji.input.tokens[9].begin = emoji.input.tokens[8].begin;  // the second piece of the face
  emoji.input.tokens[9].end = emoji.input.tokens[8].end;
  sample("emoji", 4, emoji);
  sample("arabic", 6,
         text_report("arabic", "[CLS]= ال=ال ##مفتاح على طا ##ولة المطبخ . [SEP]=", "the=The key . [SEP]="));
  sample("chinese", 6, text_report("chinese", "[CLS]= 钥=钥 匙=匙 在=在 桌=桌 子=子 上=上 。=。 [SEP]="));
  sample("single", 1, text_report("single", "hello=hello"));
  {
    Report report;
    report.input.kind = "attention";
    report.input.tokens.resize(10);
    report.settings.methods = {Method::kRollout};
    compute(6, false, &report);
    report.raw = report.graph = report.flow = report.flow_gap = {};
    report.flow_degenerate = {};
    report.flow_output_tokens = {};
    report.settings.layers = {2, 6};
    Tensor<double> some({2, 2, 10});
    for (std::size_t r = 0; r < 2; ++r) {
      for (std::size_t j = 0; j < 10; ++j) {
        some(0, r, j) = report.rollout(1, 3 + 4 * r, j);
        some(1, r, j) = report.rollout(5, 3 + 4 * r, j);
      }
    }
    report.rollout = some;
    report.output_tokens = {3, 7};
    report.output_token = 7;
    write(folder, "array", report);
  }
  {
    // Two referents have the same text, and one is not in the vocabulary.
    Report report =
        text_report("referents", "[CLS]= the=The author told [UNK]=_Brobdingnag of the author [MASK] knew [SEP]=");
    report.input.tokens[4].unknown = true;
    report.output_token = 8;
    report.predictions = {{"masked", 8, {{"she", 0.41}, {"he", 0.2}}, {{"he", 0.2}, {"she", 0.41}}}};
    report.referents = {{"author", {2}}, {"Brobdingnag", {4}}, {"author", {7}}};
    report.notes = {Note(NoteCode::kUnknownWords, {{"count", std::size_t{1}},
                                                   {"words", std::vector<std::string>{"Brobdingnag"}},
                                                   {"not_listed", std::size_t{0}}})};
    compute(4, false, &report);
    write(folder, "referents", report);
    report.referents = {{"the author", {1, 2}}, {"Brobdingnag", {4}}};
    write(folder, "referents-pieces", report);
  }
  {
    // Would be markup, or end the enclosing script.
    const std::string markup = "</script><script>document.title='run'</script><!-- <b> & \xe2\x80\xa8";
    Report report = text_report(markup, "[CLS]=");
    report.input.text = markup;
    report.input.tokens.push_back({.text = markup, .begin = 0, .end = markup.size(), .word = {}});
    add_tokens("&lt; [SEP]=", 0, &report);
    report.notes = {Note(markup)};
    report.predictions = {{"classification", std::nullopt, {{markup, 0.9}}, {}}};
    sample("markup", 2, report);
  }
  {
    Report report = text_report("largest", many_words(512));
    report.output_token = 3;
    compute(3, true, &report);
    write(folder, "largest", report);
  }
}

}  // namespace
}  // namespace attnflow

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: attnflow_sample_html FOLDER\n");
    return 2;
  }
  try {
    std::filesystem::create_directories(argv[1]);
    attnflow::write_samples(argv[1]);
    attnflow::write_generation_samples(std::filesystem::path(argv[1]) / "generation");
    attnflow::write_image_samples(std::filesystem::path(argv[1]) / "image");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attnflow_sample_html: %s\n", error.what());
    return 1;
  }
  return 0;
}
