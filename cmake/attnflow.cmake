# Functions used by the build. A module is a folder attnflow/<name>/; its sources are *.cc, its tests *_test.cc and its
# benchmarks *_benchmark.cc, all in the same folder, so adding a file needs no change here.

# attnflow_libraries(): finds the libraries of the core. All missing ones are reported at once, by their Debian
# packages, because users who build the Python package may be unaware that it needs C++ libraries.
macro(attnflow_libraries)
  find_package(PkgConfig REQUIRED)
  find_package(Threads REQUIRED)
  set(missing "")
  foreach(package fmt:libfmt-dev nlohmann_json:nlohmann-json3-dev)
    string(REPLACE ":" ";" package ${package})
    list(GET package 0 name)
    find_package(${name} QUIET)
    if(NOT ${name}_FOUND)
      list(APPEND missing ${package})
    endif()
  endforeach()
  foreach(package libzip:libzip:libzip-dev hwy:libhwy:libhwy-dev zlib:zlib:zlib1g-dev utf8proc:libutf8proc:libutf8proc-dev)
    string(REPLACE ":" ";" package ${package})
    list(GET package 0 name)
    list(GET package 1 module)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${module})
    if(NOT ${name}_FOUND)
      list(APPEND missing ${package})
    endif()
  endforeach()
  if(missing)
    list(FILTER missing INCLUDE REGEX "-dev$")
    string(REPLACE ";" " " missing "${missing}")
    message(FATAL_ERROR "expected C++ libraries with their headers, found none of these: ${missing} (the names of their "
                        "Debian packages). On Debian: apt-get install ${missing}")
  endif()
endmacro()

function(attnflow_dependencies)
  attnflow_libraries()
  if(ATTNFLOW_TESTS)
    find_package(GTest REQUIRED)
    find_library(ATTNFLOW_RAPIDCHECK rapidcheck REQUIRED)
  endif()

  find_program(ATTNFLOW_CCACHE ccache)
  if(ATTNFLOW_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${ATTNFLOW_CCACHE}) # the core, which is made here
    set(CMAKE_CXX_COMPILER_LAUNCHER ${ATTNFLOW_CCACHE} PARENT_SCOPE)
  endif()

  # Flags for our own targets, not for projects that include us.
  add_library(attnflow_flags INTERFACE)
  target_compile_options(attnflow_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
                                                  -Woverloaded-virtual -ffp-contract=off -pthread)
  # Functions that are never called are left out of programs and backends.
  target_compile_options(attnflow_flags INTERFACE -ffunction-sections -fdata-sections)
  target_link_options(attnflow_flags INTERFACE LINKER:--gc-sections)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # False alarms on std::string's operator+ (GCC bug 105651).
    target_compile_options(attnflow_flags INTERFACE -Wno-restrict)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # g++ does not include it in -Wconversion for C++ either.
    target_compile_options(attnflow_flags INTERFACE -Wno-sign-conversion)
  endif()
  if(ATTNFLOW_WERROR)
    target_compile_options(attnflow_flags INTERFACE -Werror)
  endif()
  if(ATTNFLOW_SANITIZE)
    # Everything that is linked together must agree, so these are global.
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # Function types differ between a program and the objects it opens with RTLD_LOCAL, such as its backends.
      add_compile_options(-fno-sanitize=function)
    endif()
    add_link_options(-fsanitize=address,undefined)
  endif()
  if(ATTNFLOW_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      message(FATAL_ERROR "ATTNFLOW_FUZZ needs clang (libFuzzer); the compiler is ${CMAKE_CXX_COMPILER_ID}. "
                          "Use the preset: cmake --preset fuzz")
    endif()
    # Coverage instrumentation for everything; the fuzzer's own main() only for the fuzzers.
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()

  configure_file(attnflow/base/version.h.in ${PROJECT_BINARY_DIR}/generated/attnflow/base/version.h @ONLY)
  attnflow_figures()
  attnflow_tables()

  add_library(attnflow_core STATIC)
  add_library(attnflow::core ALIAS attnflow_core)
  set_target_properties(attnflow_core PROPERTIES EXPORT_NAME core)
  target_compile_features(attnflow_core PUBLIC cxx_std_20)
  target_include_directories(
    attnflow_core PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
                         $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(
    attnflow_core
    PUBLIC Threads::Threads
    PRIVATE $<BUILD_INTERFACE:attnflow_flags> fmt::fmt $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> PkgConfig::libzip
            PkgConfig::hwy PkgConfig::zlib PkgConfig::utf8proc)
  attnflow_compile(attnflow_core PRECOMPILED)
  set_target_properties(attnflow_core PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# The settings that determine build time (docs/building.md has the measurements).
#
# Optimization. A release compiles the sources with hot loops at -O3 and all others, which call libraries and write
# text, at -O1, which takes two thirds of the time. The sanitizers' build optimizes only the hot sources, at -O2: clang
# inlines nothing at -O1.
# Regular expressions over paths below attnflow/.
set(ATTNFLOW_HOT_SOURCES
    "^(tensor|graph|rollout|flow|metrics)/" "^files/array" "^model/(llama/|gguf_(blocks|tensor_reader))"
    "^image/(image_processor|overlay|picture|resample_filter|resize)\\.")

# Also optimized in the sanitizers' build, because tests would otherwise spend minutes there: sources, and for some
# modules all tests and the parts built as separate libraries.
set(ATTNFLOW_SLOW_SOURCES "^report/compact_" "^unicode/unicode_test\\." "^graph/contribution_mixing_test\\.")
set(ATTNFLOW_SLOW_MODULES flow draw)

# Batches. Reading the standard library, fmt and JSON takes longer than compiling the content of most files, so the cold
# sources of a module are compiled several at a time, as if they were one file, and those headers are precompiled. Names
# at the top of a file must therefore be unique within a module. Every file still includes what it uses: clang-tidy
# compiles each file separately. 0: no batches.
set(ATTNFLOW_BATCH 8 CACHE STRING "Source files that are compiled at a time; 0: each alone")
set(ATTNFLOW_TEST_BATCH 4) # more would leave one processor waiting for the last batch of another

# Options for compiling cold sources. At -O1, g++ sees less of the standard library's code than at -O3 and reports false
# errors in the rest (GCC bugs 105329 and 80635); the hot sources and clang-tidy keep these warnings.
set(ATTNFLOW_COLD_OPTIONS
    "$<$<CONFIG:Release>:-O1;$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-maybe-uninitialized;-Wno-stringop-overflow>>")

# attnflow_precompile(<target> <owner> <header> [OPTIONS ...] [LIBRARIES ...]): compiles the target with a precompiled
# header that belongs to the separate target <owner>, which is built like a library or program, depending on the first
# target that uses it.
function(attnflow_precompile target owner header)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "OPTIONS;LIBRARIES")
  if(ATTNFLOW_BATCH EQUAL 0 OR NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
    return()
  endif()
  # Needed for ccache to look into precompiled headers, in addition to the sloppiness set by ./dev.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(looked_into -fpch-preprocess)
  else()
    set(looked_into "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  if(NOT TARGET ${owner})
    set(source ${PROJECT_BINARY_DIR}/generated/${owner}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "// A precompiled header belongs to a target, and a target has a source.\n")
    add_library(${owner} OBJECT ${source})
    target_compile_options(${owner} PRIVATE ${arg_OPTIONS} ${looked_into})
    target_link_libraries(${owner} PRIVATE attnflow_flags fmt::fmt nlohmann_json::nlohmann_json ${arg_LIBRARIES})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${owner} PRIVATE -fPIE)
    endif()
    target_precompile_headers(${owner} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/${header})
  endif()
  target_compile_options(${target} PRIVATE ${looked_into})
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# attnflow_compile(<target> [PRECOMPILED]): compiles the target's sources as cold ones, in batches. PRECOMPILED: for a
# library that needs no macros other than fmt's.
function(attnflow_compile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PRECOMPILED" "" "")
  target_compile_options(${target} PRIVATE ${ATTNFLOW_COLD_OPTIONS})
  if(ATTNFLOW_BATCH GREATER 0)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ATTNFLOW_BATCH})
  endif()
  if(arg_PRECOMPILED)
    attnflow_precompile(${target} attnflow_precompiled precompiled.h OPTIONS ${ATTNFLOW_COLD_OPTIONS})
  endif()
endfunction()

# attnflow_batch_module(<module> <source>...): puts the module's cold sources into batches of their own. A batch with
# sources of two modules would link one into the tests of the other, which would run again after any change to it.
function(attnflow_batch_module module)
  set(count 0)
  foreach(source ${ARGN})
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(NOT alone AND ATTNFLOW_BATCH GREATER 0)
      math(EXPR batch "${count} / ${ATTNFLOW_BATCH}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${module}_${batch})
      math(EXPR count "${count} + 1")
    endif()
  endforeach()
endfunction()

# attnflow_compile_tests(<target>): compiles a test program in small batches (each file has its own namespace, because
# the tests of a module use the same names for different things), with the headers common to all tests precompiled.
# Most tests spend their time in the library, so optimizing the tests themselves would only cost build time.
set(ATTNFLOW_SLOW_TESTS flow graph unicode) # those that compute expected values themselves
function(attnflow_compile_tests target)
  string(REGEX REPLACE "_test$" "" module ${target})
  if(module IN_LIST ATTNFLOW_SLOW_TESTS)
    target_compile_options(${target} PRIVATE ${ATTNFLOW_COLD_OPTIONS})
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  endif()
  if(ATTNFLOW_BATCH GREATER 0)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ATTNFLOW_TEST_BATCH})
  endif()
  attnflow_precompile(${target} attnflow_precompiled_for_tests precompiled_for_tests.h OPTIONS $<$<CONFIG:Release>:-O0>
                      LIBRARIES GTest::gtest)
endfunction()

# attnflow_optimise(<patterns> <options> <source>...): compiles the sources whose path below attnflow/ matches one of
# the patterns separately, with the options. Source properties apply in the folder that sets them, so this is called
# where the target is made.
function(attnflow_optimise patterns options)
  foreach(source ${ARGN})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/attnflow ${source})
    foreach(pattern ${patterns})
      if(path MATCHES "${pattern}")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_UNITY_BUILD_INCLUSION ON
                                                         SKIP_PRECOMPILE_HEADERS ON)
        break()
      endif()
    endforeach()
  endforeach()
endfunction()

# attnflow_hot_sources(<source>...): optimizes the hot ones among them.
function(attnflow_hot_sources)
  attnflow_optimise("${ATTNFLOW_HOT_SOURCES}" "$<$<CONFIG:Release>:-O3>;$<$<BOOL:${ATTNFLOW_SANITIZE}>:-O2>" ${ARGN})
endfunction()

# attnflow_slow_sources(<source>...): optimizes those that are slow under the sanitizers.
function(attnflow_slow_sources)
  if(ATTNFLOW_SANITIZE)
    attnflow_optimise("${ATTNFLOW_SLOW_SOURCES}" -O2 ${ARGN})
  endif()
endfunction()

# attnflow_slow_module(<module> <target>): likewise for all sources of a target of such a module.
function(attnflow_slow_module module target)
  if(ATTNFLOW_SANITIZE AND module IN_LIST ATTNFLOW_SLOW_MODULES)
    target_compile_options(${target} PRIVATE -O2)
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# Folders of a module that are not separate libraries.
set(ATTNFLOW_ROOMS_analysis check evaluate generate image methods tasks text)

# attnflow_glob(<module> <pattern> <out>): files of a module, including the folders above.
function(attnflow_glob module pattern out)
  set(patterns ${PROJECT_SOURCE_DIR}/attnflow/${module}/${pattern})
  foreach(room ${ATTNFLOW_ROOMS_${module}})
    list(APPEND patterns ${PROJECT_SOURCE_DIR}/attnflow/${module}/${room}/${pattern})
  endforeach()
  file(GLOB found CONFIGURE_DEPENDS ${patterns})
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# attnflow_sources(<module> <out>): the module's sources without tests, benchmarks and fuzzers.
function(attnflow_sources module out)
  attnflow_glob(${module} *.cc sources)
  list(FILTER sources EXCLUDE REGEX "_(test|benchmark|fuzz)\\.cc$")
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# attnflow_tests(<module> [FOLDER ...] [LABELS ...] [LIBRARIES ...]): one test program from all of the module's
# *_test.cc, which are in <folder> (a pattern) if the module is not a folder of attnflow/.
function(attnflow_tests module)
  if(NOT ATTNFLOW_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "LABELS;LIBRARIES")
  string(REPLACE "/" "_" target ${module})
  if(arg_FOLDER)
    file(GLOB tests CONFIGURE_DEPENDS ${arg_FOLDER}/*_test.cc)
  else()
    attnflow_glob(${module} *_test.cc tests)
  endif()
  if(NOT tests)
    return()
  endif()
  attnflow_slow_sources(${tests})
  add_executable(${target}_test ${tests})
  target_link_libraries(${target}_test PRIVATE attnflow_core attnflow_flags ${arg_LIBRARIES} GTest::gtest_main
                                               ${ATTNFLOW_RAPIDCHECK} fmt::fmt nlohmann_json::nlohmann_json)
  attnflow_compile_tests(${target}_test)
  attnflow_slow_module(${module} ${target}_test)
  target_compile_definitions(${target}_test PRIVATE ATTNFLOW_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                                    ATTNFLOW_BINARY_DIR="${PROJECT_BINARY_DIR}")
  add_test(NAME ${target} COMMAND ${target}_test)
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  set_tests_properties(${target} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 900)
endfunction()

# attnflow_benchmarks(<module> [LIBRARIES ...]): one program from all of the module's *_benchmark.cc.
function(attnflow_benchmarks module)
  if(NOT ATTNFLOW_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  file(GLOB benchmarks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/attnflow/${module}/*_benchmark.cc)
  if(benchmarks)
    add_executable(${module}_benchmark ${benchmarks})
    target_link_libraries(${module}_benchmark PRIVATE attnflow_core attnflow_flags ${arg_LIBRARIES} fmt::fmt)
  endif()
endfunction()

# attnflow_fuzzers(<module> [LIBRARIES ...]): one program from each of the module's *_fuzz.cc, placed where ./dev fuzz
# looks.
function(attnflow_fuzzers module)
  if(NOT ATTNFLOW_FUZZ)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  file(GLOB fuzzers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/attnflow/${module}/*_fuzz.cc)
  foreach(source ${fuzzers})
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE attnflow_core attnflow_flags ${arg_LIBRARIES} fmt::fmt
                                          nlohmann_json::nlohmann_json -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  endforeach()
endfunction()

# attnflow_core_module(<module>): a folder whose sources go into the core library.
function(attnflow_core_module module)
  attnflow_sources(${module} sources)
  attnflow_hot_sources(${sources})
  attnflow_slow_sources(${sources})
  target_sources(attnflow_core PRIVATE ${sources})
  attnflow_batch_module(${module} ${sources})
  attnflow_tests(${module})
  attnflow_benchmarks(${module})
  attnflow_fuzzers(${module})
endfunction()

# attnflow_module(<module> LIBRARIES ... WITHOUT ...): a folder that becomes the static library attnflow_<module>,
# without the sources that form separate libraries.
function(attnflow_module module)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES;PRIVATE_LIBRARIES;TEST_LABELS;WITHOUT")
  attnflow_sources(${module} sources)
  foreach(name ${arg_WITHOUT})
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/attnflow/${module}/${name})
  endforeach()
  attnflow_hot_sources(${sources})
  add_library(attnflow_${module} STATIC ${sources})
  target_link_libraries(
    attnflow_${module}
    PUBLIC attnflow_core ${arg_LIBRARIES}
    PRIVATE attnflow_flags ${arg_PRIVATE_LIBRARIES} fmt::fmt nlohmann_json::nlohmann_json)
  attnflow_compile(attnflow_${module} PRECOMPILED)
  attnflow_slow_module(${module} attnflow_${module})
  attnflow_tests(${module} LIBRARIES attnflow_${module} LABELS ${arg_TEST_LABELS})
  attnflow_benchmarks(${module} LIBRARIES attnflow_${module})
  attnflow_fuzzers(${module} LIBRARIES attnflow_${module})
endfunction()

# attnflow_public_headers(<module> <out>): the module's public headers: neither test helpers nor headers of the
# namespace attnflow::internal.
function(attnflow_public_headers module out)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/attnflow/${module}/*.h)
  list(FILTER headers EXCLUDE REGEX "_for_test\\.h$")
  foreach(header ${headers})
    file(STRINGS ${header} internal REGEX "^namespace (attnflow::)?internal")
    if(NOT internal)
      list(APPEND public ${header})
    endif()
  endforeach()
  set(${out} ${public} PARENT_SCOPE)
endfunction()

# attnflow_install_stripped(<target> <folder> <component>): installs a program or backend, if it was built, without
# debug symbols: they make up a quarter of it, and the copy in the build folder keeps them. The component is the package
# that it belongs to (cmake/package.cmake).
function(attnflow_install_stripped target folder component)
  install(
    TARGETS ${target}
    RUNTIME DESTINATION ${folder} COMPONENT ${component} OPTIONAL
    LIBRARY DESTINATION ${folder} COMPONENT ${component} OPTIONAL)
  if(CMAKE_STRIP)
    set(installed "\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}/$<TARGET_FILE_NAME:${target}>")
    install(CODE "if(EXISTS \"${installed}\")
      execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded \"${installed}\" COMMAND_ERROR_IS_FATAL ANY)
    endif()" COMPONENT ${component})
  endif()
endfunction()

function(attnflow_install)
  include(CMakePackageConfigHelpers)
  install(TARGETS attnflow_core EXPORT attnflow-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  foreach(module base unicode tensor files graph rollout flow metrics attribution report)
    attnflow_public_headers(${module} headers)
    install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/attnflow/${module})
  endforeach()
  foreach(header base/version.h attribution/mixing_names.h)
    cmake_path(GET header PARENT_PATH module)
    install(FILES ${PROJECT_BINARY_DIR}/generated/attnflow/${header}
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/attnflow/${module})
  endforeach()
  install(
    EXPORT attnflow-targets
    NAMESPACE attnflow::
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attnflow)
  configure_package_config_file(cmake/attnflow-config.cmake.in ${PROJECT_BINARY_DIR}/attnflow-config.cmake
                                INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attnflow)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/attnflow-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/attnflow-config.cmake ${PROJECT_BINARY_DIR}/attnflow-config-version.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attnflow)
endfunction()
