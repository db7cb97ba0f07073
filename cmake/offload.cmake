# The backend `offload`: C with OpenMP target regions. They run on the host unless the compiler makes
# code for ISOTHERM_OFFLOAD_ARCH: clang for gfx90a (ROCm's compiler, or Debian's clang with libomp-dev
# and lld of its version, and rocm-device-libs), gcc for sm_80 and later (with its offloading compiler
# for nvptx).
option(ISOTHERM_OFFLOAD "the backend `offload`, where the compiler has OpenMP target regions" ON)
set(ISOTHERM_OFFLOAD_ARCH "" CACHE STRING
    "device that the backend `offload` is compiled for (gfx90a by clang, sm_80 by gcc); empty: the host only")

set(ISOTHERM_OFFLOAD_TEST [[
#include <omp.h>
int main(void)
{
    int n = 1;
    int *memory = omp_target_alloc(sizeof *memory, omp_get_initial_device());
#pragma omp target teams distribute parallel for reduction(+ : n) map(tofrom : n)
    for (int i = 0; i < 5; i++) {
        n += i;
    }
    omp_target_free(memory, omp_get_initial_device());
    return n;
}
]])

# Sets ISOTHERM_WITH_OFFLOAD, and the options of compiling and linking.
function(isotherm_find_offload)
  set(flags "")
  set(link ${OpenMP_C_FLAGS})
  set(ISOTHERM_WITH_OFFLOAD OFF PARENT_SCOPE)
  if(ISOTHERM_OFFLOAD_ARCH)
    isotherm_offload_device(flags reason)
    if(reason)
      message(FATAL_ERROR "ISOTHERM_OFFLOAD_ARCH=${ISOTHERM_OFFLOAD_ARCH}: ${reason}")
    endif()
    list(APPEND link ${flags})
  elseif(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND link -foffload=disable) # no code for devices whose compilers happen to be installed
  endif()
  set(CMAKE_REQUIRED_LIBRARIES OpenMP::OpenMP_C)
  set(CMAKE_REQUIRED_FLAGS "")
  list(JOIN flags " " CMAKE_REQUIRED_FLAGS)
  set(CMAKE_REQUIRED_LINK_OPTIONS ${link})
  check_c_source_compiles("${ISOTHERM_OFFLOAD_TEST}" ISOTHERM_TARGET_REGIONS)
  set(works ${ISOTHERM_TARGET_REGIONS})
  if(NOT works)
    unset(ISOTHERM_TARGET_REGIONS CACHE) # ask again next time: what is missing may be installed
  endif()
  if(NOT works AND ISOTHERM_OFFLOAD_ARCH)
    message(FATAL_ERROR "${CMAKE_C_COMPILER} does not compile and link OpenMP target regions for "
      "${ISOTHERM_OFFLOAD_ARCH}; CMake's log in ${CMAKE_BINARY_DIR}/CMakeFiles has its message. "
      "clang needs lld and OpenMP (libomp-dev) of its own version, gcc its offloading compiler "
      "(gcc-offload-nvptx)")
  elseif(NOT works)
    message(STATUS "no OpenMP target regions in ${CMAKE_C_COMPILER}: this build has no backend offload")
    return()
  endif()
  set(ISOTHERM_WITH_OFFLOAD ON PARENT_SCOPE)
  set(ISOTHERM_OFFLOAD_FLAGS ${flags} PARENT_SCOPE)
  set(ISOTHERM_OFFLOAD_LINK ${link} PARENT_SCOPE)
endfunction()

# The options for the device, or why there are none. Debian keeps the device libraries where clang
# does not look; those of ROCm need no option.
function(isotherm_offload_device flags_variable reason_variable)
  set(${reason_variable} "" PARENT_SCOPE)
  if(ISOTHERM_OFFLOAD_ARCH MATCHES "^sm_" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(${flags_variable} -foffload=nvptx-none "-foffload-options=nvptx-none=-misa=${ISOTHERM_OFFLOAD_ARCH} -latomic" PARENT_SCOPE)
    return()
  endif()
  if(ISOTHERM_OFFLOAD_ARCH MATCHES "^sm_" OR NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    set(${reason_variable} "${CMAKE_C_COMPILER} does not compile for it: clang does for gfx90a (preset offload-amd), gcc for sm_80 (preset offload-nvidia)" PARENT_SCOPE)
    return()
  endif()
  # not --offload-arch: clang 15 forgets it between compiling and linking
  set(flags -fopenmp-targets=amdgcn-amd-amdhsa
    -Xopenmp-target=amdgcn-amd-amdhsa -march=${ISOTHERM_OFFLOAD_ARCH}
    -fopenmp-assume-no-thread-state) # else each team takes 10 to 28 KiB of the LDS for it
  set(debian /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode)
  if(EXISTS ${debian}/ockl.bc)
    list(APPEND flags --rocm-path=/usr --rocm-device-lib-path=${debian})
    string(REGEX MATCH "^[0-9]+" version ${CMAKE_C_COMPILER_VERSION})
    find_file(ISOTHERM_OFFLOAD_BITCODE libomptarget-amdgpu-${ISOTHERM_OFFLOAD_ARCH}.bc
      HINTS /usr/lib/llvm-${version}/lib NO_DEFAULT_PATH)
    if(NOT ISOTHERM_OFFLOAD_BITCODE)
      set(${reason_variable} "clang ${version} has no libomptarget-amdgpu-${ISOTHERM_OFFLOAD_ARCH}.bc; install libomp-${version}-dev, or name the file with -DISOTHERM_OFFLOAD_BITCODE" PARENT_SCOPE)
      return()
    endif()
    list(APPEND flags --libomptarget-amdgpu-bc-path=${ISOTHERM_OFFLOAD_BITCODE})
  endif()
  set(${flags_variable} ${flags} PARENT_SCOPE)
endfunction()

include(CheckCSourceCompiles)
set(ISOTHERM_WITH_OFFLOAD OFF)
if(ISOTHERM_OFFLOAD)
  isotherm_find_offload()
endif()

# Add the backend to a library. The device's code is linked with the program.
function(isotherm_add_offload library)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/offload/*.c
    ${PROJECT_SOURCE_DIR}/kernels/study/*_offload.c)
  add_library(isotherm_offload_kernels OBJECT ${sources})
  target_link_libraries(isotherm_offload_kernels PUBLIC isotherm_base PRIVATE OpenMP::OpenMP_C)
  target_compile_options(isotherm_offload_kernels PRIVATE ${ISOTHERM_OFFLOAD_FLAGS})
  target_sources(${library} PRIVATE $<TARGET_OBJECTS:isotherm_offload_kernels>)
  target_compile_definitions(${library} PRIVATE ISOTHERM_WITH_OFFLOAD)
  # a HIP compiler that links has no such options; there is one OpenMP runtime, that of C
  target_link_options(${library} PUBLIC "$<$<LINK_LANGUAGE:C>:${ISOTHERM_OFFLOAD_LINK}>")
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT ISOTHERM_OFFLOAD_ARCH) # g++ links for nvcc
    set(gxx "$<OR:$<AND:$<LINK_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>,$<LINK_LANGUAGE:CUDA>>")
    target_link_options(${library} PUBLIC "$<HOST_LINK:$<${gxx}:-foffload=disable>>")
  endif()
endfunction()
