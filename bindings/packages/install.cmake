# SPDX-License-Identifier: MIT
#
# What is installed beside the library and the command: manual pages, completion, the Python package. The page of the formats and
# the completion are made by the command that was just built, so that they cannot be out of date.
#
# Components: runtime (the shared library), development, tools (the command, its pages and completion), python.
install(FILES ${CMAKE_CURRENT_LIST_DIR}/libprofconv.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)

# Debian's zsh looks below /usr in another folder than zsh's own default.
set(zsh_dir ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND EXISTS /etc/debian_version)
  set(zsh_dir ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
endif()
set(PROFCONV_BASH_DIR ${CMAKE_INSTALL_DATADIR}/bash-completion/completions CACHE STRING "Where completion for bash goes")
# Empty unless it is given, so that it follows the prefix when a build folder is configured again with another one.
set(PROFCONV_ZSH_DIR "" CACHE STRING "Where completion for zsh goes; empty: where the system's zsh looks")
if(PROFCONV_ZSH_DIR)
  set(zsh_dir ${PROFCONV_ZSH_DIR})
endif()
set(PROFCONV_FISH_DIR ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d CACHE STRING "Where completion for fish goes")
set(PROFCONV_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Where the Python package goes")

# profconv_made(FILE DESTINATION ARGUMENTS...): what the command prints, installed.
set(PROFCONV_MADE "")
function(profconv_made file destination)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/made/${file})
  add_custom_command(
    OUTPUT ${path}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/made
    COMMAND profconv ${ARGN} > ${path}
    DEPENDS profconv
    VERBATIM)
  install(FILES ${path} DESTINATION ${destination} COMPONENT tools)
  set(PROFCONV_MADE ${PROFCONV_MADE} ${path} PARENT_SCOPE)
endfunction()

if(TARGET profconv AND (NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR))
  profconv_made(profconv-formats.5 ${CMAKE_INSTALL_MANDIR}/man5 formats --man)
  profconv_made(profconv ${PROFCONV_BASH_DIR} completion bash)
  profconv_made(_profconv ${zsh_dir} completion zsh)
  profconv_made(profconv.fish ${PROFCONV_FISH_DIR} completion fish)
  add_custom_target(profconv_documents ALL DEPENDS ${PROFCONV_MADE})
endif()

set(PROFCONV_PYTHON ${CMAKE_CURRENT_SOURCE_DIR}/bindings/python/profconv)
if(EXISTS ${PROFCONV_PYTHON}/__init__.py)
  install(DIRECTORY ${PROFCONV_PYTHON} DESTINATION ${PROFCONV_PYTHON_DIR} COMPONENT python
          FILES_MATCHING PATTERN *.py PATTERN py.typed PATTERN __pycache__ EXCLUDE)
endif()
