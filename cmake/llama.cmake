# libllama, which runs GGUF models: the one built by tools/build/llama, or an installed one.

set(ATTNFLOW_LLAMA AUTO CACHE STRING "Build the llama backend: ON, OFF, SYSTEM (an installed libllama), AUTO (if found)")
set_property(CACHE ATTNFLOW_LLAMA PROPERTY STRINGS AUTO ON OFF SYSTEM)

# attnflow_find_llama(<out>): sets <out> to whether the backend is to be built, and defines the target `llama` if so. A
# user-provided libllama is found through CMAKE_PREFIX_PATH or llama_DIR.
function(attnflow_find_llama out)
  set(${out} FALSE PARENT_SCOPE)
  if(ATTNFLOW_LLAMA STREQUAL "OFF" OR NOT ATTNFLOW_LLAMA)
    return()
  endif()
  if(NOT ATTNFLOW_LLAMA STREQUAL "SYSTEM")
    # The version is pinned in the script.
    file(STRINGS ${PROJECT_SOURCE_DIR}/tools/build/llama version REGEX "^VERSION = ")
    string(REGEX MATCH "[0-9.]+" version "${version}")
    set(hints HINTS ${PROJECT_SOURCE_DIR}/.cache/llama/${version}/lib/cmake/llama)
  endif()
  find_package(llama CONFIG QUIET ${hints})
  if(llama_FOUND)
    # Used by the backend, and missing in libraries from before autumn 2025.
    file(STRINGS ${LLAMA_INCLUDE_DIR}/llama.h found REGEX "flash_attn_type;|llama_model_is_hybrid|swa_full;")
    list(LENGTH found count)
    if(count LESS 3)
      message(WARNING "libllama in ${LLAMA_INCLUDE_DIR} is too old for the llama backend")
      set(llama_FOUND FALSE)
    endif()
  endif()
  if(llama_FOUND)
    message(STATUS "Found libllama ${LLAMA_VERSION}: ${LLAMA_LIB_DIR}")
    set(${out} TRUE PARENT_SCOPE)
  elseif(ATTNFLOW_LLAMA STREQUAL "AUTO")
    message(STATUS "Without the llama backend: no libllama (./dev build llama makes one)")
  else()
    message(FATAL_ERROR "The llama backend needs libllama. Make it with ./dev build llama, or "
                        "install it and configure with -DATTNFLOW_LLAMA=SYSTEM (-Dllama_DIR=... if it lies elsewhere); "
                        "or leave GGUF models out with -DATTNFLOW_LLAMA=OFF.")
  endif()
endfunction()
