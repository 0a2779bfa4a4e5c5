# Rust crates as static libraries, built by cargo into the build folder.

# attnflow_find_cargo(<minimum version> <out cargo> <out rustc>): finds the first cargo whose compiler is new enough,
# with that compiler. Debian 12's default rustc is too old; its packages cargo-web and rustc-web install a newer one as
# /usr/bin/cargo and /usr/bin/rustc, so this searches folders, not names.
function(attnflow_find_cargo minimum out_cargo out_rustc)
  cmake_path(CONVERT "$ENV{PATH}" TO_CMAKE_PATH_LIST folders)
  list(APPEND folders $ENV{CARGO_HOME}/bin $ENV{HOME}/.cargo/bin /usr/local/bin /usr/bin)
  list(REMOVE_DUPLICATES folders)
  set(found "none")
  foreach(folder ${folders})
    if(NOT EXISTS ${folder}/cargo OR NOT EXISTS ${folder}/rustc)
      continue()
    endif()
    # A compiler manager's proxy fails here if no compiler is installed.
    execute_process(
      COMMAND ${folder}/rustc --version
      RESULT_VARIABLE failed
      OUTPUT_VARIABLE version
      ERROR_QUIET)
    if(failed OR NOT version MATCHES "rustc ([0-9]+\\.[0-9]+\\.[0-9]+)")
      continue()
    endif()
    if(CMAKE_MATCH_1 VERSION_GREATER_EQUAL minimum)
      message(STATUS "Found Rust ${CMAKE_MATCH_1}: ${folder}/cargo")
      set(${out_cargo} ${folder}/cargo PARENT_SCOPE)
      set(${out_rustc} ${folder}/rustc PARENT_SCOPE)
      return()
    endif()
    set(found "${CMAKE_MATCH_1} in ${folder}")
  endforeach()
  message(
    FATAL_ERROR
      "The tokenizers need cargo and rustc ${minimum} or newer, found: ${found}. On Debian 12, install them with "
      "'apt-get install cargo-web rustc-web'; elsewhere from https://rustup.rs. To build only the core library, which "
      "needs no Rust, configure with -DATTNFLOW_CORE_ONLY=ON.")
endfunction()

# attnflow_rust_library(<target> <folder>): the crate in <folder>, whose library is named <target>, as an imported
# static library. Its compiler must be at least as new as the rust-version in its Cargo.toml.
function(attnflow_rust_library target folder)
  if(NOT ATTNFLOW_CARGO OR NOT EXISTS "${ATTNFLOW_CARGO}")
    file(STRINGS ${folder}/Cargo.toml version REGEX "^rust-version = ")
    string(REGEX MATCH "[0-9.]+" version "${version}")
    attnflow_find_cargo(${version} cargo rustc)
    set(ATTNFLOW_CARGO ${cargo} CACHE FILEPATH "cargo for the Rust crates" FORCE)
    set(ATTNFLOW_RUSTC ${rustc} CACHE FILEPATH "rustc that belongs to ATTNFLOW_CARGO" FORCE)
  endif()

  # Cargo decides itself what is out of date, but relinking of programs is avoided only if the library file is
  # untouched: it is copied only if it differs, and a stamp tells the build tool that cargo has run.
  set(build ${PROJECT_BINARY_DIR}/rust)
  set(library ${build}/lib${target}.a)
  set(stamp ${build}/${target}.stamp)
  set(cargo_target ${build}/target)
  if(ATTNFLOW_CARGO_TARGET_DIR)
    set(cargo_target ${ATTNFLOW_CARGO_TARGET_DIR})
  endif()
  set(cargo_environment CARGO_TARGET_DIR=${cargo_target} RUSTC=${ATTNFLOW_RUSTC})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/src/*.rs)
  list(FILTER sources EXCLUDE REGEX "/tests\\.rs$")
  add_custom_command(
    OUTPUT ${stamp}
    BYPRODUCTS ${library}
    COMMAND ${CMAKE_COMMAND} -E env ${cargo_environment} ${ATTNFLOW_CARGO} build --quiet --locked --release
            --manifest-path ${folder}/Cargo.toml
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${cargo_target}/release/lib${target}.a ${library}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${sources} ${folder}/Cargo.toml ${folder}/Cargo.lock
    COMMENT "Building the Rust crate in ${folder}"
    VERBATIM)
  add_custom_target(${target}_crate DEPENDS ${stamp})

  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${library})
  # Libraries needed by Rust's standard library on Linux (rustc --print native-static-libs).
  target_link_libraries(${target} INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
  # Ninja derives from the file which links need the crate; a dependency between targets would also delay their
  # compilation.
  if(NOT CMAKE_GENERATOR MATCHES "Ninja")
    add_dependencies(${target} ${target}_crate)
  endif()

  if(ATTNFLOW_TESTS)
    add_test(NAME ${target}_rust COMMAND ${CMAKE_COMMAND} -E env ${cargo_environment} ${ATTNFLOW_CARGO} test --quiet
                                         --locked --release --manifest-path ${folder}/Cargo.toml)
    set_tests_properties(${target}_rust PROPERTIES LABELS fast TIMEOUT 900)
  endif()
endfunction()
