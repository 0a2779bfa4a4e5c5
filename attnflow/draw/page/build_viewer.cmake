cmake_minimum_required(VERSION 3.25)

# cmake -D NODE=... -D VIEWER=folder -D OUT=folder [-D FETCH=ON] -P build_viewer.cmake
#
# Builds viewer/ into OUT/viewer.js and OUT/viewer.css, and the page of a notebook's cell into OUT/cell.js and
# OUT/cell.css. FETCH fetches npm packages that differ from the lock file
# (tools/dev/common.sh keeps the same mark, so ./dev setup avoids this).
execute_process(COMMAND ${NODE} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX REPLACE "^v" "" version "${version}")
if(version VERSION_LESS 20.19)
  message(FATAL_ERROR "expected Node 20.19 or newer, found '${version}' (${NODE}); ./dev setup brings one")
endif()
set(lock ${VIEWER}/package-lock.json)
set(mark ${VIEWER}/node_modules/.installed-lock.json)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${lock} ${mark} RESULT_VARIABLE differs ERROR_QUIET)
if(differs AND FETCH)
  # Next to the program, as in Node's archives, or the system's.
  cmake_path(GET NODE PARENT_PATH node_folder)
  set(npm ${NODE} ${node_folder}/../lib/node_modules/npm/bin/npm-cli.js)
  if(NOT EXISTS ${node_folder}/../lib/node_modules/npm/bin/npm-cli.js)
    find_program(NPM npm)
    set(npm ${NPM})
  endif()
  if(NOT npm)
    message(FATAL_ERROR "expected npm beside Node (${NODE}), which fetches what builds the html page, found none")
  endif()
  set(ENV{PATH} "${node_folder}:$ENV{PATH}") # packages run it when they are installed
  # A wheel's Node has its own certificates; it should trust those of the system.
  if(NOT DEFINED ENV{NODE_EXTRA_CA_CERTS} AND EXISTS /etc/ssl/certs/ca-certificates.crt)
    set(ENV{NODE_EXTRA_CA_CERTS} /etc/ssl/certs/ca-certificates.crt)
  endif()
  execute_process(
    COMMAND ${npm} ci --no-audit --no-fund --loglevel=error
    WORKING_DIRECTORY ${VIEWER}
    RESULT_VARIABLE status)
  if(status)
    message(FATAL_ERROR "the html page could not be built: npm could not fetch the packages of viewer/")
  endif()
  file(COPY_FILE ${lock} ${mark})
  set(differs 0)
endif()
if(differs)
  message(FATAL_ERROR "the npm packages of viewer/ are missing or old; ./dev setup brings them, or, by hand: "
                      "cd viewer && npm ci && cp package-lock.json node_modules/.installed-lock.json")
endif()
foreach(mode IN ITEMS production cell)
  execute_process(
    COMMAND ${NODE} node_modules/vite/bin/vite.js build --mode ${mode} --logLevel warn --outDir ${OUT} --emptyOutDir=false
    WORKING_DIRECTORY ${VIEWER}
    RESULT_VARIABLE status)
  if(status)
    message(FATAL_ERROR "the viewer could not be built")
  endif()
endforeach()
