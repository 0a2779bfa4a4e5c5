// attnflow image: which patches of an image did a vision model draw on?

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/analysis/image/explain_image.h"
#include "attnflow/analysis/image/image_figure.h"
#include "attnflow/analysis/loaded_model.h"
#include "attnflow/analysis/write_report.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/error.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/console.h"
#include "attnflow/cli/messages.h"
#include "attnflow/cli/model_argument.h"
#include "attnflow/cli/progress_bar.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/image/picture.h"
#include "attnflow/report/report_answer.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_table.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow {
namespace {

struct ImageArguments {
  std::string picture;
  std::optional<std::string> model;
  std::vector<std::string> outputs;
  std::string device = "cpu";
  bool allow_unused_weights = false;
  std::string view = "overview";
  std::string map = "smooth";
  std::string tone = "grey";
  std::size_t max_megapixels = 64;
  bool json = false;
  ImageFigureOptions figure;
  ReadSettings read_settings;
  ReadOptions<ExplainOptions> read_options;
  ReadPaper read_paper;
  ExplainOptions options;
};

void read_figure(ImageArguments& arguments) {
  index_of_choice("--view", {"overview", "overlay", "layers"}, arguments.view);
  arguments.figure.view = *image_view_from_name(arguments.view);
  const bool smooth = index_of_choice("--map", {"smooth", "patches"}, arguments.map) == 0;
  arguments.figure.interpolation = smooth ? MapInterpolation::kBilinear : MapInterpolation::kPatches;
  const bool grey = index_of_choice("--tone", {"grey", "color"}, arguments.tone) == 0;
  arguments.figure.tone = grey ? PictureTone::kGrey : PictureTone::kColor;
  refuse_if(!(arguments.figure.opacity >= 0.0 && arguments.figure.opacity <= 1.0),
            fmt::format("--opacity: expected a number from 0 to 1, found {}", arguments.figure.opacity));
}

void run_image(ImageArguments& arguments) {
  ExplainOptions& options = arguments.options;
  arguments.read_settings(options.settings);
  arguments.read_options(options);
  check_options(options);
  read_figure(arguments);
  for (const std::string& output : arguments.outputs) check_output(output);
  arguments.figure.page.set(arguments.read_paper(arguments.outputs));
  writes_to_standard_output(arguments.outputs, arguments.json);
  refuse_if(options.keep_attention && arguments.outputs.empty() && !arguments.json,
            "--keep-attention requires -o FILE.npz, .safetensors or .json, or --json");

  PictureOptions limits;
  limits.max_pixels = arguments.max_megapixels << 20U;
  const Picture picture = read_picture(arguments.picture, limits);
  const ModelFiles files = open_image_model(arguments.model, {arguments.allow_unused_weights});
  const ImageModel model = load_image_model(files, {arguments.device, options.threads});
  ProgressBar reading("patches read");
  options.reading = reading.function();
  ProgressBar bar("flow");
  options.progress = bar.function();
  Phases scoring;
  options.phases = [&](std::string_view phase) { return scoring.start(phase); };
  const Report report =
      explain_image(*model.model, model.processor,
                    shown_picture(picture, std::filesystem::path(arguments.picture).filename().string()), options);
  reading.finish();
  bar.finish();
  scoring.finish();
  for (const std::string& output : arguments.outputs) write_report(output, report, {}, arguments.figure);
  if (arguments.json) {
    fmt::print(console().out, "{}", report_to_json(report));
  } else if (arguments.outputs.empty()) {
    TableOptions table;
    table.width = terminal_width().value_or(table.width);
    fmt::print(console().out, "{}", terminal_table(report, table));
  } else {
    if (!arguments.model) {
      print_message(fmt::format("note: using the built-in model {}; select another with --model", report.model.name));
    }
    for (const std::string& note : note_paragraphs(report)) print_message("note: " + note);
    for (const std::string& output : arguments.outputs) print_written(output);
  }
}

}  // namespace

void add_image_command(CLI::App& app) {
  auto arguments = std::make_shared<ImageArguments>();
  Settings& settings = arguments->options.settings;
  settings = default_settings(kImageCommand);
  CLI::App* command = app.add_subcommand("image", "Show which patches of an image a vision model depends on");
  command->add_option("PICTURE", arguments->picture, "PNG, JPEG or WebP image")->required();
  command->add_option("--model", arguments->model, fmt::format("Folder of a {}, or a built-in model", kVisionFamilies))
      ->type_name("DIR|NAME");
  add_outputs(command, arguments->outputs, ".png .svg .pdf .html .json .csv .npz .safetensors .md .txt",
              "print a table");
  command->add_flag("--json", arguments->json, "Print the report as JSON on standard output");

  command->option_defaults()->group("Analysis");
  arguments->read_settings = add_settings(
      command, settings, kImageCommand,
      {{"output_token",
        "auto (the class token; without one, the patch in the middle), cls, all, a position, or a patch as "
        "row,column from 0"},
       {"discard_keep_special", "Keep the weights of the class token and of registers when discarding"},
       {"mask_columns",
        "Mask these key tokens and renormalize rows: none, first, special (everything except patches), "
        "registers, or positions such as 0,5"},
       {"top_k", "Number of patches and classes in rankings"}});
  arguments->read_options = add_options(command, explain_options(), arguments->options, kImageCommand);

  command->option_defaults()->group("Output");
  command->add_option("--view", arguments->view, "Figure to draw in .svg, .pdf and .png: overview, overlay or layers")
      ->capture_default_str();
  command->add_option("--map", arguments->map, "Map: smooth (interpolated between patches) or patches (as computed)")
      ->capture_default_str();
  command->add_option("--tone", arguments->tone, "Image under the map: grey or color")->capture_default_str();
  command->add_option("--opacity", arguments->figure.opacity, "Opacity of the map, 0 to 1")->capture_default_str();
  arguments->read_paper = add_paper_options(command);

  command->option_defaults()->group("Runtime");
  command->add_option("--max-megapixels", arguments->max_megapixels, "Reject images with more megapixels (2^20 pixels)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20U))
      ->capture_default_str();
  add_machine(command, arguments->options.threads, "", arguments->device);
  add_unused_weights_option(command, arguments->allow_unused_weights);
  command->callback([arguments] { run_image(*arguments); });
}

}  // namespace attnflow
