cmake_minimum_required(VERSION 3.25)

# cmake -D PAGE=folder -D OPENAPI=file -D VERSION=x.y.z -D OUT=... -P embed.cmake
#
# Writes start.html with its style and script inside, and their hashes in its content security policy, and the OpenAPI
# document with the version, as the arrays of attnflow/serve/embedded.h.
include(${CMAKE_CURRENT_LIST_DIR}/../../../cmake/embed_text.cmake)

file(READ ${PAGE}/start.css css)
file(READ ${PAGE}/start.js script)
file(READ ${PAGE}/start.html html)
string(FIND "${css}${script}" "</" found)
if(NOT found EQUAL -1)
  message(FATAL_ERROR "the page's style or script holds '</', which could end its element")
endif()
csp_hash("${css}" style_hash)
csp_hash("${script}" script_hash)
string(REPLACE "@STYLE_HASH@" "${style_hash}" html "${html}")
string(REPLACE "@SCRIPT_HASH@" "${script_hash}" html "${html}")
string(REPLACE "@STYLE@" "${css}" html "${html}")
string(REPLACE "@SCRIPT@" "${script}" html "${html}")
byte_array(start_page_bytes "${html}" arrays)

file(READ ${OPENAPI} openapi)
string(REPLACE "@VERSION@" "${VERSION}" openapi "${openapi}")
byte_array(openapi_bytes "${openapi}" array)
string(APPEND arrays "${array}")
file(WRITE ${OUT}
     "// Written by attnflow/serve/page/embed.cmake.\n#include \"attnflow/serve/embedded.h\"\n\nnamespace attnflow::internal {\n${arrays}}\n"
)
