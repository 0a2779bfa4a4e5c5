// Generations that a client may stop early, by the name that it gave them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

namespace attnflow {

// Thread-safe.
class StopTable {
 public:
  // Registers the name for as long as the returned pointer is held. A second one with the same name takes it over;
  // without a name the generation cannot be stopped.
  std::shared_ptr<std::stop_source> open(const std::string& name);
  // Returns false if there is no generation of that name.
  bool stop(const std::string& name);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<std::stop_source>> known_;
};

}  // namespace attnflow
