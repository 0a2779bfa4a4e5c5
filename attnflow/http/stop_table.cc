#include "attnflow/http/stop_table.h"

namespace attnflow {

std::shared_ptr<std::stop_source> StopTable::open(const std::string& name) {
  auto source = std::make_shared<std::stop_source>();
  if (name.empty()) return source;
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& one) { return one.second.expired(); });
  known_[name] = source;
  return source;
}

bool StopTable::stop(const std::string& name) {
  std::shared_ptr<std::stop_source> source;
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(name);
    if (found != known_.end()) source = found->second.lock();
  }
  // Outside the lock, because stop callbacks are not under our control.
  if (source) source->request_stop();
  return source != nullptr;
}

}  // namespace attnflow
