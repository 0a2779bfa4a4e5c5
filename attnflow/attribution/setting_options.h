// The options of Settings (attribution/settings.h), as a table.
//
// Example:
//
//     Settings settings;
//     for (const SettingOption& option : setting_options()) {
//       std::printf("--%s: %s\n", option.dashed().c_str(), option.help);
//       if (option.dashed() == "residual") option.set(settings, 0.25);
//     }
//     assert(settings.residual == 0.25);
//     check_ranges(settings);
#pragma once

#include <span>

#include "attnflow/attribution/option.h"
#include "attnflow/attribution/settings.h"

namespace attnflow {

using SettingOption = Option<Settings>;

// In the order of --help and of a report's settings.
std::span<const SettingOption> setting_options();

Settings default_settings(OptionUse use);

// Throws Error(kUsage) for a number outside its row's range.
void check_ranges(const Settings& settings);

}  // namespace attnflow
