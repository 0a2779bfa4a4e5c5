// attnflow_explain_loop MODEL TEXT TIMES: explains a text repeatedly, including the JSON document, as a server's worker
// does. Prints a line of JSON: fastest and median in milliseconds, and a document's bytes.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "attnflow/analysis/text/explain_text.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/model/builtin_models.h"
#include "attnflow/model/model_files.h"
#include "attnflow/report/report_json.h"
#include "attnflow/text/tokenizer.h"

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  if (argc != 4) {
    fmt::print(stderr, "usage: {} MODEL TEXT TIMES\n", argv[0]);
    return 2;
  }
  try {
    const attnflow::Folder folder = attnflow::find_model(argv[1]);
    attnflow::LoadOptions load;
    load.threads = std::max<std::size_t>(1, attnflow::resolve_threads(0) / 2);  // the server's share for two workers
    const auto model = attnflow::ModelFiles(folder).load_text(load);
    const attnflow::Tokenizer tokenizer = attnflow::Tokenizer::load(folder, model->info().architecture);
    attnflow::ExplainOptions options;
    options.threads = load.threads;
    std::vector<double> times;
    std::size_t bytes = 0;
    for (int i = 0; i <= std::atoi(argv[3]); ++i) {
      const auto begin = Clock::now();
      bytes =
          attnflow::report_to_json(attnflow::explain_text(*model, tokenizer, argv[2], std::nullopt, options)).size();
      if (i > 0) times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    if (times.empty()) return 2;
    fmt::print("{{\"fastest_ms\": {:.4f}, \"median_ms\": {:.4f}, \"bytes\": {}}}\n", times.front(),
               times[times.size() / 2], bytes);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
