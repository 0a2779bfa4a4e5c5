// Generations that a client may end before their time, by the name that it gave them.
#ifndef ATTNFLOW_SERVE_STOP_TABLE_H_
#define ATTNFLOW_SERVE_STOP_TABLE_H_

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

namespace attnflow {

// Any thread may call.
class StopTable {
 public:
  // Knows the name as long as somebody holds what is returned. A second one of the same name takes it over; without a
  // name nobody can ask for the end.
  std::shared_ptr<std::stop_source> open(const std::string& name);
  // Asks the one of that name to end; false where there is none.
  bool stop(const std::string& name);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<std::stop_source>> known_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_STOP_TABLE_H_
