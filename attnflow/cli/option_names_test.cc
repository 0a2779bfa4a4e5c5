// A second list of all options, since scripts and documents write them out.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/cli/run_for_test.h"

namespace attnflow {
namespace {

std::string options_of(std::vector<std::string> arguments) {
  arguments.push_back("--help");
  const std::string help = run_in_process(arguments).out;
  static const std::regex line("\n  (-[a-z],)?--([a-z-]+)");
  std::vector<std::string> names;
  for (std::sregex_iterator at(help.begin(), help.end(), line), end; at != end; ++at) names.push_back((*at)[2]);
  return fmt::format("{}", fmt::join(names, " "));
}

TEST(OptionNames, AreTheseOfEachCommand) {
  const std::string of_words =
      "seed truncate scores targets blank method heads residual discard discard-keep-special mask-columns layers "
      "start-layer output-token flow-tolerance mixing relevance resamples threads device allow-unused-weights";
  const std::string with_data = "help model output force json per-sample data samples " + of_words;
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"explain"},
       "help multiline pair model attention output force json method mixing target against heads residual discard "
       "discard-keep-special mask-columns layers start-layer output-token normalize words flow-tolerance "
       "target-text only-output-token integration-steps check check-replacements renormalize any-weights blank top-k "
       "candidates referents keep-attention certificate view arcs width font-size no-notes max-flow-seconds truncate "
       "threads "
       "device "
       "allow-unused-weights"},
      {{"generate"},
       "help model multiline output force json tokens chat system temperature top-p seed begin-with ignore-end "
       "method mixing heads residual mask-columns layers start-layer normalize words flow-tolerance "
       "integration-steps generated-columns flow-tokens flow-layers top-k exclude-stop-words exclude-punctuation "
       "exclude-special keep-template exclude-matching exclude-tokens view show token width font-size no-notes "
       "threads device allow-unused-weights"},
      {{"image"},
       "help model output force json method mixing target against heads residual discard discard-keep-special "
       "mask-columns layers start-layer output-token normalize flow-tolerance integration-steps check "
       "check-replacements top-k keep-attention certificate view map tone opacity width font-size no-notes "
       "max-megapixels threads device allow-unused-weights"},
      {{"serve"},
       "help host port model allow-unused-weights token allow-host workers queue timeout max-body max-megapixels "
       "max-memory max-connections max-connections-per-address threads device"},
      {{"model"}, "help card allow-unused-weights output"},
      {{"evaluate", "agreement"}, with_data},
      {{"evaluate", "sentiment"}, with_data},
      {{"evaluate", "sentences"}, "help model output force json per-sample samples " + of_words},
      {{"evaluate", "evidence"},
       "help model data output force json samples seed begin scores allow-unused-weights threads method against heads "
       "residual layers start-layer mixing flow-layers resamples"},
      {{"evaluate", "image"},
       "help model data output force json samples seed max-megapixels allow-unused-weights threads method heads "
       "residual mask-columns layers start-layer mixing scores blank class steps random-orders resamples"},
  };
  for (const auto& [command, options] : commands)
    EXPECT_EQ(options_of(command), options) << fmt::format("{}", fmt::join(command, " "));
}

}  // namespace
}  // namespace attnflow
