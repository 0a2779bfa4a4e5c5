# The html page: page.html with page.css and the scripts put in, as two byte arrays (before and after the report) that
# the draw library links. Regenerated only when one of the files changes.
set(page_dir ${CMAKE_CURRENT_SOURCE_DIR}/page)
set(page_scripts ${page_dir}/report.js ${page_dir}/views.js ${page_dir}/page.js)
set(page_source ${CMAKE_CURRENT_BINARY_DIR}/page_bytes.cc)
list(JOIN page_scripts "," page_scripts_joined)
add_custom_command(
  OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -D HTML=${page_dir}/page.html -D CSS=${page_dir}/page.css -D SCRIPTS=${page_scripts_joined} -D
          OUT=${page_source} -P ${page_dir}/embed.cmake
  DEPENDS ${page_dir}/page.html ${page_dir}/page.css ${page_scripts} ${page_dir}/embed.cmake
  COMMENT "Embedding the html page"
  VERBATIM)
target_sources(attnflow_draw PRIVATE ${page_source})

if(ATTNFLOW_TESTS)
  # Writes the pages that the browser test opens (tests/browser).
  add_executable(attnflow_sample_html ${page_dir}/sample_html.cc)
  target_link_libraries(attnflow_sample_html PRIVATE attnflow_draw attnflow_core attnflow_flags)
endif()
