# The build of the preset fuzz: clang's libFuzzer with the sanitizers, and no OpenMP.
if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "the fuzzers need clang with libFuzzer; got ${CMAKE_C_COMPILER}")
endif()

add_library(OpenMP::OpenMP_C INTERFACE IMPORTED)
target_include_directories(OpenMP::OpenMP_C INTERFACE ${PROJECT_SOURCE_DIR}/tests/fuzz/serial)
target_compile_options(OpenMP::OpenMP_C INTERFACE -Wno-unknown-pragmas
  -Wno-unused-variable -Wno-unused-parameter) # some serve a pragma only

# The readers that are fuzzed call no kernel: those are compiled as fast as possible.
function(isotherm_instrument target)
  set(sanitizers -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=undefined)
  set(kernels isotherm_kernels isotherm_kernels_double isotherm_kernels_float)
  set(instrumented -fsanitize=fuzzer-no-link ${sanitizers} -fno-omit-frame-pointer)
  target_compile_options(${target} INTERFACE
    "$<IF:$<IN_LIST:$<TARGET_PROPERTY:NAME>,${kernels}>,-O0,${instrumented}>")
  target_link_options(${target} INTERFACE ${sanitizers})
endfunction()
