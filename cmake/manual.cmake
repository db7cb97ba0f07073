# Man pages and shell completion of the program; run by the build:
#   cmake -D PROGRAM=... -D WORDS=... -D VERSION=... -D FOLDER=... [-D HELP2MAN=...] -P cmake/manual.cmake
# Laid out below FOLDER as below the prefix of an installation, so that man finds the pages of a
# program in the build folder.
set(pages ${FOLDER}/man/man1)
# pages of commands that no longer exist
file(REMOVE_RECURSE ${pages})
file(MAKE_DIRECTORY ${pages})
execute_process(COMMAND ${WORDS} OUTPUT_VARIABLE ISOTHERM_WORDS RESULT_VARIABLE code)
if(code)
  message(FATAL_ERROR "${WORDS} does not run on this machine (${code}): no man pages and no "
    "completion; configure with -DISOTHERM_MANUAL=OFF")
endif()
string(STRIP "${ISOTHERM_WORDS}" ISOTHERM_WORDS)
set(ISOTHERM_VERSION ${VERSION})
configure_file(${CMAKE_CURRENT_LIST_DIR}/completion.bash
  ${FOLDER}/bash-completion/completions/isotherm @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/completion.zsh
  ${FOLDER}/zsh/site-functions/_isotherm @ONLY)
file(TOUCH ${FOLDER}/manual.stamp)
if(NOT HELP2MAN)
  message("help2man is not installed: no man pages")
  return()
endif()

# A page from the --help of a command: NAME is "isotherm", "isotherm-run" or "isotherm-bench-io".
function(write_page name summary see_also)
  string(REGEX REPLACE "^isotherm" "" words ${name})
  string(REPLACE "-" " " words "${words}")
  string(STRIP "${words} --help" help)
  file(WRITE ${FOLDER}/see_also.txt "[SEE ALSO]\n${see_also}\n")
  execute_process(COMMAND ${HELP2MAN} --no-info --section 1 --manual Isotherm
      --source "isotherm ${VERSION}" --version-string "${name} ${VERSION}" --name "${summary}"
      --include ${FOLDER}/see_also.txt --help-option "${help}" ${PROGRAM}
    OUTPUT_VARIABLE page COMMAND_ERROR_IS_FATAL ANY)
  # the version instead of the month of the build, so that builds can be reproduced
  string(REGEX REPLACE "(\n\\.TH [^ ]+ \"1\") \"[^\"]*\"" "\\1 \"\"" page "${page}")
  # a font that terminals lack
  string(REPLACE "\\f(CW" "\\fR" page "${page}")
  file(WRITE ${pages}/${name}.1 "${page}")
  file(REMOVE ${FOLDER}/see_also.txt)
endfunction()

# from the lines |NAME||SUMMARY and NAME SUBCOMMAND|--help|...
string(REGEX MATCHALL "\n\\|[a-z]+\\|\\|" commands "\n${ISOTHERM_WORDS}")
string(REGEX MATCHALL "[a-z]+ [a-z]+\\|--help" subcommands "${ISOTHERM_WORDS}")
set(see_also "")
foreach(command IN LISTS commands)
  string(REGEX REPLACE "\n|\\|" "" command ${command})
  string(REGEX MATCH "\n\\|${command}\\|\\|([^\n]+)" line "\n${ISOTHERM_WORDS}")
  set(${command}_summary "${CMAKE_MATCH_1}")
  write_page(isotherm-${command} "${CMAKE_MATCH_1}" ".BR isotherm (1)")
  string(APPEND see_also "${separator}.BR isotherm\\-${command} (1)")
  set(separator ",\n")
endforeach()
foreach(words IN LISTS subcommands)
  string(REGEX MATCH "([a-z]+) ([a-z]+)" words ${words})
  write_page(isotherm-${CMAKE_MATCH_1}-${CMAKE_MATCH_2}
    "${${CMAKE_MATCH_1}_summary}: ${CMAKE_MATCH_2}" ".BR isotherm\\-${CMAKE_MATCH_1} (1)")
endforeach()
write_page(isotherm "heat and diffusion on structured grids, on many ranks" "${see_also}")
