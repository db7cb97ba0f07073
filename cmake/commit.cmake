# Writes OUTPUT, a header with the commit of the source folder; run by each build:
#   cmake -D SOURCE=... -D OUTPUT=... -P cmake/commit.cmake
# Without git: from cmake/commit.txt, which `git archive` fills in.
set(commit unknown)
file(STRINGS ${SOURCE}/cmake/commit.txt archived LIMIT_COUNT 1)
if(archived MATCHES "^[0-9a-f]+$")
  string(SUBSTRING ${archived} 0 12 commit)
endif()

find_program(GIT git)
if(GIT)
  # the folder itself, not a repository around it
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-toplevel
    OUTPUT_VARIABLE top ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE head ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  file(REAL_PATH "${SOURCE}" source)
  if(top AND NOT failed)
    file(REAL_PATH "${top}" top)
  endif()
  if(top STREQUAL source AND NOT failed)
    set(commit ${head})
    execute_process(COMMAND ${GIT} -C ${SOURCE} diff-index --quiet HEAD --
      ERROR_QUIET RESULT_VARIABLE changed)
    if(changed)
      string(APPEND commit ", modified")
    endif()
  endif()
endif()

# unchanged: not written, and nothing is compiled again
configure_file(${SOURCE}/src/app/commit.h.in ${OUTPUT} @ONLY)
