// Command lines: exit code, message for a mistake, and no other output.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/cli/run_for_test.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/files_for_test.h"

namespace attnflow {
namespace {

using Words = std::vector<std::string>;

const std::string kGolden = ATTNFLOW_SOURCE_DIR "/tests/golden/";
const std::string kModels = kGolden + "models/";
const std::string kBert = kModels + "bert_masked_lm";

// Must be refused; the message holds every word.
struct Refusal {
  Words arguments;
  Words words;
  ErrorKind kind = ErrorKind::kUsage;
  std::string input = {};
};

void expect_refused(const Refusal& refusal) {
  SCOPED_TRACE(fmt::format("attnflow {}", fmt::join(refusal.arguments, " ")));
  const Ran ran = run_in_process(refusal.arguments, refusal.input);
  EXPECT_EQ(ran.code, static_cast<int>(refusal.kind)) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(ran.err.starts_with("attnflow: ")) << ran.err;
  for (const std::string& word : refusal.words)
    EXPECT_NE(ran.err.find(word), std::string::npos) << word << "\n" << ran.err;
}

Words after(Words beginning, const Words& arguments) {
  beginning.insert(beginning.end(), arguments.begin(), arguments.end());
  return beginning;
}

std::string printed(const Words& arguments) {
  const Ran ran = run_in_process(arguments);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return ran.out;
}

TEST(CommandLines, MistakesOfAnyCommandAreAnsweredWithTheCure) {
  const std::vector<Refusal> refusals = {
      {{}, {"expected a command of attnflow, found none", "explain", "--help"}},
      {{"frobnicate"}, {"frobnicate"}},
      {{"explain"}, {"text"}},
      {{"explain", "a", "--residul", "0.5"}, {"attnflow explain has no option --residul;", "mean --residual?"}},
      {{"serve", "--prot=3"}, {"attnflow serve has no option --prot;", "mean --port?"}},
      {{"explain", "a", "--output-tok", "b"}, {"mean --output-token?"}},
      {{"explain", "a", "--zzzzzz"}, {"attnflow explain has no option --zzzzzz; see 'attnflow explain --help'"}},
      {{"explain", "a", "b"}, {"unexpected argument 'b'", "quote a text"}},
      {{"explain", "a", "--residual", "x"}, {"--residual: expected a number, found 'x'"}},
      {{"serve", "--port", "999999"}, {"--port: expected a port from 0 to 65535", "found '999999'"}},
      {{"explain", "a", "--residual"}, {"--residual: expected a value, found none"}},
      {{"explain", "a", "--heads", "0", "--heads", "1"}, {"--heads: expected at most 1 value, found 2"}},
      {{"image"}, {"expected PICTURE, found none", "attnflow image --help"}},
      {{"evaluate"}, {"expected a command of attnflow evaluate, found none", "agreement", "TASK --help"}},
      {{"evaluate", "foo"}, {"expected a command of attnflow evaluate (", "found 'foo'"}},
      {{"explain", "a", "--=x"}, {"no option --; see 'attnflow explain --help'"}},
      {{"image", "a.png", "--most-megapixels=3"}, {"--most-megapixels is now --max-megapixels"}},
      // Wrong names are reported before wrong values.
      {{"explain", "hi", "--start-lyer", "3", "--heads", "foo"}, {"did you mean --start-layer?"}},
      {{"explain", "hi", "extra", "--heads", "foo"}, {"extra"}},
      {{"generate", "hi", "--model", kGolden + "decoders/llama_grouped", "--show", "bogus"},
       {"--show", "raw, rollout", "'bogus'"}},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

TEST(CommandLines, MisspelledNamesAreAnsweredWithTheNearest) {
  const std::vector<std::pair<Words, std::string>> lines = {
      {{"explian"}, "explain"},
      {{"hepl"}, "help"},
      {{"help", "generat"}, "generate"},
      {{"evaluate", "sentimant"}, "sentiment"},
      {{"explain", "a", "--metod", "flow"}, "--method"},
      {{"explain", "a", "--method", "rolout"}, "rollout"},
      {{"explain", "a", "--mixing", "relevence"}, "relevance"},
      {{"explain", "a", "--heads", "men"}, "mean"},
      {{"explain", "a", "--normalize", "receptive_field"}, "receptive-field"},
      {{"explain", "a", "--mask-columns", "frist"}, "first"},
      {{"explain", "a", "--output-token", "lst"}, "last"},
      {{"explain", "a", "-o", "a.svg", "--view", "grpah"}, "graph"},
      {{"explain", "a", "-o", "a.jpg"}, ".png"},
      {{"image", "a.png", "--map", "smoth"}, "smooth"},
      {{"evaluate", "agreement", "--blank", "msk"}, "mask"},
      {{"evaluate", "agreement", "--scores", "gradiant"}, "gradient"},
      {{"evaluate", "agreement", "-o", "a.markdown"}, ".md"},
  };
  for (const auto& [arguments, meant] : lines) expect_refused({arguments, {fmt::format("did you mean {}?", meant)}});
}

TEST(CommandLines, ValuesOfExplainAreChecked) {
  const std::vector<std::pair<Words, Words>> lines = {
      {{"--method", "magic"}, {"raw, rollout, flow", "magic"}},
      {{"--heads", "median"}, {"mean, max, min", "median"}},
      {{"--residual", "nan"}, {"--residual"}},
      {{"--residual", "half"}, {"residual", "half"}},
      {{"--layers", "6-1"}, {"--layers", "6-1"}},
      {{"--layers", "0-2"}, {"--layers", "0-2"}},
      {{"--layers", "1-99999999999"}, {"--layers"}},
      {{"--output-token", "middle"}, {"--output-token", "'middle'", "the words are a b"}},
      {{"--output-token", ""}, {"--output-token", "found none"}},
      {{"--output-token", "mask"}, {"mask"}},
      {{"--output-token", "99"}, {"position"}},
      {{"--normalize", "columns"}, {"receptive-field", "columns"}},
      {{"--flow-tolerance", "0"}, {"--flow-tolerance"}},
      {{"--top-k", "-3"}, {"top-k", "whole number"}},
      {{"--top-k", "99999999999999999999999"}, {"top-k", "whole number"}},
      {{"--threads", "many"}, {"threads"}},
      {{"--device", "toaster"}, {"toaster"}},
      {{"--candidates", "a,b"}, {"mask"}},
      {{"--keep-attention"}, {"--keep-attention", "-o"}},
      {{"--words", "--keep-attention", "--json"}, {"--words", "--keep-attention"}},
      {{"--renormalize"}, {"--attention"}},
      {{"--view", "graph"}, {"--view", "-o"}},
      {{"--view", "globe"}, {"overview", "globe"}},
      {{"--arcs", "5"}, {"--arcs requires --view graph"}},
      {{"-o", "a.svg", "--view", "graph", "--arcs", "0"}, {"--arcs", "all", "'0'"}},
      {{"-o", "a.svg", "--view", "graph", "--arcs", "-1"}, {"--arcs", "all", "'-1'"}},
      {{"-o", "a.svg", "--view", "graph", "--arcs", "none"}, {"--arcs", "all", "'none'"}},
      {{"-o", "a.svg", "--view", "graph", "--arcs", "3x"}, {"--arcs", "all", "'3x'"}},
      {{"--width", "3.3in", "-o", "a.json"}, {"--width requires a figure"}},
      {{"--font-size", "8"}, {"--font-size requires a figure"}},
      {{"--no-notes"}, {"--no-notes requires a figure"}},
      {{"-o", "a.svg", "--width", "3.3"}, {"--width", "3.3in, 8.4cm", "'3.3'"}},
      {{"-o", "a.svg", "--width", "0.3in"}, {"--width: expected at least", "found 0.3in"}},
      {{"-o", "a.svg", "--width", "0.01in"}, {"--width: expected a figure", "found 0.01in"}},
      {{"-o", "a.pdf", "--font-size", "0"}, {"--font-size: expected 2 to 72 points", "'0'"}},
      {{"-o", "out.docx"}, {".html", "out.docx"}},
      {{"-o", "out"}, {".html"}},
      {{"-o", "no/such/folder/a.png"}, {"no/such/folder"}},
      {{"-o", "-", "--json"}, {"standard output", "-o"}},
      {{"-o", "-", "-o", "-.svg"}, {"standard output", "-o"}},
      {{"--attention", "a.npz"}, {"not both", "tokens", ".npz"}},
      {{"--blank=-1"}, {"blank", "-1"}},
      {{"--blank=0x2"}, {"blank", "0x2"}},
      {{"--blank=,2"}, {"blank", ",2"}},
  };
  const Words explain = {"explain", "a b", "--model", kBert};
  for (const auto& [arguments, words] : lines) expect_refused({after(explain, arguments), words});
}

TEST(CommandLines, TextsThatCannotBeExplained) {
  std::string long_text;
  for (int i = 0; i < 200; ++i) long_text += "a ";
  const std::vector<Refusal> refusals = {
      {{"explain", "", "--model", kBert}, {"text"}},
      {{"explain", "\n\t", "--model", kBert}, {"text"}},
      {{"explain", long_text, "--model", kBert}, {"--truncate", "202"}, ErrorKind::kInputTooLong},
      {{"explain", "-", "--model", kBert}, {"UTF-8", "2"}, ErrorKind::kUsage, std::string("a \xff b")},
      {{"explain", "-", "--model", kBert}, {"one text", "2 lines", "--multiline"}, ErrorKind::kUsage, "a\nb\n"},
      {{"explain", "a b", "--model", kModels + "bert_classification", "--candidates", "a"}, {"--candidates", "head"}},
      {{"explain", "a b", "--model", "nowhere"}, {"nowhere"}, ErrorKind::kBadFile},
      {{"image", "nowhere.png"}, {"nowhere.png"}, ErrorKind::kBadFile},
      {{"generate", "a b", "--model", kBert}, {"bert", "expected a decoder"}, ErrorKind::kUnsupportedModel},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
  EXPECT_NE(printed({"explain", long_text, "--model", kBert, "--truncate", "--method", "rollout"}).find("cut"),
            std::string::npos);
}

TEST(CommandLines, NothingIsLeftWhereACommandIsRefused) {
  const test::TempFolder folder;
  const std::string mine = (folder.path() / "mine.npz").string();
  write_file(mine, "mine");
  expect_refused({{"explain", "", "--model", kBert, "-o", mine, "-o", (folder.path() / "new.svg").string()}, {"text"}});
  EXPECT_EQ(read_file(mine), "mine");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  std::filesystem::create_directory(folder.path() / "folder.png");
  expect_refused({{"explain", "a", "--model", kBert, "-o", (folder.path() / "folder.png").string()}, {"a folder"}});
}

TEST(CommandLines, HelpAndVersionComeFirst) {
  const std::string help = printed({"--help"});
  EXPECT_TRUE(help.find("Usage: attnflow") != std::string::npos) << help;
  EXPECT_EQ(printed({"help"}), help);
  EXPECT_NE(printed({"--help", "image"}).find("Usage: attnflow image"), std::string::npos);
  EXPECT_EQ(printed({"help", "explain"}), printed({"explain", "--help"}));
  EXPECT_EQ(printed({"help", "evaluate", "image"}), printed({"evaluate", "image", "--help"}));
  EXPECT_NE(printed({"evaluate", "--help", "sentiment"}).find("sentiment"), std::string::npos);
  EXPECT_NE(printed({"help", "explain"}).find("rest (all others)"), std::string::npos);
  const std::string version = printed({"--version", "generate"});
  EXPECT_TRUE(std::regex_search(version, std::regex("^\\D*\\d+\\.\\d+\\.\\d+"))) << version;
  EXPECT_NE(version.find("libattnflow_torch"), std::string::npos) << version;
}

TEST(CommandLines, EveryOptionThatNotesAdviseExists) {
  const auto options_in = [](const std::string& text) {
    static const std::regex option("--[a-z][a-z-]+");
    std::set<std::string> names;
    for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at) names.insert(at->str());
    return names;
  };
  std::string helps;
  for (const Words& command : std::vector<Words>{
           {"explain"}, {"generate"}, {"image"}, {"serve"}, {"evaluate", "sentences"}, {"evaluate", "evidence"}}) {
    helps += printed(after(command, {"--help"}));
  }
  const std::set<std::string> known = options_in(helps);
  const std::set<std::string> advised =
      options_in(read_file(ATTNFLOW_SOURCE_DIR "/attnflow/attribution/note_texts.cc"));
  EXPECT_GT(advised.size(), 10u);
  for (const std::string& option : advised) EXPECT_TRUE(known.contains(option)) << option;
}

TEST(CommandLines, StandardInputAndOutput) {
  const Words explain = {"--model", kBert, "--method", "rollout"};
  const std::string text = "the key to the cabinets";
  const Ran read = run_in_process(after({"explain", "-"}, explain), text + "\n");
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_EQ(read.out, printed(after({"explain", text}, explain)));
  EXPECT_NE(read.out.find("cabinet"), std::string::npos);

  const Ran lines = run_in_process(after({"explain", "-", "--multiline", "--json"}, explain), "the [MASK]\nthe dog\n");
  EXPECT_NE(lines.out.find("the [MASK]\\nthe dog"), std::string::npos) << lines.err;

  const Ran file = run_in_process(after({"explain", text, "-o", "-"}, explain));
  EXPECT_EQ(file.out, printed(after({"explain", text, "--json"}, explain)));
  EXPECT_EQ(file.err.find("wrote"), std::string::npos) << file.err;
}

}  // namespace
}  // namespace attnflow
