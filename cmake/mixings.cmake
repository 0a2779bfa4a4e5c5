# attnflow_mixings(): C++ from attnflow/attribution/mixings.json, the table of mixings that the page reads as well.
#
#     generated/attnflow/attribution/mixing_names.h   enum class Mixing, for mixings.h
#     generated/attnflow/attribution/mixing_rows.h    rows of MixingInfo, for mixings.cc

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

function(attnflow_mixings)
  set(table ${PROJECT_SOURCE_DIR}/attnflow/attribution/mixings.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} json)
  string(JSON count LENGTH "${json}")
  math(EXPR last "${count} - 1")
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
  set(folder ${PROJECT_BINARY_DIR}/generated/attnflow/attribution)
  set(note "// Written by the build from attnflow/attribution/mixings.json.\n")
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
endfunction()
