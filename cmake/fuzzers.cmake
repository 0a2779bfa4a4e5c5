# Fuzzers of modules that are not part of the fuzzers' build: each with only the sources that it needs.

# attnflow_lone_fuzzer(<folder>/<name> SOURCES ... [LIBRARIES ...]): builds attnflow/<folder>/<name>_fuzz.cc with
# sources from that folder.
function(attnflow_lone_fuzzer path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  cmake_path(GET path PARENT_PATH folder)
  cmake_path(GET path FILENAME name)
  list(TRANSFORM arg_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/attnflow/${folder}/)
  add_executable(${name}_fuzz ${PROJECT_SOURCE_DIR}/attnflow/${path}_fuzz.cc ${arg_SOURCES})
  set_target_properties(${name}_fuzz PROPERTIES UNITY_BUILD ON)
  target_link_libraries(${name}_fuzz PRIVATE attnflow_core attnflow_flags ${arg_LIBRARIES} fmt::fmt
                                             nlohmann_json::nlohmann_json -fsanitize=fuzzer)
endfunction()

find_package(Boost 1.74 REQUIRED)
attnflow_lone_fuzzer(http/http SOURCES http_message.cc request_guard.cc LIBRARIES Boost::headers)
attnflow_lone_fuzzer(analysis/evaluate/csv SOURCES csv_reader.cc)
attnflow_lone_fuzzer(
  model/model_config SOURCES architecture.cc config_reader.cc decoder_families.cc encoder_decoder_families.cc
  encoder_families.cc hub_cache.cc image_info.cc lora.cc model_config.cc position_settings.cc rotary_settings.cc LIBRARIES attnflow_image attnflow_text)
