// The number of processors on which nothing else runs.
//
// Threads that wait for each other without sleeping (libllama's) lose most of their time when they share a processor
// with another task: at each of a hundred or so barriers per token, they wait milliseconds for the other thread's next
// time slice. On two processors used by four other processes, SmolLM2 generates 20 to 60 times slower with two threads
// than alone, but only 3 times slower with one. So code that starts such threads calls this first.
//
// Source: the number of runnable tasks in /proc/loadavg (proc(5)), the minimum of a few readings. If it is unavailable,
// or counts tasks of processors that this process may not use (a container's), all usable processors count as idle.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace attnflow {

// Returns the 3 of "0.20 0.18 0.12 3/80 11206": the number of running or runnable tasks, including the reader. Nothing
// if the text has another form.
std::optional<std::size_t> runnable_tasks(std::string_view loadavg);

std::size_t usable_processors();

// From 1 to usable_processors(). Takes about two milliseconds.
std::size_t idle_processors();

}  // namespace attnflow
