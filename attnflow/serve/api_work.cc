#include "attnflow/serve/api_work.h"

#include <fmt/format.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnflow/http/api_error.h"
#include "attnflow/http/event_stream.h"
#include "attnflow/serve/analysis_error.h"

namespace attnflow {
namespace {

constexpr std::chrono::milliseconds kBetweenProgress{100};

// The stop code answers for stopped work that threw, unless it is a stream.
void answer_failure(const std::shared_ptr<HttpExchange>& exchange, bool streams, const ApiError& error) {
  if (!streams) {
    exchange->respond(error_response(error));
    return;
  }
  exchange->send(sse_event("error", error_json(error.kind(), error.what())));
  exchange->end_stream();
}

ApiError stop_error(StopReason reason) {
  const auto [kind, message] = stop_words(reason);
  return {503, kind, message};
}

// A stream whose job never ran reports why before it ends.
class QueuedExchange {
 public:
  QueuedExchange(std::shared_ptr<HttpExchange> exchange, bool streams)
      : exchange_(std::move(exchange)), streams_(streams) {}
  QueuedExchange(const QueuedExchange&) = delete;
  QueuedExchange& operator=(const QueuedExchange&) = delete;
  ~QueuedExchange() {
    if (!ran_ && streams_) answer_failure(exchange_, true, stop_error(exchange_->stop_reason()));
  }
  const std::shared_ptr<HttpExchange>& run() {
    ran_ = true;
    return exchange_;
  }
  void give_up() { ran_ = true; }

 private:
  std::shared_ptr<HttpExchange> exchange_;
  bool streams_;
  bool ran_ = false;
};

}  // namespace

void Work::event(std::string_view name, std::string_view json) const {
  if (streams_) exchange_->send(sse_event(name, json));
}

ProgressFunction Work::progress(std::string_view phase) const {
  if (!streams_) return {};
  const auto last = std::make_shared<std::chrono::steady_clock::time_point>();
  return [exchange = exchange_, last, phase = std::string(phase)](std::size_t done, std::size_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (done < total && now - *last < kBetweenProgress) return;
    *last = now;
    exchange->send(sse_event(
        "progress", fmt::format(R"({{"phase":{},"done":{},"total":{}}})", nlohmann::json(phase).dump(), done, total)));
  };
}

void queue_work(WorkQueue& queue, const std::shared_ptr<HttpExchange>& exchange, const WorkOptions& options,
                std::function<std::string(const Work&)> run) {
  const bool streams = options.streams;
  const auto held = std::make_shared<QueuedExchange>(exchange, streams);
  Job job;
  job.exclusive = options.exclusive;
  job.stop_token = exchange->stop_token();
  if (streams) {
    // Begin the stream once the job is accepted, so a full queue gets a plain response.
    job.moved = [exchange](std::size_t before) {
      exchange->begin_stream({.content_type = "text/event-stream",
                              .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}});
      exchange->send(sse_event("queued", fmt::format(R"({{"position":{}}})", before)));
    };
  }
  job.run = [held, options, run = std::move(run)] {
    const std::shared_ptr<HttpExchange>& open = held->run();
    open->limit_time(options.timeout);
    try {
      std::string document = run(Work(open, options.streams));
      if (options.streams) {
        open->send(sse_event(options.result_event, document));
        open->end_stream();
        return;
      }
      open->respond({.headers = {{"Cache-Control", "no-store"}}, .body = std::move(document)});
    } catch (const Cancelled&) {
      answer_failure(open, options.streams, stop_error(open->stop_reason()));
    } catch (const std::exception& error) {
      const ApiError known = api_error_of(error, options.input_is_file);
      answer_failure(
          open, options.streams,
          {known.status(), known.kind(), without_path(known.what(), options.model_path, options.model_name)});
    }
  };
  if (queue.submit(std::move(job))) return;
  held->give_up();
  exchange->respond(queue_full_response(queue.waiting(), queue.retry_after()));
}

bool wants_events(const HttpRequest& request, bool otherwise) {
  const std::string accept = request.header("accept").value_or("");
  if (accept.find("text/event-stream") != std::string::npos) return true;
  if (accept.find("application/json") != std::string::npos) return false;
  return otherwise;
}

}  // namespace attnflow
