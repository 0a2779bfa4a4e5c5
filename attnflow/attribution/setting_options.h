// The table of settings (attribution/settings.h): their options, which also are a report's settings.
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

// The settings where none is given.
Settings default_settings(OptionUse use);

// Throws Error(kUsage) for a number out of its row's range.
void check_ranges(const Settings& settings);

}  // namespace attnflow
