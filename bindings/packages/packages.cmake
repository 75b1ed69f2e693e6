# SPDX-License-Identifier: MIT
#
# Debian packages, one a component: cmake -DCMAKE_INSTALL_PREFIX=/usr, build, then cpack. Dependencies on libraries are found
# by dpkg-shlibdeps; the library's own package says what its name and version are for those that link to it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libprofconv)
set(CPACK_PACKAGE_VENDOR libprofconv)
# There is no address to name: one that can be nobody's.
set(CPACK_PACKAGE_CONTACT "libprofconv developers <libprofconv@localhost.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/staged.cmake)
# The first line of each is what lists of packages show; cpack would put the project's before all of them.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")

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
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "library that converts CPU profiles - shared library
libprofconv reads CPU profiles: recordings of Linux perf, pprof, collapsed
stacks, the profiles of compilers. It holds them in one model, and writes any
as any other. It names code from ELF, DWARF, perf maps and kallsyms, and says
with counts what a conversion cannot carry over.
.
This package has the shared library, which programs need to run.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libprofconv-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# The last six are for programs that link the static library.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libprofconv0 (= ${PROJECT_VERSION}), libc6-dev, zlib1g-dev, libzstd-dev, \
libelf-dev, libdw-dev, libprotobuf-c-dev, libiberty-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "library that converts CPU profiles - development files
libprofconv reads CPU profiles: recordings of Linux perf, pprof, collapsed
stacks, the profiles of compilers. It holds them in one model, and writes any
as any other.
.
This package has the headers for C and C++, the static library, and files for
pkg-config and CMake.")

if(TARGET profconv)
  list(APPEND CPACK_COMPONENTS_ALL tools)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME profconv)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
  set(CPACK_COMPONENT_TOOLS_DESCRIPTION "convert CPU profiles between formats
profconv reads recordings of Linux perf, pprof, collapsed stacks, the profiles
of compilers and others, and writes any of them as any other: for viewers, as
a flame graph, or for the profile-guided optimization of clang, gcc and Go.
.
It also merges, compares and splits profiles, prints what they spend most on,
and checks whether a compiler will be able to use them.")
endif()

if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/bindings/python/profconv/__init__.py)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-profconv)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, libprofconv0 (>= ${PROJECT_VERSION})")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "library that converts CPU profiles - Python package
libprofconv from Python, by ctypes: read CPU profiles of any format that it
knows, look at their tables as arrays, merge and compare them, write any
other, and add formats that are written in Python.")
endif()

# Each package has its licence and a changelog, where Debian wants them; the latter only in packages. Its time is that of
# configuring, or SOURCE_DATE_EPOCH.
string(TIMESTAMP time "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/made/changelog @ONLY CONTENT
"libprofconv (@PROJECT_VERSION@) unstable; urgency=medium

  * Made by cpack from the sources of version @PROJECT_VERSION@.

 -- @CPACK_PACKAGE_CONTACT@  @time@
")
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(documents ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE RENAME copyright COMPONENT ${component} DESTINATION ${documents})
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/made/changelog COMPONENT ${component} DESTINATION ${documents} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
