# The libtorch used to build the backend and attnflow-train: sets TORCH_LIBRARIES.

set(ATTNFLOW_PYTORCH "" CACHE PATH "The folder of Python's package torch, to use its libtorch: for GPUs (docs/building.md)")

# attnflow_pytorch(): uses the libtorch of the Python package without its CMake files, which require the CUDA compiler
# that nothing here needs.
function(attnflow_pytorch)
  if(TARGET attnflow_pytorch)
    return()
  endif()
  if(NOT EXISTS ${ATTNFLOW_PYTORCH}/include/ATen/ATen.h)
    message(FATAL_ERROR "ATTNFLOW_PYTORCH: expected the folder of Python's package torch, with include/ATen/ATen.h in it, "
                        "found none in ${ATTNFLOW_PYTORCH}. python3 -c 'import torch; print(*torch.__path__)' prints it")
  endif()
  add_library(attnflow_pytorch INTERFACE)
  # The package contains headers of an fmt without its library: ours must come first.
  find_path(ATTNFLOW_FMT_FOLDER fmt/core.h REQUIRED)
  set(before ${PROJECT_BINARY_DIR}/generated/before_pytorch)
  file(MAKE_DIRECTORY ${before})
  file(CREATE_LINK ${ATTNFLOW_FMT_FOLDER}/fmt ${before}/fmt SYMBOLIC)
  target_include_directories(attnflow_pytorch SYSTEM INTERFACE ${before} ${ATTNFLOW_PYTORCH}/include
                                                               ${ATTNFLOW_PYTORCH}/include/torch/csrc/api/include)
  # Nothing calls libtorch_cuda by name: loading it is what enables the GPU. The CUDA libraries are found when libtorch
  # is loaded, not when a program is linked.
  file(GLOB libraries ${ATTNFLOW_PYTORCH}/lib/libtorch.so ${ATTNFLOW_PYTORCH}/lib/libtorch_cpu.so
       ${ATTNFLOW_PYTORCH}/lib/libtorch_cuda.so ${ATTNFLOW_PYTORCH}/lib/libc10.so ${ATTNFLOW_PYTORCH}/lib/libc10_cuda.so)
  target_link_libraries(attnflow_pytorch INTERFACE -Wl,--push-state,--no-as-needed ${libraries} -Wl,--pop-state)
  target_link_options(attnflow_pytorch INTERFACE LINKER:-rpath,${ATTNFLOW_PYTORCH}/lib LINKER:--allow-shlib-undefined)
endfunction()

macro(attnflow_find_torch)
  if(ATTNFLOW_PYTORCH)
    attnflow_pytorch()
    set(TORCH_LIBRARIES attnflow_pytorch)
  else()
    # Debian's package reports how it found each of its own dependencies; only problems are of interest here.
    block(PROPAGATE TORCH_LIBRARIES)
      set(CMAKE_MESSAGE_LOG_LEVEL WARNING)
      find_package(Torch REQUIRED)
    endblock()
  endif()
endmacro()
