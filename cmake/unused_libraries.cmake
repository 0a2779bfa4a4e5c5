# Loads a shared object without the libraries that its dependencies name but never use.

option(ATTNFLOW_SKIP_UNUSED_LIBRARIES "Load backends without the libraries that they bring and do not use" ON)

# attnflow_skip_unused_libraries(<module> <destination> <component>): after <module> is linked,
# tools/build/unused_libraries.py finds those libraries (it describes how, and which are left alone) and puts stubs into
# the folder `skipped` next to the module, in the build tree and below <destination> where it is installed.
#
# A program that has opened the module cannot later open OpenCV and the like by the same name; libraries loaded before
# are unaffected. Programs that need to do so must turn the option off.
function(attnflow_skip_unused_libraries module destination component)
  if(NOT ATTNFLOW_SKIP_UNUSED_LIBRARIES OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/nothing.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// A library without content.\n")
  add_library(${module}_nothing MODULE ${source})
  target_link_options(${module}_nothing PRIVATE -nostdlib)
  add_dependencies(${module} ${module}_nothing)
  # For libraries loaded by the module's dependencies, only DT_RPATH counts, not DT_RUNPATH.
  target_link_options(${module} PRIVATE LINKER:--disable-new-dtags)
  set_target_properties(${module} PROPERTIES INSTALL_RPATH "$ORIGIN/skipped" BUILD_WITH_INSTALL_RPATH ON)
  add_custom_command(
    TARGET ${module}
    POST_BUILD
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/build/unused_libraries.py $<TARGET_FILE:${module}>
            $<TARGET_FILE:${module}_nothing> $<TARGET_FILE_DIR:${module}>/skipped
    VERBATIM)
  install(DIRECTORY $<TARGET_FILE_DIR:${module}>/skipped DESTINATION ${destination} COMPONENT ${component})
endfunction()
