// How many processors nothing else runs on.
//
// Threads that wait for each other without sleeping (libllama's) lose most of their time when they share a processor
// with something else: each of some hundred barriers a token then waits for the other thread's next turn, milliseconds
// away. On two processors that four other processes use, SmolLM2 generates 20 to 60 times slower with two threads than
// alone, with one 3 times slower. So who starts such threads asks first.
//
// Source: the count of runnable tasks in /proc/loadavg (proc(5)), the least of a few readings. Where there is none, or
// it counts tasks of other processors than this process may use (a container with a share of a machine), all that may
// be used count as idle.
#ifndef ATTNFLOW_BASE_IDLE_PROCESSORS_H_
#define ATTNFLOW_BASE_IDLE_PROCESSORS_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace attnflow {

// The 3 of "0.20 0.18 0.12 3/80 11206": tasks that run or could, the reader's own among them. Nothing where the text is
// of another form.
std::optional<std::size_t> runnable_tasks(std::string_view loadavg);

// Processors that this process may use.
std::size_t usable_processors();

// From 1 to that number. Takes about two milliseconds.
std::size_t idle_processors();

}  // namespace attnflow

#endif  // ATTNFLOW_BASE_IDLE_PROCESSORS_H_
