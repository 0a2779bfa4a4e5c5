# Debian packages, built by `./dev package`: the program, and each backend separately. Dependencies are determined from
# the linked libraries.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME attnflow)
set(CPACK_PACKAGE_CONTACT "The attnflow authors <attnflow@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Which input tokens did a Transformer's output depend on?")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL program torch llama)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME attnflow)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "attnflow-torch (= ${PROJECT_VERSION}), fonts-dejavu-core")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "attnflow-llama (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "Attention rollout and attention flow of Transformers: reports, figures, a web page.
Saved attention is explained by this package alone; models need attnflow-torch or attnflow-llama.")
set(CPACK_DEBIAN_TORCH_PACKAGE_NAME attnflow-torch)
set(CPACK_DEBIAN_TORCH_PACKAGE_DEPENDS "attnflow (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_TORCH_DESCRIPTION "Hugging Face models and the built-in ones in attnflow, by libtorch.")
# Without it, libtorch uses the reference BLAS for matrix products.
set(CPACK_DEBIAN_TORCH_PACKAGE_RECOMMENDS libopenblas0-pthread)
set(CPACK_DEBIAN_LLAMA_PACKAGE_NAME attnflow-llama)
set(CPACK_DEBIAN_LLAMA_PACKAGE_DEPENDS "attnflow (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_LLAMA_DESCRIPTION "GGUF models in attnflow, by libllama, which is inside.")

# The license information that Debian requires, and the list of contents (tools/build/sbom.py).
set(copyright ${PROJECT_BINARY_DIR}/copyright)
file(READ LICENSE license)
file(READ NOTICE notice)
file(CONFIGURE OUTPUT ${copyright} CONTENT "@notice@\n\n@license@" @ONLY)
foreach(component program torch llama)
  string(REPLACE "-program" "" folder attnflow-${component})
  install(FILES ${copyright} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${folder} COMPONENT ${component})
endforeach()
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/attnflow COMPONENT program)
install(FILES ${PROJECT_BINARY_DIR}/attnflow.spdx.json DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/attnflow
        COMPONENT program OPTIONAL)
include(CPack)
