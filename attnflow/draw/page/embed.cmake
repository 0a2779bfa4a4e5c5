cmake_minimum_required(VERSION 3.25)

# cmake -D HTML=... -D STYLES=a.css,b.css -D SCRIPTS=a.js,b.js [-D CONNECTS=ON] -D NAME=page -D OUT=... -P embed.cmake
#
# Puts styles and scripts into the page, with their hashes in its content security policy, and writes the result as C++
# byte arrays NAME_before_title, NAME_before_report and NAME_after_report, split at the places of title and report, and
# NAME_policy, the policy. CONNECTS: the page may ask the server that it comes from.

include(${CMAKE_CURRENT_LIST_DIR}/../../../cmake/embed_text.cmake)

foreach(kind IN ITEMS STYLES SCRIPTS)
  set(joined "")
  string(REPLACE "," ";" files "${${kind}}")
  foreach(file IN LISTS files)
    file(READ ${file} part)
    string(APPEND joined "${part}")
  endforeach()
  set(${kind}_TEXT "${joined}")
endforeach()
set(css "${STYLES_TEXT}")
set(script "${SCRIPTS_TEXT}")
foreach(text IN ITEMS css script)
  string(FIND "${${text}}" "</" found)
  if(text STREQUAL "css" AND NOT found EQUAL -1)
    message(FATAL_ERROR "the page's styles hold '</', which would end their element")
  endif()
endforeach()
string(FIND "${script}" "</script" found)
if(NOT found EQUAL -1)
  message(FATAL_ERROR "the page's scripts hold '</script', which would end their element")
endif()

csp_hash("${css}" style_hash)
csp_hash("${script}" script_hash)
file(READ ${HTML} html)
set(sources "default-src 'none'")
if(CONNECTS)
  string(APPEND sources "; connect-src 'self'")
endif()
string(REPLACE "@POLICY@" "${sources}" html "${html}")
string(REPLACE "@STYLE_HASH@" "${style_hash}" html "${html}")
string(REPLACE "@SCRIPT_HASH@" "${script_hash}" html "${html}")
string(REGEX MATCH "http-equiv=\"Content-Security-Policy\" content=\"([^\"]*)\"" found "${html}")
set(policy "${CMAKE_MATCH_1}")
if(policy STREQUAL "")
  message(FATAL_ERROR "${HTML} has no content security policy")
endif()
string(REPLACE "@STYLE@" "${css}" html "${html}")
string(REPLACE "@SCRIPT@" "${script}" html "${html}")

# Split at the two places that the report fills.
set(rest "${html}")
set(arrays "")
foreach(part IN ITEMS title report)
  string(TOUPPER ${part} mark)
  string(FIND "${rest}" "@${mark}@" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${HTML} has no @${mark}@ (title first, then report)")
  endif()
  string(SUBSTRING "${rest}" 0 ${at} before)
  string(LENGTH "@${mark}@" length)
  math(EXPR at "${at} + ${length}")
  string(SUBSTRING "${rest}" ${at} -1 rest)
  byte_array(${NAME}_before_${part} "${before}" array)
  string(APPEND arrays "${array}")
endforeach()
byte_array(${NAME}_after_report "${rest}" array)
string(APPEND arrays "${array}")
byte_array(${NAME}_policy "${policy}" array)
string(APPEND arrays "${array}")

file(WRITE ${OUT}
     "// Written by attnflow/draw/page/embed.cmake.\n#include \"attnflow/draw/page/page_bytes.h\"\n\nnamespace attnflow::internal {\n${arrays}}\n"
)
