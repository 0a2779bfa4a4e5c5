// attnflow image: which patches of a picture did a vision model draw on?

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/analysis/explain_image.h"
#include "attnflow/analysis/image_figure.h"
#include "attnflow/analysis/image_model.h"
#include "attnflow/analysis/write_image.h"
#include "attnflow/analysis/write_report.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/error.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/messages.h"
#include "attnflow/cli/model_argument.h"
#include "attnflow/cli/progress_bar.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/image/picture.h"
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
  std::size_t most_megapixels = 64;
  bool json = false;
  ImageFigureOptions figure;
  ReadSettings read_settings;
  ExplainOptions options;
};

void read_figure(ImageArguments& arguments) {
  const auto view = image_view_from_name(arguments.view);
  if (!view) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--view: expected overview, overlay or layers, found '{}'", arguments.view));
  }
  arguments.figure.view = *view;
  if (arguments.map != "smooth" && arguments.map != "patches") {
    throw Error(ErrorKind::kUsage, fmt::format("--map: expected smooth or patches, found '{}'", arguments.map));
  }
  arguments.figure.interpolation = arguments.map == "smooth" ? MapInterpolation::kBilinear : MapInterpolation::kPatches;
  if (arguments.tone != "grey" && arguments.tone != "color") {
    throw Error(ErrorKind::kUsage, fmt::format("--tone: expected grey or color, found '{}'", arguments.tone));
  }
  arguments.figure.tone = arguments.tone == "grey" ? PictureTone::kGrey : PictureTone::kColor;
  if (!(arguments.figure.opacity >= 0.0 && arguments.figure.opacity <= 1.0)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--opacity: expected a number from 0 to 1, found {}", arguments.figure.opacity));
  }
}

void run_image(ImageArguments& arguments) {
  ExplainOptions& options = arguments.options;
  arguments.read_settings(options.settings);
  validate(options.settings);
  for (const std::string& pair : options.certificates) parse_certificate(pair);
  read_figure(arguments);
  for (const std::string& output : arguments.outputs) check_output(output);
  if (options.keep_attention && arguments.outputs.empty() && !arguments.json) {
    throw Error(ErrorKind::kUsage,
                "--keep-attention: expected a file to keep it in (-o FILE.npz) or --json, found neither");
  }

  PictureOptions limits;
  limits.most_pixels = arguments.most_megapixels << 20U;
  const Picture picture = read_picture(arguments.picture, limits);
  const Folder folder = arguments.model ? resolve_model(*arguments.model) : default_image_model();
  LoadOptions load{arguments.device, options.threads};
  load.allow_unused_weights = arguments.allow_unused_weights;
  const ImageModel model = load_image_model(folder, load);
  ProgressBar bar("flow");
  options.progress = bar.function();
  const Report report = explain_image(*model.model, model.processor, picture,
                                      std::filesystem::path(arguments.picture).filename().string(), options);
  bar.finish();
  for (const std::string& output : arguments.outputs) write_image(output, report, arguments.figure);
  if (arguments.json) {
    fmt::print("{}", report_to_json(report));
  } else if (arguments.outputs.empty()) {
    TableOptions table;
    table.width = terminal_width().value_or(table.width);
    fmt::print("{}", terminal_table(report, table));
  } else {
    if (!arguments.model) {
      print_message(
          fmt::format("note: the model is {}, which is built in; --model chooses another", report.model.name));
    }
    for (const std::string& note : report.notes) print_message("note: " + note);
    for (const std::string& output : arguments.outputs) print_message("wrote " + output);
  }
}

}  // namespace

void add_image_command(CLI::App& app) {
  auto arguments = std::make_shared<ImageArguments>();
  Settings& settings = arguments->options.settings;
  CLI::App* command = app.add_subcommand("image", "Which patches of a picture did a vision model draw on?");
  command->add_option("PICTURE", arguments->picture, "A PNG, JPEG or WebP file")->required();
  command->add_option("--model", arguments->model, "Folder of a ViT, DeiT or DINOv2, or a built-in model's name")
      ->type_name("DIR|NAME");
  add_outputs(command, arguments->outputs, ".png .svg .pdf .html .json .csv .npz .safetensors .md .txt",
              "a table is printed");
  command->add_flag("--json", arguments->json, "Print the report document on standard output");

  const char* how = "What to compute";
  const char* show = "What to show and keep";
  arguments->read_settings = add_settings(
      command, settings, kForImage, {.compute = how, .show = show},
      {{"output_token", "auto (the class token), cls, all, a position, or a patch as row,column from 0"},
       {"discard_keep_special", "Weights of the class token and of registers are not discarded"},
       {"set_aside",
        "Columns that get no attention, rows being renormalised: none, first, special (all that are no patches), "
        "registers, or positions such as 0,5"},
       {"top_k", "Patches and classes that rankings show"}});

  command->add_option("--view", arguments->view, "What .svg, .pdf and .png show: overview, overlay or layers")
      ->capture_default_str()
      ->group(show);
  command->add_option("--map", arguments->map, "smooth (linear between patches) or patches (as computed)")
      ->capture_default_str()
      ->group(show);
  command->add_option("--tone", arguments->tone, "The picture under the map: grey or color")
      ->capture_default_str()
      ->group(show);
  command->add_option("--opacity", arguments->figure.opacity, "Of the map, 0 to 1")->capture_default_str()->group(show);
  command
      ->add_flag("--keep-attention", arguments->options.keep_attention, "Keep the attention of all heads (npz, json)")
      ->group(show);
  command
      ->add_option("--certificate", arguments->options.certificates,
                   "Prove the flow of one pair (flow on arcs, minimum cut), such as cls,5. May be repeated")
      ->type_name("OUT,IN")
      ->take_all()
      ->allow_extra_args(false)
      ->group(show);

  const char* run = "How to run";
  command
      ->add_option("--most-megapixels", arguments->most_megapixels, "Pictures with more (of 2^20 pixels) are refused")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20U))
      ->capture_default_str()
      ->group(run);
  command->add_option("--threads", arguments->options.threads, "Threads; 0: one per processor")
      ->check(whole_number)
      ->capture_default_str()
      ->group(run);
  command->add_option("--device", arguments->device, "cpu, or cuda[:N]")->capture_default_str()->group(run);
  add_unused_weights_option(command, arguments->allow_unused_weights, run);
  command->callback([arguments] { run_image(*arguments); });
}

}  // namespace attnflow
