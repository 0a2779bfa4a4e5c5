#include "attnflow/draw/page/generation_samples_for_test.h"

#include <string>

#include "attnflow/attribution/note.h"
#include "attnflow/draw/html.h"
#include "attnflow/draw/synthetic_generation_for_test.h"
#include "attnflow/report/report_json.h"

namespace attnflow {
namespace {

using internal::synthetic_generation;
using internal::SyntheticGeneration;
using internal::usual_generation;

void write(const std::filesystem::path& folder, const std::string& name, const Report& report) {
  write_html(folder / (name + ".html"), report);
  write_report_json(folder / (name + ".json"), report);
}

}  // namespace

void write_generation_samples(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write(folder, "usual", usual_generation(20, 12, 6));
  write(folder, "long", usual_generation(200, 64, 12));
  {
    SyntheticGeneration make{.prompt = {"Hello"}, .generated = {" there"}, .layers = 1};
    Report report = synthetic_generation(make);
    report.raw = {};
    report.settings.methods = {Method::kRollout};
    write(folder, "least", report);
  }
  {
    SyntheticGeneration make;
    make.prompt = {"<|im_start|>", "user", "\n",   "ما",         " عاص",         "مة",       " فرنسا", "؟",
                   " 👩‍🔬", " 🇩🇪",  "\n\n", "<|im_end|>", "<|im_start|>", "assistant"};
    make.generated = {"باريس", " هي", " العاص", "مة", ".\n", "✨", ""};
    make.flow_tokens = {2};
    Report report = synthetic_generation(make);
    report.generation->chat = true;
    report.generation->sampling = {0.8, 0.95, 7};
    write(folder, "arabic", report);
  }
  {
    // Would be markup, or end the enclosing script.
    const std::string markup = "</script><script>document.title='run'</script><!-- <img src=x onerror=alert(1)> & ";
    SyntheticGeneration make;
    make.prompt = {markup, " &lt;", " <b>"};
    make.generated = {markup, "\xe2\x80\xa8", " <img src=x onerror=document.title='run'>"};
    make.layers = 2;
    Report report = synthetic_generation(make);
    report.notes = {Note(markup)};
    report.generation->excluded = {{markup, {1}}};
    report.model.name = markup;
    for (GeneratedToken& token : report.generation->tokens) token.choices.push_back({markup, 0.01});
    write(folder, "markup", report);
  }
}

}  // namespace attnflow
