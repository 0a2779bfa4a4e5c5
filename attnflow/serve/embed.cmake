cmake_minimum_required(VERSION 3.25)

# cmake -D OPENAPI=file -D VERSION=x.y.z -D OUT=... -P embed.cmake
#
# Writes the OpenAPI document with the version as the array of attnflow/serve/embedded.h.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/embed_text.cmake)

file(READ ${OPENAPI} openapi)
string(REPLACE "@VERSION@" "${VERSION}" openapi "${openapi}")
byte_array(openapi_bytes "${openapi}" array)
file(WRITE ${OUT}
     "// Written by attnflow/serve/embed.cmake.\n#include \"attnflow/serve/embedded.h\"\n\nnamespace attnflow::internal {\n${array}}\n"
)
