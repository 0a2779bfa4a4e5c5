# The fuzzers of the file readers, for clang's libFuzzer. Not part of the everyday build:
# include() this file in a build whose compiler is clang and call attnflow_file_fuzzers(), which makes the programs
# npy_fuzz, npz_fuzz and safetensors_fuzz. Run one as
#
#   ./npy_fuzz -max_total_time=60 -max_len=4096 CORPUS_FOLDER
#
# Each is built from the sources of attnflow/files alone, with coverage and sanitizers, so that the rest of the build
# needs no special flags.
function(attnflow_file_fuzzers)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "the fuzzers need clang (CMAKE_CXX_COMPILER=clang++)")
  endif()
  attnflow_sources(files sources)
  set(flags -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -g1)
  foreach(format npy npz safetensors)
    add_executable(${format}_fuzz ${PROJECT_SOURCE_DIR}/attnflow/files/${format}_fuzz.cc ${sources})
    target_compile_options(${format}_fuzz PRIVATE ${flags})
    target_link_options(${format}_fuzz PRIVATE ${flags})
    target_include_directories(${format}_fuzz PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${format}_fuzz PRIVATE attnflow_flags fmt::fmt nlohmann_json::nlohmann_json
                                                 PkgConfig::libzip Threads::Threads)
  endforeach()
endfunction()
