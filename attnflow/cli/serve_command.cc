// attnflow serve: the page and the JSON API, over HTTP.

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "attnflow/base/parse_number.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/console.h"
#include "attnflow/cli/messages.h"
#include "attnflow/cli/stop_on_signal.h"
#include "attnflow/serve/serve.h"

namespace attnflow {
namespace {

std::string port_number(const std::string& text) {
  // A leading 0 would be read as an octal number.
  if (internal::parse_number<std::uint16_t>(text) && (text.size() == 1 || text[0] != '0')) return "";
  return fmt::format("expected a port from 0 to 65535, found '{}'", text);
}

struct ServeArguments {
  std::size_t timeout = 60;
  ServeOptions options;
};

void run_serve(ServeArguments& arguments) {
  arguments.options.limits.timeout = std::chrono::seconds(arguments.timeout);
  arguments.options.log = [](const std::string& message) { print_message(fmt::format("attnflow: {}", message)); };
  check_serve_options(arguments.options);
  const StopOnSignal signals;
  serve(arguments.options, signals.token(), [](const std::string& url) {
    fmt::print(console().out, "attnflow serves {}\n", url);
    std::fflush(console().out);
  });
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto arguments = std::make_shared<ServeArguments>();
  ServeOptions& options = arguments->options;
  CLI::App* command = app.add_subcommand("serve", "Serve a web page and a JSON API over HTTP");
  command->add_option("--host", options.http.host, "Address to listen on; any non-loopback address needs --token")
      ->capture_default_str();
  command->add_option("--port", options.http.port, "Port; 0: any free port")->check(port_number)->capture_default_str();
  repeatable(command->add_option(
                 "--model", options.models,
                 "Additional model to serve: Hugging Face folder or GGUF file. May be repeated; the page opens on the "
                 "first"))
      ->type_name("DIR|FILE.gguf");
  add_unused_weights_option(command, options.allow_unused_weights);
  command->add_option("--token", options.token, "Token required for API requests (Authorization: Bearer TOKEN)")
      ->envname("ATTNFLOW_TOKEN");
  repeatable(command->add_option(
                 "--allow-host", options.allowed_hosts,
                 "Additional accepted Host name, such as a reverse proxy's: NAME or NAME:PORT. May be repeated"))
      ->type_name("NAME");

  command->option_defaults()->group("Limits");
  add_whole_number(command, "--workers", options.limits.workers, "Concurrent analyses");
  add_whole_number(command, "--queue", options.limits.queue, "Queue length; further requests get a 503");
  add_whole_number(command, "--timeout", arguments->timeout, "Timeout per analysis in seconds");
  add_whole_number(command, "--max-body", options.limits.max_body_bytes,
                   "Maximum image size in bytes; JSON requests are limited to 1 MiB");
  add_whole_number(command, "--max-megapixels", options.max_megapixels,
                   "Reject images with more megapixels (2^20 pixels)");
  add_whole_number(command, "--max-memory", options.max_memory_mib,
                   "Memory limit per analysis in MiB; 0: half of free memory, divided among the workers");
  add_whole_number(command, "--max-connections", options.http.max_connections, "Maximum number of connections");
  add_whole_number(command, "--max-connections-per-address", options.http.max_connections_per_address,
                   "Maximum connections per address (behind a proxy: same as --max-connections)");

  command->option_defaults()->group("Runtime");
  add_whole_number(command, "--threads", options.threads,
                   "Threads per analysis; 0: processors divided among the workers");
  command->add_option("--device", options.device, "cpu, or cuda[:N]")->capture_default_str();
  command->callback([arguments] { run_serve(*arguments); });
}

}  // namespace attnflow
