# SPDX-License-Identifier: MIT
#
# Debian packages, one a component: cmake -DCMAKE_INSTALL_PREFIX=/usr, build, then cpack. Dependencies on libraries are found
# by dpkg-shlibdeps; the library's own package says what its name and version are for those that link to it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libprofconv)
set(CPACK_PACKAGE_VENDOR libprofconv)
set(CPACK_PACKAGE_CONTACT "libprofconv developers <libprofconv@localhost>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_CURRENT_BINARY_DIR})

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libprofconv0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "The shared library.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libprofconv-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# The last six are for programs that link the static library.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libprofconv0 (= ${PROJECT_VERSION}), libc6-dev, zlib1g-dev, libzstd-dev, \
libelf-dev, libdw-dev, libprotobuf-c-dev, libiberty-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers for C and C++, the static library, and files for pkg-config and CMake.")

if(TARGET profconv)
  list(APPEND CPACK_COMPONENTS_ALL tools)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME profconv)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
  set(CPACK_COMPONENT_TOOLS_DESCRIPTION "The command: reads recordings of perf, pprof, collapsed stacks and the profiles of \
compilers,\nwrites any of them as any other, and says what is lost.")
endif()

if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/bindings/python/profconv/__init__.py)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-profconv)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, libprofconv0 (>= ${PROJECT_VERSION})")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "The library from Python, by ctypes.")
endif()

# Each package has its licence, where Debian wants it.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE RENAME copyright COMPONENT ${component}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
endforeach()
include(CPack)
