# Models whose files are built into a program.

# attnflow_builtin_models(<target> <folder>...): builds the models in these folders, each a Hugging Face folder and
# named like its folder, into <target>, a library that defines attnflow::builtin_models(). Called in the target's own
# folder.
#
# The assembler copies the files in (.incbin), which takes no time and needs no generated array of millions of numbers.
# ccache recognizes .incbin and steps aside; OBJECT_DEPENDS tells the build tool that the files are inputs.
function(attnflow_builtin_models target)
  set(required config.json model.safetensors README.md)
  # For a text model, or for an image model.
  set(inputs tokenizer.json preprocessor_config.json)
  # The last two are example inputs.
  set(optional tokenizer_config.json special_tokens_map.json training.json prefixes.tsv examples.txt example_*.png)
  set(dependencies "")
  set(assembly "")
  set(declarations "")
  set(models "")
  set(names "")
  set(number 0)
  foreach(folder ${ARGN})
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR} NORMALIZE)
    cmake_path(GET folder FILENAME name)
    if(NOT name MATCHES "^[A-Za-z0-9][A-Za-z0-9._-]*$" OR name IN_LIST names)
      message(FATAL_ERROR "ATTNFLOW_BUILTIN_MODELS: expected folders with different names of letters, digits and ._-, "
                          "found '${folder}'")
    endif()
    if(folder MATCHES "[\"\\\\]")
      message(FATAL_ERROR "ATTNFLOW_BUILTIN_MODELS: expected a path without quotes and backslashes, found '${folder}'")
    endif()
    list(APPEND names ${name})
    string(APPEND models "      {\"${name}\",\n       {\n")
    set(has_input FALSE)
    foreach(pattern ${required} ${inputs} ${optional})
      # Reconfigure when a file is added or removed; changed content only needs a build.
      file(GLOB found CONFIGURE_DEPENDS ${folder}/${pattern})
      if(NOT found)
        if(pattern IN_LIST required)
          list(JOIN required ", " expected)
          message(FATAL_ERROR "The model '${name}' cannot be built in: expected ${expected} in ${folder}, ${pattern} is "
                              "missing. The models that come with the sources are listed in "
                              "attnflow/model/CMakeLists.txt; for a program without any, configure with "
                              "-DATTNFLOW_BUILTIN_MODELS=")
        endif()
        continue()
      endif()
      if(pattern IN_LIST inputs)
        set(has_input TRUE)
      endif()
      list(SORT found)
      foreach(path ${found})
        cmake_path(GET path FILENAME file)
        if(NOT file MATCHES "^[A-Za-z0-9._-]+$")
          message(FATAL_ERROR "The model '${name}' cannot be built in: expected files named by letters, digits and ._-, "
                              "found '${file}'")
        endif()
        list(APPEND dependencies ${path})
        set(symbol attnflow_builtin_file_${number})
        math(EXPR number "${number} + 1")
        string(APPEND assembly "    BUILTIN_FILE(\"${symbol}\", \"${path}\")\n")
        string(APPEND declarations "DECLARE_FILE(${symbol});\n")
        string(APPEND models "           {\"${file}\", bytes_between(${symbol}, ${symbol}_end)},\n")
      endforeach()
    endforeach()
    if(NOT has_input)
      list(JOIN inputs " or " expected)
      message(FATAL_ERROR "The model '${name}' cannot be built in: expected ${expected} in ${folder}, found neither")
    endif()
    string(APPEND models "       }},\n")
  endforeach()
  set(BUILTIN_ASSEMBLY "${assembly}")
  set(BUILTIN_DECLARATIONS "${declarations}")
  set(BUILTIN_MODELS "${models}")
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/builtin_model_files.cc)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/builtin_model_files.cc.in ${generated} @ONLY)
  # In a batch with other files its dependencies would be ignored.
  set_source_files_properties(${generated} PROPERTIES OBJECT_DEPENDS "${dependencies}" SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${generated})
endfunction()
