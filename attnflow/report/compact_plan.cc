#include "attnflow/report/compact_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace attnflow::internal {
namespace {

constexpr std::size_t kSampleValues = std::size_t{1} << 18;
constexpr std::size_t kSampleRows = 192;  // at least, when rows are long
constexpr double kNothingMore = 2.0;      // no value is that share of its row
constexpr double kFull = 0.94;            // of the room suffices
constexpr double kSampleTrust = 0.98;     // of the room; estimates may waste the rest

enum class Stage { kExact, kLogAttention, kLog, kTopAttention, kTopSparse, kTop };
constexpr std::array<Stage, 6> kStages = {Stage::kExact,        Stage::kLogAttention, Stage::kLog,
                                          Stage::kTopAttention, Stage::kTopSparse,    Stage::kTop};

std::size_t values_in(const CompactSource& source) { return source.rows.rows() * source.rows.row_length(); }

CompactEncoding encoding_at(Stage stage, const CompactSource& source, const CompactLimits& limits) {
  if (stage == Stage::kExact || values_in(source) * sizeof(float) <= limits.small_bytes)
    return CompactEncoding::kFloat32;
  if (source.attention) return stage <= Stage::kLog ? CompactEncoding::kLog8 : CompactEncoding::kTop;
  if (stage == Stage::kLogAttention) return CompactEncoding::kFloat32;
  const bool top = stage == Stage::kTop || (stage == Stage::kTopSparse && source.sparse);
  return top ? CompactEncoding::kTop : CompactEncoding::kLog8;
}

// Estimates bytes from a sample of rows.
double estimate(const CompactSource& source, CompactEncoding encoding, const TopRule& rule) {
  const std::size_t rows = source.rows.rows();
  const std::size_t wanted = std::max(kSampleRows, kSampleValues / source.rows.row_length());
  RowSample sample{.every = std::max<std::size_t>(1, rows / wanted)};
  while (sample.taken_of(rows) == 0) sample.every /= 2;
  const auto bytes = static_cast<double>(encode_array(source.rows, encoding, rule, sample).json.size());
  return bytes * static_cast<double>(rows) / static_cast<double>(sample.taken_of(rows));
}

struct Member {
  const CompactSource* source;
  CompactEncoding encoding;
};

class Fit {
 public:
  Fit(const std::vector<CompactSource>& sources, const CompactLimits& limits) : sources_(sources), limits_(limits) {}

  std::optional<CompactArrays> at(Stage stage, bool tight) {
    split(stage);
    const auto room = static_cast<double>(tight                    ? limits_.max_bytes
                                          : stage == Stage::kExact ? limits_.exact_bytes
                                                                   : limits_.bytes);
    double fixed = 0.0;
    for (const Member& member : plain_) {
      // Skips encoding what cannot fit; a sample may be off by a few percent.
      const bool large = values_in(*member.source) > kSampleValues;
      if (large && fixed + estimate(*member.source, member.encoding, {}) > room / kSampleTrust) return std::nullopt;
      fixed += static_cast<double>(plain(member).json.size());
      if (fixed > room) return std::nullopt;
    }
    share_of_methods_ = share_of_attention_ = kNothingMore;
    if (methods_.empty() && attention_.empty()) return measured(stage, room);

    const double method_floor = total(methods_, kNothingMore);
    const double attention_floor = total(attention_, kNothingMore);
    double left = room - fixed - method_floor - attention_floor;
    if (tight) return left < -room * (1.0 - kSampleTrust) ? std::nullopt : measured(stage, room);
    if (left < 0.0) return std::nullopt;
    // Useful only if the sparse arrays keep more than their largest values.
    if (stage == Stage::kTopSparse && left < method_floor) return std::nullopt;
    std::optional<CompactArrays> best;
    for (int attempt = 0; attempt < 3; ++attempt) {
      // Other arrays precede attention because they explain it.
      constexpr double kMethodPart = 0.75;
      double used = method_floor;
      double used_by_attention = attention_floor;
      share_of_methods_ = largest_share(methods_, method_floor + left * (attention_.empty() ? 1.0 : kMethodPart), used);
      share_of_attention_ =
          largest_share(attention_, attention_floor + left - (used - method_floor), used_by_attention);
      if (auto arrays = measured(stage, room)) best = std::move(arrays);
      if (best && measured_bytes_ > kFull * room && measured_bytes_ <= room) break;
      left += kSampleTrust * room - measured_bytes_;
      if (left < 0.0) break;
    }
    if (best) return best;
    share_of_methods_ = share_of_attention_ = kNothingMore;
    return measured(stage, room);
  }

 private:
  void split(Stage stage) {
    plain_.clear();
    methods_.clear();
    attention_.clear();
    for (const CompactSource& source : sources_) {
      const CompactEncoding encoding = encoding_at(stage, source, limits_);
      if (left_out(source, encoding)) continue;
      std::vector<Member>& group = encoding != CompactEncoding::kTop ? plain_
                                   : source.attention                ? attention_
                                                                     : methods_;
      group.push_back({&source, encoding});
    }
  }

  static bool left_out(const CompactSource& source, CompactEncoding encoding) {
    return source.only_exact && encoding != CompactEncoding::kFloat32;
  }

  TopRule rule(double share) const { return {.share = share, .least = limits_.least_kept}; }

  double total(const std::vector<Member>& members, double share) const {
    double bytes = 0.0;
    for (const Member& member : members) bytes += estimate(*member.source, member.encoding, rule(share));
    return bytes;
  }

  // Finds the smallest threshold that fits into `room`; sets `used` to the bytes taken.
  double largest_share(const std::vector<Member>& members, double room, double& used) const {
    if (members.empty()) return kNothingMore;
    double low = std::log(1e-6);
    double high = std::log(kNothingMore);
    constexpr int kHalvings = 10;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2.0;
      const double bytes = total(members, std::exp(middle));
      if (bytes <= room) {
        high = middle;
        used = bytes;
      } else {
        low = middle;
      }
    }
    return std::exp(high);
  }

  // Encodes all rows; returns nothing, with measured_bytes_ set, if they exceed `room`.
  std::optional<CompactArrays> measured(Stage stage, double room) {
    CompactArrays arrays;
    measured_bytes_ = 0.0;
    for (const CompactSource& source : sources_) {
      const CompactEncoding encoding = encoding_at(stage, source, limits_);
      if (left_out(source, encoding)) {
        arrays.left_out.push_back(source.name);
        continue;
      }
      const TopRule kept = rule(source.attention ? share_of_attention_ : share_of_methods_);
      CompactEntry& entry = arrays.entries.emplace_back();
      entry.name = source.name;
      entry.encoding = encoding;
      entry.array =
          encoding == CompactEncoding::kTop ? encode_array(source.rows, encoding, kept) : plain({&source, encoding});
      measured_bytes_ += static_cast<double>(entry.array.json.size());
    }
    if (measured_bytes_ > room) return std::nullopt;
    return arrays;
  }

  const CompactArray& plain(const Member& member) {
    const auto key = std::pair(member.source, member.encoding);
    const auto found = encoded_.find(key);
    if (found != encoded_.end()) return found->second;
    return encoded_.emplace(key, encode_array(member.source->rows, member.encoding, {})).first->second;
  }

  const std::vector<CompactSource>& sources_;
  std::map<std::pair<const CompactSource*, CompactEncoding>, CompactArray> encoded_;
  CompactLimits limits_;
  std::vector<Member> plain_;      // members of the stage with all values,
  std::vector<Member> methods_;    // with some,
  std::vector<Member> attention_;  // and attention with some
  double share_of_methods_ = kNothingMore;
  double share_of_attention_ = kNothingMore;
  double measured_bytes_ = 0.0;
};

}  // namespace

std::optional<CompactArrays> fit_arrays(const std::vector<CompactSource>& sources, const CompactLimits& limits) {
  Fit fit(sources, limits);
  std::vector<CompactEncoding> tried;
  for (const Stage stage : kStages) {
    // Skip a stage that changes nothing, such as without attention.
    std::vector<CompactEncoding> encodings;
    for (const CompactSource& source : sources) encodings.push_back(encoding_at(stage, source, limits));
    if (stage != Stage::kExact && encodings == tried) continue;
    tried = std::move(encodings);
    if (auto arrays = fit.at(stage, /*tight=*/false)) return arrays;
  }
  return fit.at(Stage::kTop, /*tight=*/true);
}

}  // namespace attnflow::internal
