#include "attnflow/http/event_stream.h"

namespace attnflow {

std::string sse_event(std::string_view name, std::string_view data) {
  std::string event = "event: ";
  event.reserve(data.size() + name.size() + 32);
  event += name;
  event += '\n';
  if (!data.empty() && data.back() == '\n') data.remove_suffix(1);
  while (true) {
    const std::size_t end = data.find('\n');
    event += "data: ";
    event += data.substr(0, end);
    event += '\n';
    if (end == std::string_view::npos) break;
    data.remove_prefix(end + 1);
  }
  event += '\n';
  return event;
}

}  // namespace attnflow
