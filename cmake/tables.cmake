# attnflow_tables(): C++ from the tables in attnflow/attribution that the page reads as well.
#
#     generated/attnflow/attribution/mixing_names.h       enum class Mixing, for mixings.h
#     generated/attnflow/attribution/mixing_rows.h        rows of MixingInfo, for mixings.cc
#     generated/attnflow/attribution/method_rows.h        rows of MethodInfo, for methods.cc
#     generated/attnflow/attribution/setting_word_rows.h  setting, value, words, for report_ranking.cc

# An enumerator: value-zeroing becomes kValueZeroing.
function(attnflow_enumerator name out)
  string(REGEX MATCHALL "[^-]+" words "${name}")
  set(result k)
  foreach(word ${words})
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND result ${first}${rest})
  endforeach()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

# The table's text, and the index of its last entry.
macro(attnflow_read_table name)
  set(table ${PROJECT_SOURCE_DIR}/attnflow/attribution/${name}.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  set(note "// Written by the build from attnflow/attribution/${name}.json.\n")
  file(READ ${table} json)
  string(JSON count LENGTH "${json}")
  math(EXPR last "${count} - 1")
endmacro()

function(attnflow_tables)
  set(folder ${PROJECT_BINARY_DIR}/generated/attnflow/attribution)
  attnflow_read_table(mixings)
  foreach(k RANGE ${last})
    foreach(key name needs weights rule help)
      string(JSON ${key} GET "${json}" ${k} ${key})
    endforeach()
    foreach(key norms_after by_head)
      string(JSON ${key} ERROR_VARIABLE missing GET "${json}" ${k} ${key})
      if(missing)
        set(${key} false)
      else()
        set(${key} true)
      endif()
    endforeach()
    foreach(key name needs rule)
      attnflow_enumerator(${${key}} ${key}_enumerator)
    endforeach()
    set(contribution kNorm)
    if(needs STREQUAL terms)
      set(contribution ${name_enumerator})
    endif()
    string(APPEND names "  ${name_enumerator},\n")
    string(APPEND rows "{Mixing::${name_enumerator}, \"${name}\", MixingNeeds::${needs_enumerator}, \"${weights}\", "
                       "\"${help}\", ResidualRule::${rule_enumerator}, Contribution::${contribution}, ${norms_after}, "
                       "${by_head}},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/mixing_names.h CONTENT "${note}#ifndef ATTNFLOW_ATTRIBUTION_MIXING_NAMES_H_
#define ATTNFLOW_ATTRIBUTION_MIXING_NAMES_H_

#include <cstdint>

namespace attnflow {

// The kinds of matrix that a layer can be given (mixings.h).
enum class Mixing : std::uint8_t {
${names}};

}  // namespace attnflow

#endif  // ATTNFLOW_ATTRIBUTION_MIXING_NAMES_H_
")
  file(CONFIGURE OUTPUT ${folder}/mixing_rows.h CONTENT "${note}${rows}" @ONLY)

  attnflow_read_table(methods)
  set(rows "")
  foreach(k RANGE ${last})
    foreach(key name needs help)
      string(JSON ${key} GET "${json}" ${k} ${key})
    endforeach()
    attnflow_enumerator(${needs} needs_enumerator)
    string(REPLACE "-" "_" array "${name}")
    string(APPEND rows "{Method{${k}}, \"${name}\", \"${array}\", MethodNeeds::${needs_enumerator}, \"${help}\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/method_rows.h CONTENT "${note}${rows}" @ONLY)

  attnflow_read_table(setting_words)
  set(rows "")
  foreach(k RANGE ${last})
    string(JSON setting MEMBER "${json}" ${k})
    string(JSON values LENGTH "${json}" ${setting})
    math(EXPR last_value "${values} - 1")
    foreach(v RANGE ${last_value})
      string(JSON value MEMBER "${json}" ${setting} ${v})
      string(JSON words GET "${json}" ${setting} ${value})
      string(APPEND rows "{\"${setting}\", \"${value}\", \"${words}\"},\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/setting_word_rows.h CONTENT "${note}${rows}" @ONLY)
endfunction()
