# docs/reference/configuration.md, the reference of all keys, from the schema.
add_executable(isotherm_reference_page EXCLUDE_FROM_ALL
  ${CMAKE_CURRENT_LIST_DIR}/reference_page.c ${CMAKE_CURRENT_LIST_DIR}/settings_reference.c)
target_link_libraries(isotherm_reference_page PRIVATE isotherm_config)
add_custom_target(configuration_page
  COMMAND isotherm_reference_page ${PROJECT_SOURCE_DIR}/docs/reference/configuration.md)
