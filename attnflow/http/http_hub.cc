// The connections of a server share room for responses and a limited number of places (http_connection.h).

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "attnflow/http/http_connection.h"

namespace attnflow {
namespace {

// A client that receives its response within this time is not slow, regardless of other clients' needs.
constexpr std::chrono::milliseconds kPatience{2'000};

}  // namespace

bool HttpHub::make_room(std::size_t bytes, const HttpConnection& asking) {
  const auto now = HttpConnection::Clock::now();
  while (answer_bytes > asking.kept_ &&
         bytes > options.max_answer_bytes_at_once - std::min(options.max_answer_bytes_at_once, answer_bytes)) {
    std::shared_ptr<HttpConnection> slowest;
    for (const auto& connection : connections) {
      const bool waits =
          connection.get() != &asking && connection->kept_ > 0 && now - connection->put_since_ >= kPatience;
      if (waits && (!slowest || connection->put_since_ < slowest->put_since_)) slowest = connection;
    }
    if (!slowest) return false;
    slowest->close();
  }
  return true;
}

bool HttpHub::make_place(const std::string& client) {
  // No limit can be exceeded, so there is nothing to count.
  if (connections.size() < std::min(options.max_connections, options.max_connections_per_address)) return true;
  std::map<std::string_view, std::size_t> places;
  for (const auto& connection : connections) ++places[connection->client()];
  const bool too_many_here = places[client] >= options.max_connections_per_address;
  if (!too_many_here && connections.size() < options.max_connections) return true;
  std::shared_ptr<HttpConnection> longest;
  std::size_t most = 0;
  for (const auto& connection : connections) {
    if (!connection->may_give_way() || (too_many_here && connection->client() != client)) continue;
    const std::size_t of_client = places[connection->client()];
    if (of_client > most || (of_client == most && connection->waits_since() < longest->waits_since())) {
      longest = connection;
      most = of_client;
    }
  }
  if (!longest) return false;
  longest->close();
  return true;
}

void HttpHub::forget(const std::shared_ptr<HttpConnection>& connection) {
  connections.erase(connection);
  if (connections.empty() && emptied) emptied();
}

}  // namespace attnflow
