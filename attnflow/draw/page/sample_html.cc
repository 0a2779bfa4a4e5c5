// Writes pages for the browser test (tests/browser) and for manual inspection: attnflow_sample_html FOLDER.
//
// Each sample NAME becomes NAME.html and NAME.json, the same report in full precision; those of generations are in
// FOLDER/generation, those of pictures in FOLDER/image. Attention is random (seeded), peaked and with a preference for
// neighbors and special tokens as in trained models; rollout and flow are computed from it.
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <random>
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

// A token as the tokenizer spells it, and its text. Spaces and line breaks at the start of the text separate this token
// from the one before it; an empty text makes a special token.
struct Piece {
  std::string piece;
  std::string text;
};

void add_tokens(const std::vector<Piece>& pieces, std::size_t segment, Report* report) {
  std::string& text = segment == 0 ? report->input.text : report->input.text_pair;
  for (const Piece& piece : pieces) {
    InputToken token;
    token.text = piece.piece;
    token.segment = segment;
    if (piece.text.empty()) {
      token.special = true;
    } else {
      std::size_t gap = piece.text.find_first_not_of(" \n");
      if (gap == std::string::npos) gap = 0;  // a token of white space
      token.begin = text.size() + gap;
      text += piece.text;
      token.end = text.size();
    }
    report->input.tokens.push_back(token);
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

// Fills the numbers. `flow_row`: flow of one output token only.
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
  if (flow_row) {
    report->flow_output_tokens = {report->output_token};
  } else {
    report->flow_output_tokens = report->output_tokens;
  }
}

Report text_report(std::string name, const std::vector<Piece>& first, const std::vector<Piece>& second = {}) {
  Report report;
  report.model.name = std::move(name);
  report.model.architecture = "bert";
  add_tokens(first, 0, &report);
  add_tokens(second, 1, &report);
  return report;
}

// [CLS], words of a made-up text, [SEP]: n tokens.
std::vector<Piece> many_pieces(std::size_t n) {
  static const std::vector<Piece> words = {
      {"the", " The"},     {"key", " key"},     {"to", " to"},       {"the", " the"}, {"cabin", " cabin"},
      {"##ets", "ets"},    {"that", " that"},   {"no", " no"},       {"one", " one"}, {"had", " had"},
      {"un", " un"},       {"##lock", "lock"},  {"##ed", "ed"},      {"was", " was"}, {"on", " on"},
      {"the", " the"},     {"table", " table"}, {".", "."},          {"it", " It"},   {"stayed", " stayed"},
      {"there", " there"}, {"for", " for"},     {"years", " years"}, {",", ","},      {"they", " they"},
      {"say", " say"},     {".", "."}};
  std::vector<Piece> pieces = {{"[CLS]", ""}};
  for (std::size_t i = 0; i + 2 < n; ++i) pieces.push_back(words[i % words.size()]);
  pieces[1].text = "The";
  pieces.push_back({"[SEP]", ""});
  return pieces;
}

void write(const std::filesystem::path& folder, const std::string& name, const Report& report) {
  write_html(folder / (name + ".html"), report);
  write_report_json(folder / (name + ".json"), report);
}

void write_samples(const std::filesystem::path& folder) {
  {
    Report report = text_report("all-MiniLM-L6-v2", {{"[CLS]", ""},
                                                     {"the", "The"},
                                                     {"key", " key"},
                                                     {"to", " to"},
                                                     {"the", " the"},
                                                     {"cabinets", " cabinets"},
                                                     {"[MASK]", " [MASK]"},
                                                     {"[SEP]", ""}});
    report.output_token = 6;
    report.predictions = {{"masked", 6, {{"is", 0.61}, {"was", 0.22}, {"are", 0.05}}, {{"is", 0.61}, {"are", 0.05}}},
                          {"classification", std::nullopt, {{"grammatical", 0.93}, {"not grammatical", 0.07}}, {}}};
    compute(6, false, &report);
    write(folder, "short", report);
  }
  {
    Report report = text_report("long-text", many_pieces(128));
    report.notes = {Note(NoteCode::kFlowDegenerate, {{"layers", std::vector<std::size_t>{6}},
                                                     {"start_layer", std::size_t{0}},
                                                     {"fewer_layers", "1-5"},
                                                     {"least", 0.98},
                                                     {"most", 0.98},
                                                     {"first_layer_share", 1.0},
                                                     {"mixing", "attention"}})};
    compute(6, false, &report);
    write(folder, "long", report);
  }
  {
    Report report = text_report("deep-model", many_pieces(48));
    compute(12, false, &report);
    write(folder, "deep", report);
  }
  {
    // Emoji with joiners, a flag, combining marks, two pieces of one character, a long word, line breaks.
    Report report =
        text_report("emoji", {{"[CLS]", ""},
                              {"[UNK]", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7"},
                              {"loves", " loves"},
                              {"cafe", " cafe\xcc\x81"},
                              {"[UNK]", " \xf0\x9f\x87\xa9\xf0\x9f\x87\xaa"},
                              {"donau", " Donau"},
                              {"##dampfschifffahrtselektrizitatenhauptbetriebswerkbauunterbeamtengesellschaft",
                               "dampfschifffahrtselektrizit\xc3\xa4tenhauptbetriebswerkbauunterbeamtengesellschaft"},
                              {"\xc4\x8a", "\n"},
                              {"\xc3\xb0\xc5\x81\xc4\xba", "\xf0\x9f\x98\x80"},
                              {"\xc4\xa2", "!"},
                              {"a", " a"},
                              {"[SEP]", ""}});
    report.input.tokens[9].begin = report.input.tokens[8].begin;  // the second piece of the face
    report.input.tokens[9].end = report.input.tokens[8].end;
    compute(4, false, &report);
    write(folder, "emoji", report);
  }
  {
    Report report = text_report(
        "arabic",
        {{"[CLS]", ""},
         {"\xd8\xa7\xd9\x84", "\xd8\xa7\xd9\x84"},
         {"##\xd9\x85\xd9\x81\xd8\xaa\xd8\xa7\xd8\xad", "\xd9\x85\xd9\x81\xd8\xaa\xd8\xa7\xd8\xad"},
         {"\xd8\xb9\xd9\x84\xd9\x89", " \xd8\xb9\xd9\x84\xd9\x89"},
         {"\xd8\xb7\xd8\xa7", " \xd8\xb7\xd8\xa7"},
         {"##\xd9\x88\xd9\x84\xd8\xa9", "\xd9\x88\xd9\x84\xd8\xa9"},
         {"\xd8\xa7\xd9\x84\xd9\x85\xd8\xb7\xd8\xa8\xd8\xae", " \xd8\xa7\xd9\x84\xd9\x85\xd8\xb7\xd8\xa8\xd8\xae"},
         {".", "."},
         {"[SEP]", ""}},
        {{"the", "The"}, {"key", " key"}, {".", "."}, {"[SEP]", ""}});
    compute(6, false, &report);
    write(folder, "arabic", report);
  }
  {
    Report report = text_report("chinese", {{"[CLS]", ""},
                                            {"\xe9\x92\xa5", "\xe9\x92\xa5"},
                                            {"\xe5\x8c\x99", "\xe5\x8c\x99"},
                                            {"\xe5\x9c\xa8", "\xe5\x9c\xa8"},
                                            {"\xe6\xa1\x8c", "\xe6\xa1\x8c"},
                                            {"\xe5\xad\x90", "\xe5\xad\x90"},
                                            {"\xe4\xb8\x8a", "\xe4\xb8\x8a"},
                                            {"\xe3\x80\x82", "\xe3\x80\x82"},
                                            {"[SEP]", ""}});
    compute(6, false, &report);
    write(folder, "chinese", report);
  }
  {
    // An array file: no text, no names, one method, only some layers, only some output tokens.
    Report report;
    report.input.kind = "attention";
    report.input.tokens.resize(10);
    report.settings.methods = {Method::kRollout};
    compute(6, false, &report);
    report.raw = {};
    report.graph = {};
    report.flow = {};
    report.flow_gap = {};
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
    Report report = text_report("single", {{"hello", "hello"}});
    compute(1, false, &report);
    write(folder, "single", report);
  }
  {
    // Words that are compared at a mask, two of them with the same text, and one that is not in the vocabulary.
    Report report = text_report("referents", {{"[CLS]", ""},
                                              {"the", "The"},
                                              {"author", " author"},
                                              {"told", " told"},
                                              {"[UNK]", " Brobdingnag"},
                                              {"of", " of"},
                                              {"the", " the"},
                                              {"author", " author"},
                                              {"[MASK]", " [MASK]"},
                                              {"knew", " knew"},
                                              {"[SEP]", ""}});
    report.input.tokens[4].unknown = true;
    report.output_token = 8;
    report.predictions = {{"masked", 8, {{"she", 0.41}, {"he", 0.2}}, {{"he", 0.2}, {"she", 0.41}}}};
    report.referents = {{"author", {2}}, {"Brobdingnag", {4}}, {"author", {7}}};
    report.notes = {Note(NoteCode::kUnknownWords, {{"count", std::size_t{1}},
                                                   {"words", std::vector<std::string>{"Brobdingnag"}},
                                                   {"not_listed", std::size_t{0}}})};
    compute(4, false, &report);
    write(folder, "referents", report);
    // A referent of several tokens has no flow.
    report.referents = {{"the author", {1, 2}}, {"Brobdingnag", {4}}};
    write(folder, "referents-pieces", report);
  }
  {
    // Text that would be markup, or would end the script that contains it.
    const std::string markup = "</script><script>document.title='run'</script><!-- <b> & \xe2\x80\xa8";
    Report report = text_report(markup, {{"[CLS]", ""}, {markup, markup}, {"&lt;", " &lt;"}, {"[SEP]", ""}});
    report.notes = {Note(markup)};
    report.predictions = {{"classification", std::nullopt, {{markup, 0.9}}, {}}};
    compute(2, false, &report);
    write(folder, "markup", report);
  }
  {
    Report report = text_report("largest", many_pieces(512));
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
