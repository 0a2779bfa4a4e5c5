// Numbers as users read them, in tables, figures, notes and messages; internal. One function per form keeps shares
// uniform. The page follows the same rules (viewer/src/report/words.ts).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attnflow::internal {

// A share from 0 to 1: "7%", "7.4%".
std::string percent(double share, int decimals = 0);

// A counted share: "12.5%"; "-" of nothing.
std::string percent_of(std::size_t part, std::size_t whole);

// One decimal, two below 0.1%, and "<0.01%" for what would look like 0.
std::string probability_percent(double probability);

// Whole percent, and "less than 1%" or "more than 99%" for what would look like none or all.
std::string share_percent(double share);

// "7%", or "7% to 12%" where the ends differ.
std::string percent_range(double low, double high);

// Three significant digits: "0.0123", "1", "1.2e-05".
std::string short_number(double value);

// "20 seconds", "3 minutes", "2 hours": at least a second.
std::string about_time(double seconds);

// "1 token", "3 tokens". `noun` is a regular one, in the singular.
std::string counted(std::size_t count, std::string_view noun);

}  // namespace attnflow::internal
