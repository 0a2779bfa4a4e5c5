// A request's work: queued, run on a worker, and answered in the form that the client prefers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "attnflow/base/progress.h"
#include "attnflow/http/http_server.h"
#include "attnflow/http/work_queue.h"
#include "attnflow/serve/analysis_error.h"

namespace attnflow {

class Work {
 public:
  Work(std::shared_ptr<HttpExchange> exchange, bool streams) : exchange_(std::move(exchange)), streams_(streams) {}

  std::stop_token stop_token() const { return exchange_->stop_token(); }
  StopReason stop_reason() const { return exchange_->stop_reason(); }
  bool streams() const { return streams_; }
  // Does nothing unless the response is a stream.
  void event(std::string_view name, std::string_view json) const;
  // Sends "progress" events, a few per second; empty unless the response is a stream.
  ProgressFunction progress(std::string_view phase) const;

 private:
  std::shared_ptr<HttpExchange> exchange_;
  bool streams_;
};

struct WorkOptions {
  bool streams = false;
  const char* result_event = "report";  // the last event's name; its data is what `run` returns
  std::chrono::seconds timeout{60};
  const void* exclusive = nullptr;
  bool input_is_file = false;  // see api_error_of()
  std::string model_path = {};
  std::string model_name = {};
};

// Queues the work and responds with the JSON document from `run`, or with the error that it throws; 503 if the queue is
// full.
void queue_work(WorkQueue& queue, const std::shared_ptr<HttpExchange>& exchange, const WorkOptions& options,
                std::function<std::string(const Work&)> run);

// Whether the client requests server-sent events (Accept: text/event-stream); `otherwise` if it names neither them nor
// application/json.
bool wants_events(const HttpRequest& request, bool otherwise);

}  // namespace attnflow
