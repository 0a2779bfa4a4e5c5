#include "attnflow/model/position_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"

namespace attnflow {

namespace internal {

namespace {

using Json = nlohmann::json;

void refuse_windows(const ConfigReader& reader) {
  const std::vector<std::string> types = reader.texts("layer_types");
  const bool named = std::find(types.begin(), types.end(), "sliding_attention") != types.end();
  if (reader.find("sliding_window") == nullptr || (!named && !reader.flag_or("use_sliding_window", false))) return;
  reader.unsupported(
      "the model has layers with a sliding window, which is not supported for its model type; expected "
      "use_sliding_window false and no layer_types of \"sliding_attention\"");
}

// Reads GPT-Neo's local layers: one entry per layer in attention_layers, or patterns and counts in attention_types.
std::vector<bool> read_local_layers(const ConfigReader& reader, std::size_t layers) {
  constexpr std::string_view kLayers = "attention_layers";
  constexpr std::string_view kTypes = "attention_types";
  std::vector<bool> local;
  const auto add = [&](const Json& names) {
    for (const Json& name : names) {
      if (name != Json("local") && name != Json("global")) reader.wrong(kLayers, "\"global\" or \"local\"", name);
      local.push_back(name == Json("local"));
    }
  };
  if (const Json* const found = reader.find(kLayers); found != nullptr && found->is_array()) {
    add(*found);
  } else if (const Json* const types = reader.find(kTypes); types != nullptr && types->is_array()) {
    for (const Json& one : *types) {
      const bool good =
          one.is_array() && one.size() == 2 && one[0].is_array() && !one[0].empty() && one[1].is_number_unsigned();
      if (!good) reader.wrong(kTypes, "a list of [names, how often]", one);
      for (std::size_t k = 0; k < one[1].get<std::size_t>() && local.size() < layers; ++k) add(one[0]);
    }
  }
  if (local.size() != layers) {
    reader.wrong(kTypes, fmt::format("as many names as there are layers, {},", layers), local.size());
  }
  return local;
}

std::vector<bool> read_windowed_layers(const ConfigReader& reader, const Architecture& row, std::size_t layers) {
  if (row.window == WindowRule::kAll || row.window == WindowRule::kAllSwitched) return std::vector<bool>(layers, true);
  if (row.window == WindowRule::kNamed) return read_local_layers(reader, layers);
  const auto interval = [&] { return reader.size_or(row.keys.window_interval, row.window_interval); };
  std::vector<bool> windowed = reader.sliding_layers(layers);
  if (row.window == WindowRule::kAfterFirst) {
    const std::size_t every = interval();  // checked even if layer_types names the layers
    for (std::size_t layer = windowed.size(); layer < layers; ++layer) windowed.push_back(layer % every != 0);
  }
  if (!windowed.empty()) return windowed;
  if (row.window == WindowRule::kAllOrNamed) return std::vector<bool>(layers, true);
  if (row.window == WindowRule::kInterval) {
    const std::size_t every = interval();
    for (std::size_t layer = 1; layer <= layers; ++layer) windowed.push_back(layer % every != 0);
    return windowed;
  }
  constexpr std::size_t kUsualFirst = 28;
  const Json* first = reader.find("max_window_layers");
  if (first != nullptr && !first->is_number_unsigned()) reader.wrong("max_window_layers", "a whole number", *first);
  const std::size_t begin = first == nullptr ? kUsualFirst : first->get<std::size_t>();
  for (std::size_t layer = 0; layer < layers; ++layer) windowed.push_back(layer >= begin);
  return windowed;
}

std::size_t read_window(const ConfigReader& reader, const Architecture& row) {
  const ConfigKeys& keys = row.keys;
  if (!row.is_encoder()) {
    // Only here does null differ from absent: it means that there is no window.
    return reader.object().contains(keys.window) ? reader.size_or(keys.window, 0) : row.window_size;
  }
  const std::size_t stated = reader.size_or(keys.window, row.window_size);
  const bool is_halved = reader.find(keys.half_window) != nullptr;
  return (is_halved ? reader.count_or(keys.half_window, 0, kMaxConfigSize / 2) : stated / 2) + 1;
}

// Positions from the padding token's id + 1 on must exist, or no token fits.
void read_padding(const ConfigReader& reader, ModelConfig& config) {
  constexpr std::int64_t kDefaultPadding = 1;  // RoBERTa's
  const std::string_view key = config.architecture->keys.padding_id;
  const Json* const value = reader.find(key);
  std::int64_t padding = config.architecture->padding_id.value_or(kDefaultPadding);
  if (value != nullptr) {
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() >= config.positions - 1) {
      reader.wrong(key, fmt::format("a token id below max_position_embeddings - 1 = {}", config.positions - 1), *value);
    }
    padding = value->get<std::int64_t>();
  } else if (config.positions < 3) {
    reader.wrong("max_position_embeddings", "at least 3 (two positions are reserved)", config.positions);
  }
  config.padding_id = padding;
  config.position_offset = static_cast<std::size_t>(padding) + 1;
  config.positions -= config.position_offset;
}

std::vector<bool> read_rotary_layers(const ConfigReader& reader, const ModelConfig& config) {
  const ConfigKeys& keys = config.architecture->keys;
  const std::size_t layers = config.layers;
  std::vector<bool> turned(layers, true);
  if (config.architecture->rotary_in_windows) {
    for (std::size_t layer = 0; layer < layers; ++layer) turned[layer] = config.windows[layer] != 0;
  }
  if (keys.rotary_layers.empty()) return turned;
  const Json* const found = reader.find(keys.rotary_layers);
  if (found == nullptr) {
    constexpr std::size_t kUsualInterval = 4;
    const std::size_t interval = reader.size_or(keys.rotary_interval, kUsualInterval);
    for (std::size_t layer = interval; layer <= layers; layer += interval) turned[layer - 1] = false;
    return turned;
  }
  const bool is_list =
      found->is_array() && found->size() >= layers &&
      std::all_of(found->begin(), found->end(), [](const Json& one) { return one == Json(0) || one == Json(1); });
  if (!is_list) reader.wrong(keys.rotary_layers, fmt::format("at least {} numbers, each 0 or 1,", layers), *found);
  for (std::size_t layer = 0; layer < layers; ++layer) turned[layer] = (*found)[layer] == Json(1);
  return turned;
}

void check_distance_terms(const ConfigReader& reader) {
  constexpr std::string_view kKey = "pos_att_type";
  const Json* const value = reader.find(kKey);
  if (value == nullptr) reader.damaged("the key \"{}\" is missing", kKey);
  const bool both =
      *value == "p2c|c2p" || *value == "c2p|p2c" || *value == Json({"p2c", "c2p"}) || *value == Json({"c2p", "p2c"});
  if (both) return;
  reader.unsupported("{} is {}; supported is \"c2p|p2c\"", kKey, show_json(*value));
}

// Returns nothing unless the number is above 0: -1 stands for the default.
std::optional<std::size_t> read_if_positive(const ConfigReader& reader, std::string_view key) {
  constexpr std::size_t kMaxDistances = std::size_t{1} << 20;
  const Json* const value = reader.find(key);
  const bool is_unset = value == nullptr || *value == 0 || (value->is_number_integer() && !value->is_number_unsigned());
  if (is_unset) return std::nullopt;
  return reader.size(key, kMaxDistances);
}

void read_distances(const ConfigReader& reader, const DistanceNames& names, ModelConfig& config) {
  check_distance_terms(reader);
  const std::size_t embedding = reader.size_or("embedding_size", config.hidden);
  const std::size_t width = reader.size_or("attention_head_size", config.head_width);
  if (embedding != config.hidden || width != config.head_width) {
    reader.unsupported("embedding_size is {} and attention_head_size {}; supported are {} and {}", embedding, width,
                       config.hidden, config.head_width);
  }
  config.distance_maps =
      !names.key.empty() && (names.shared.empty() || !reader.flag_or(names.shared, /*fallback=*/false));
  config.distance_norm = !names.norm.empty();
  if (!names.norm_setting.empty()) {
    const std::string norm = reader.text_or(names.norm_setting, "none");
    config.distance_norm = norm == "layer_norm";
    if (norm != "layer_norm" && norm != "none") {
      reader.unsupported("{} is {}; supported are \"layer_norm\" and \"none\"", names.norm_setting, quote_name(norm));
    }
  }
  config.distances.farthest = read_if_positive(reader, names.farthest).value_or(config.positions);
  const std::optional<std::size_t> buckets = read_if_positive(reader, names.buckets);
  config.distances.grow = buckets.has_value();
  config.distances.span = buckets.value_or(config.distances.farthest);
  const std::size_t exact = config.distances.span / 2;
  if (config.distances.grow && (exact < 1 || config.distances.farthest <= exact + 1)) {
    reader.damaged(
        "expected {} of at least 2 and {} (else max_position_embeddings) above half of it and 1, found "
        "{} and {}",
        names.buckets, names.farthest, config.distances.span, config.distances.farthest);
  }
}

DistanceBuckets read_buckets(const ConfigReader& reader, const ConfigKeys& keys) {
  DistanceBuckets buckets;
  buckets.count = reader.size_or(keys.buckets, buckets.count);
  if (keys.farthest_bucket.empty()) {
    if (buckets.count == kDistanceBuckets) return buckets;
    reader.unsupported("{} is {}; supported is {}, which distances are put into", keys.buckets, buckets.count,
                       kDistanceBuckets);
  }
  buckets.farthest = reader.size_or(keys.farthest_bucket, buckets.farthest);
  constexpr std::size_t kFewest = 4;
  if (buckets.count < kFewest || buckets.count % kFewest != 0 || buckets.farthest <= buckets.count / 2) {
    reader.damaged("expected {} to be a multiple of {} below twice {}, found {} and {}", keys.buckets, kFewest,
                   keys.farthest_bucket, buckets.count, buckets.farthest);
  }
  return buckets;
}

}  // namespace

void read_windows(const ConfigReader& reader, ModelConfig& config) {
  const Architecture& row = *config.architecture;
  config.windows.assign(config.layers, 0);
  if (row.window == WindowRule::kNone) {
    if (!row.is_encoder()) refuse_windows(reader);
    return;
  }
  if (is_switched(row.window) && !reader.flag_or("use_sliding_window", false)) return;
  const std::size_t window = read_window(reader, row);
  const std::vector<bool> windowed = read_windowed_layers(reader, row, config.layers);
  for (std::size_t layer = 0; layer < config.layers; ++layer) config.windows[layer] = windowed[layer] ? window : 0;
}

void read_positions(const ConfigReader& reader, ModelConfig& config) {
  const Architecture& row = *config.architecture;
  const ConfigKeys& keys = row.keys;
  config.position_kind = reader.flag_or(keys.alibi, false)           ? PositionKind::kAlibi
                         : reader.flag_or(keys.position_input, true) ? row.positions
                                                                     : PositionKind::kNone;
  if (!row.image) {
    config.positions =
        row.position_limit == 0 ? reader.size(keys.positions) : reader.size_or(keys.positions, row.position_limit);
  }
  config.position_offset = row.position_offset;
  if (row.is_encoder() && row.skips_padding()) {
    read_padding(reader, config);
  } else if (const Json* const id = reader.find(keys.padding_id)) {
    config.position_offset = reader.token_id(keys.padding_id, *id, config.vocabulary) + 1;
  }
  config.rotary_layers = read_rotary_layers(reader, config);
  if (config.position_kind == PositionKind::kRotary) read_rotary(reader, config);
  if (row.distances) read_distances(reader, *row.distances, config);
  if (!row.names.distance.empty()) config.buckets = read_buckets(reader, keys);
}

}  // namespace internal

std::vector<float> alibi_slopes(std::size_t heads) {
  std::size_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<float> slopes;
  const double step = -8.0 / static_cast<double>(power);
  for (std::size_t h = 1; h <= power; ++h)
    slopes.push_back(static_cast<float>(std::exp2(step * static_cast<double>(h))));
  for (std::size_t h = 1; slopes.size() < heads; h += 2) {
    slopes.push_back(static_cast<float>(std::exp2(step / 2.0 * static_cast<double>(h))));
  }
  return slopes;
}

}  // namespace attnflow
