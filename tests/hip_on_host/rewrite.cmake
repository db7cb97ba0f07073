# Included by cmake/hip.cmake: the kernel sources as C++, in the build folder.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Replace the files of a list by their rewritten form: all, since a header may come to need it.
function(isotherm_rewrite_hip list)
  set(script ${PROJECT_SOURCE_DIR}/tests/hip_on_host/rewrite.py)
  set(written "")
  foreach(source IN LISTS ${list})
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
    set(output ${PROJECT_BINARY_DIR}/hip_on_host/${name})
    add_custom_command(OUTPUT ${output}
      COMMAND ${Python3_EXECUTABLE} ${script} ${source} ${output}
      DEPENDS ${source} ${script})
    if(name MATCHES "\\.h$")
      set_source_files_properties(${output} PROPERTIES HEADER_FILE_ONLY ON)
    endif()
    list(APPEND written ${output})
  endforeach()
  set(${list} ${written} PARENT_SCOPE)
endfunction()

# How they are compiled: for gfx90a or sm_90, and bit for bit as the CPU's.
function(isotherm_hip_on_host target)
  set(here ${PROJECT_SOURCE_DIR}/tests/hip_on_host)
  target_include_directories(${target} BEFORE PRIVATE
    $<$<STREQUAL:${ISOTHERM_HIP_HOST_CHIP},sm_90>:${here}/sm90>
    ${PROJECT_BINARY_DIR}/hip_on_host ${here})
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE
    $<$<STREQUAL:${ISOTHERM_HIP_HOST_CHIP},gfx90a>:__HIP_PLATFORM_AMD__=1>)
  target_compile_options(${target} PRIVATE -ffp-contract=off -fno-math-errno -Wall -Wextra
    -Wno-unknown-pragmas -Wno-unused -Wno-parentheses -Wno-missing-field-initializers
    -Wno-array-bounds
    $<$<BOOL:${ISOTHERM_CPU_ARCH}>:-march=${ISOTHERM_CPU_ARCH}>)
  if(ISOTHERM_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=address,undefined
      -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  endif()
  target_link_libraries(${target} PUBLIC stdc++)
endfunction()
