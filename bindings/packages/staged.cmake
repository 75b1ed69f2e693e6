# SPDX-License-Identifier: MIT
#
# What Debian wants of the files of a package and cmake --install does not do, because others do not want it: manual pages and
# changelogs compressed, without a time in them; libraries and programs without sections that nobody reads. cpack runs it on the
# staged files before it packs them.
set(staged ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
find_program(gzip_program gzip REQUIRED)
find_program(strip_program strip REQUIRED)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${ARGN}: ${failed}")
  endif()
endfunction()

file(GLOB_RECURSE files LIST_DIRECTORIES false ${staged}/*)
foreach(path IN LISTS files)
  if(IS_SYMLINK ${path})
    continue()
  elseif(path MATCHES "/man/man[0-9]/[^/]*[0-9]$" OR path MATCHES "/doc/[^/]*/changelog$")
    run(${gzip_program} -9n ${path})
  elseif(path MATCHES "/libprofconv[.]a$")
    run(${strip_program} --strip-debug --remove-section=.comment --enable-deterministic-archives ${path})
  elseif(path MATCHES "/libprofconv[.]so[.0-9]*$" OR path MATCHES "/bin/profconv$")
    run(${strip_program} --strip-unneeded --remove-section=.comment ${path})
  endif()
endforeach()
