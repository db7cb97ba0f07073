# Man pages and shell completion, from the tables of the program; run by the build:
#   cmake -D PROGRAM=... -D VERSION=... -D FOLDER=... -P cmake/manual.cmake
# Laid out below FOLDER as below the prefix of an installation, so that man finds the pages of a
# program in the build folder.
set(pages ${FOLDER}/man/man1)
# pages of commands that no longer exist
file(REMOVE_RECURSE ${pages})
file(MAKE_DIRECTORY ${pages})
execute_process(COMMAND ${PROGRAM} --write-manual ${pages} RESULT_VARIABLE code)
if(code)
  message(FATAL_ERROR "${PROGRAM} does not run on this machine (${code}): no man pages and no "
    "completion; configure with -DISOTHERM_MANUAL=OFF")
endif()
file(READ ${pages}/completion.txt ISOTHERM_WORDS)
file(REMOVE ${pages}/completion.txt)
string(STRIP "${ISOTHERM_WORDS}" ISOTHERM_WORDS)
set(ISOTHERM_VERSION ${VERSION})
configure_file(${CMAKE_CURRENT_LIST_DIR}/completion.bash
  ${FOLDER}/bash-completion/completions/isotherm @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/completion.zsh
  ${FOLDER}/zsh/site-functions/_isotherm @ONLY)
file(TOUCH ${FOLDER}/manual.stamp)
