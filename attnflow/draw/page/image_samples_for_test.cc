#include "attnflow/draw/page/image_samples_for_test.h"

#include <string>

#include "attnflow/attribution/note.h"
#include "attnflow/draw/html.h"
#include "attnflow/draw/synthetic_picture_for_test.h"
#include "attnflow/report/report_json.h"

namespace attnflow {
namespace {

using internal::FlowRows;
using internal::synthetic_picture;

void write(const std::filesystem::path& folder, const std::string& name, const Report& report) {
  write_html(folder / (name + ".html"), report);
  write_report_json(folder / (name + ".json"), report);
}

}  // namespace

void write_image_samples(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  { write(folder, "small", synthetic_picture({.name = "7.png", .width = 28, .height = 28, .rows = 7, .columns = 7})); }
  {
    // A distillation token and registers, a reduced picture, only its middle visible to the model, flow for one token.
    Report report = synthetic_picture({.name = "photo.jpg",
                                       .width = 640,
                                       .height = 400,
                                       .rows = 10,
                                       .columns = 10,
                                       .specials = {"[CLS]", "[DIST]", "[REG 1]", "[REG 2]", "[REG 3]", "[REG 4]"},
                                       .layers = 12,
                                       .flow = FlowRows::kOne,
                                       .seen = {0.1875, 0.0, 0.8125, 1.0},
                                       .shrink = 2});
    report.notes = {Note(NoteCode::kFewClasses, {{"width", std::size_t{224}},
                                                 {"height", std::size_t{224}},
                                                 {"classes", std::size_t{2}},
                                                 {"labels", std::vector<std::string>{"cat", "dog"}}})};
    write(folder, "tokens", report);
  }
  {
    // More rows than columns, black padding, a class token in another position.
    Report report = synthetic_picture({.name = "\u0635\u0648\u0631\u0629 \u0627\u0644\u0642\u0637\u0629 \U0001F431.png",
                                       .width = 60,
                                       .height = 140,
                                       .rows = 9,
                                       .columns = 5,
                                       .layers = 3,
                                       .flow = FlowRows::kNone,
                                       .seen = {-0.2, -0.05, 1.2, 1.05}});
    report.output_token = 23;
    write(folder, "around", report);
  }
  {
    write(folder, "least",
          synthetic_picture(
              {.name = "", .width = 200, .height = 20, .rows = 1, .columns = 10, .specials = {}, .layers = 1}));
  }
  {
    // Large enough for float16.
    write(folder, "large",
          synthetic_picture(
              {.width = 448, .height = 448, .rows = 12, .columns = 12, .layers = 12, .flow = FlowRows::kOne}));
  }
  {
    // Would be markup, or end the enclosing script.
    const std::string markup = "</script><script>document.title='run'</script><!-- <img src=x onerror=alert(1)> & ";
    Report report = synthetic_picture({.name = markup, .rows = 3, .columns = 4, .specials = {markup}, .layers = 2});
    report.notes = {Note(markup)};
    report.model.name = markup;
    report.predictions[0].choices[0].label = markup;
    write(folder, "markup", report);
  }
}

}  // namespace attnflow
