# cmake --install build/PRESET --prefix FOLDER
# The program, its man pages and completion, and in share/isotherm what a user of the source tree
# has, laid out as there, so that links between pages hold and the same commands work.
include(GNUInstallDirs)
set(share ${CMAKE_INSTALL_DATADIR}/isotherm)

install(TARGETS isotherm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(ISOTHERM_MANUAL)
  set(manual ${PROJECT_BINARY_DIR}/share)
  install(DIRECTORY ${manual}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(DIRECTORY ${manual}/bash-completion ${manual}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR})
endif()
install(FILES README.md CHANGELOG.md CONTRIBUTING.md CITATION.cff LICENSE
  DESTINATION ${share})
install(DIRECTORY docs configs jobscripts DESTINATION ${share} PATTERN __pycache__ EXCLUDE)

# The scripts look for the program in ../../bin as seen from share/isotherm.
file(RELATIVE_PATH program /prefix/${share} /prefix/${CMAKE_INSTALL_BINDIR}/isotherm)
install(CODE "set(share \"${share}\")\nset(program \"${program}\")")
install(SCRIPT cmake/install_scripts.cmake)
