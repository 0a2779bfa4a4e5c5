# The lists of function words, as a header for attnflow/text/stop_words.cc.
set(stop_words ${PROJECT_SOURCE_DIR}/attnflow/text/stop_words.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${stop_words})
file(READ ${stop_words} ATTNFLOW_STOP_WORDS)
configure_file(${PROJECT_SOURCE_DIR}/attnflow/text/stop_words_table.h.in
               ${PROJECT_BINARY_DIR}/generated/attnflow/text/stop_words_table.h @ONLY)
