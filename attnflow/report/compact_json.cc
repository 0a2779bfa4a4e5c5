#include "attnflow/report/compact_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/report/compact_array.h"
#include "attnflow/report/compact_plan.h"
#include "attnflow/report/report_array_table.h"
#include "attnflow/report/report_json_parts.h"

namespace attnflow {
namespace {

using internal::ArrayPlace;
using internal::CompactArrays;
using internal::CompactEncoding;
using internal::CompactEntry;
using internal::CompactLimits;
using internal::CompactSource;
using internal::RowSource;

// If fewer values per row fit, expendable arrays go first.
constexpr std::size_t kLeastBesideExpendable = 4;

std::vector<Note> notes_on(const CompactArrays& arrays) {
  std::vector<Note> notes;
  std::vector<std::string> undefined;
  std::vector<std::string> top;
  std::vector<std::size_t> mean;
  std::vector<std::size_t> least;
  // Rounded down, so as never to overstate.
  const auto percent = [](double share) { return static_cast<std::size_t>(std::floor(100.0 * share)); };
  for (const CompactEntry& entry : arrays.entries) {
    if (entry.array.undefined && entry.encoding != CompactEncoding::kFloat32) {
      undefined.push_back(entry.name);
    }
    if (entry.encoding != CompactEncoding::kTop) continue;
    top.push_back(entry.name);
    mean.push_back(percent(entry.array.mean_share));
    least.push_back(percent(entry.array.least_share));
  }
  if (!top.empty()) {
    notes.push_back({NoteCode::kLargestKept, {{"arrays", top}, {"mean_percent", mean}, {"least_percent", least}}});
  }
  if (!undefined.empty()) notes.push_back({NoteCode::kUndefinedValues, {{"arrays", undefined}}});
  if (!arrays.left_out.empty()) notes.push_back({NoteCode::kLeftOut, {{"arrays", arrays.left_out}}});
  return notes;
}

class Entries {
 public:
  void add(std::string_view name, std::string_view json) {
    text_ += text_.empty() ? "\n\"" : ",\n\"";
    text_ += name;
    text_ += "\":";
    text_ += json;
  }
  // Always written in full.
  void add_exact(const Report& report) {
    if (const Tensor<std::uint8_t>& flags = report.flow_degenerate; !flags.empty()) {
      add("flow_degenerate", internal::encode_bytes("u8", std::as_bytes(flags.span()), &flags.shape()));
    }
    internal::for_each_array(report, [&](const std::string& name, const auto& scores, const ArrayPlace& place) {
      if (place.rows != ArrayPlace::Rows::kExact || scores.empty()) return;
      const std::vector<float> values(scores.span().begin(), scores.span().end());
      add(name, internal::encode_bytes("f32", std::as_bytes(std::span(values)), &scores.shape()));
    });
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A document that is already too large gets the minimum.
std::size_t rest_of(std::size_t limit, std::size_t taken) {
  const std::size_t least = std::min<std::size_t>(limit, 64 * 1024);
  return limit > taken + least ? limit - taken : least;
}

constexpr std::size_t kNoteBytes = 4000;

CompactLimits limits_of(const CompactOptions& options, bool attention, std::size_t taken, std::size_t least_kept) {
  const std::size_t aim = attention ? options.bytes_with_attention : options.bytes;
  return {.exact_bytes = rest_of(std::min(aim, options.exact_bytes), taken),
          .bytes = rest_of(aim, taken + kNoteBytes),
          .max_bytes = rest_of(std::max(aim, options.max_bytes), taken + kNoteBytes),
          .least_kept = least_kept,
          .small_bytes = options.small_bytes};
}

std::vector<CompactSource> sources_of(const Report& report) {
  std::vector<CompactSource> sources;
  internal::for_each_array(report, [&](const std::string& name, const auto& values, const ArrayPlace& place) {
    if (place.rows == ArrayPlace::Rows::kExact) return;
    if constexpr (!std::is_same_v<std::decay_t<decltype(values)>, Tensor<std::uint8_t>>) {
      if (values.empty()) return;
      const bool implied = name == "graph" && internal::graph_equals_raw_by_rule(report) && report.graph == report.raw;
      if (implied) return;
      const bool attention = name == "attention";
      sources.push_back({.name = name,
                         .rows = RowSource(values),
                         .sparse = attention || name == "graph" || name.starts_with("raw"),
                         .attention = attention,
                         .only_exact = name == "flow_gap"});
    }
  });
  return sources;
}

void add_exact_row(const Report& report, Method method, Entries& entries) {
  const MethodValues found = method_values(report, method);
  const std::optional<std::size_t> row = row_index(*found.output_tokens, report.output_token);
  if (!row || found.values->empty() || report.generation) return;
  const std::size_t layers = found.values->extent(0);
  const std::size_t n = found.values->extent(2);
  std::vector<float> values;
  for (std::size_t l = 0; l < layers; ++l) {
    for (std::size_t j = 0; j < n; ++j) values.push_back(static_cast<float>((*found.values)(l, *row, j)));
  }
  const Shape shape = {layers, n};
  entries.add(to_text(method) + "_exact", internal::encode_bytes("f32", std::as_bytes(std::span(values)), &shape));
}

// Dropped before anything else loses precision, as named in a note.
struct Expendable {
  const char* name;
  bool (*names)(std::string_view array);
};
constexpr std::array<Expendable, 4> kExpendable = {{
    {"attention", [](std::string_view array) { return array == "attention"; }},
    {"generated", [](std::string_view array) { return array.ends_with("_generated"); }},
    {"normalized", [](std::string_view array) { return array.ends_with("_normalized"); }},
    {"raw", [](std::string_view array) { return array == "raw"; }},
}};

// The first after `last` with content, or null. Raw attention is dropped only if a generation has rollout.
const Expendable* next_expendable(const Report& report, const std::vector<CompactSource>& sources,
                                  const Expendable* last) {
  const Expendable* next = last == nullptr ? kExpendable.data() : last + 1;
  const Expendable* const end =
      kExpendable.data() + kExpendable.size() - (report.generation && !report.rollout.empty() ? 0 : 1);
  for (; next < end; ++next) {
    if (std::any_of(sources.begin(), sources.end(), [&](const auto& source) { return next->names(source.name); })) {
      return next;
    }
  }
  return nullptr;
}

constexpr std::array<std::size_t, 8> kLeastKept = {16, 12, 8, 6, 4, 3, 2, 1};

struct LeftOut {
  std::vector<std::string> arrays;
  std::size_t layers_before = 0;
  std::size_t layers_after = 0;

  std::vector<Note> notes() const {
    if (arrays.empty() && layers_after == layers_before) return {};
    NoteValues values = {{"arrays", arrays}};
    if (layers_after < layers_before) {
      values.emplace("layers_left_out", layers_before - layers_after);
      values.emplace("layers", layers_before);
    }
    return {Note{NoteCode::kLeftOut, std::move(values)}};
  }
};

// Drops every other layer of raw, rollout and flow, never the last; flow may have its own layers.
void halve_layers(Report& report) {
  internal::for_each_array(report, [](const std::string&, auto& values, const ArrayPlace& place) {
    if (place.layers == nullptr || values.empty()) return;
    Shape shape = values.shape();
    const std::size_t size = values.size() / shape.front();
    const std::size_t first = 1 - shape.front() % 2;
    shape.front() = (shape.front() + 1) / 2;
    std::decay_t<decltype(values)> kept(shape);
    for (std::size_t l = 0; l < shape.front(); ++l) {
      std::copy_n(values.data() + (first + 2 * l) * size, size, kept.data() + l * size);
    }
    values = std::move(kept);
  });
  for (std::vector<std::size_t>* const layers : {&report.settings.layers, &report.flow_layers}) {
    std::vector<std::size_t> kept;
    for (std::size_t l = 1 - layers->size() % 2; l < layers->size(); l += 2) kept.push_back((*layers)[l]);
    *layers = std::move(kept);
  }
}

}  // namespace

std::string compact_report_json(const Report& report, const CompactOptions& options) {
  std::size_t taken = internal::report_head(report).size();
  for (const Method method : kAggregations) {
    Entries exact;
    add_exact_row(report, method, exact);
    taken += exact.text().size();
  }
  Entries exact_entries;
  exact_entries.add_exact(report);
  taken += exact_entries.text().size();

  const auto finished = [&](const Report& shown, const CompactArrays& arrays, const LeftOut& left_out) {
    Entries entries;
    for (const CompactEntry& entry : arrays.entries) {
      entries.add(entry.name, entry.array.json);
      for (const Method method : kAggregations) {
        const bool rounded = entry.name == to_text(method) && entry.encoding != CompactEncoding::kFloat32;
        if (rounded) add_exact_row(shown, method, entries);
      }
    }
    entries.add_exact(shown);
    std::vector<Note> notes = left_out.notes();
    for (Note& note : notes_on(arrays)) notes.push_back(std::move(note));
    const internal::HeadOptions head{
        .more_notes = std::move(notes), .option_names = options.option_names, .replacements = options.replacements};
    return internal::report_head(shown, head) + ",\n\"arrays\": {" + entries.text() + "}\n}\n";
  };

  std::vector<CompactSource> sources = sources_of(report);
  LeftOut left_out;
  const Expendable* next = next_expendable(report, sources, nullptr);
  for (;;) {
    const bool has_attention = std::any_of(sources.begin(), sources.end(), [](const auto& s) { return s.attention; });
    for (const std::size_t least : kLeastKept) {
      if (next != nullptr && least < kLeastBesideExpendable) break;
      if (const auto arrays = fit_arrays(sources, limits_of(options, has_attention, taken, least))) {
        return finished(report, *arrays, left_out);
      }
    }
    if (next == nullptr) break;
    left_out.arrays.emplace_back(next->name);
    std::erase_if(sources, [&](const CompactSource& source) { return next->names(source.name); });
    next = next_expendable(report, sources, next);
  }
  // Smaller in layers only; the graph needs all of them.
  Report smaller = report;
  internal::for_each_array(smaller, [&](const std::string& name, auto& values, const ArrayPlace& place) {
    const auto named = [&](const CompactSource& source) { return source.name == name; };
    const bool kept = name == "flow_degenerate" || place.rows == ArrayPlace::Rows::kExact ||
                      std::any_of(sources.begin(), sources.end(), named);
    if (!kept || name == "graph") values = {};
  });
  const std::size_t layers = report.settings.layers.size();
  for (;;) {
    if (smaller.settings.layers.size() > 1) halve_layers(smaller);
    const bool last = smaller.settings.layers.size() <= 1;
    CompactLimits limits = limits_of(options, false, taken, kLeastKept[0]);
    if (last) {
      // A single layer is written even if too large, with at least one value per row.
      limits.least_kept = 1;
      limits.max_bytes = std::numeric_limits<std::size_t>::max() / 2;
    }
    if (const auto arrays = fit_arrays(sources_of(smaller), limits)) {
      left_out.layers_before = layers;
      left_out.layers_after = smaller.settings.layers.size();
      return finished(smaller, *arrays, left_out);
    }
  }
}

}  // namespace attnflow
