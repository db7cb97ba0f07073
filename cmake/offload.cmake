# OpenMP target regions, of the study `jacobi`. They run on the host unless the compiler makes code for
# ISOTHERM_OFFLOAD_ARCH: clang for gfx90a (ROCm's compiler, or Debian's clang with libomp-dev and lld of
# its version, and rocm-device-libs), gcc for sm_80 and later (with its offloading compiler for nvptx).
set(ISOTHERM_OFFLOAD_ARCH "" CACHE STRING
    "device that OpenMP target regions are compiled for (gfx90a by clang, sm_80 by gcc); empty: the host only")

# The options for the device. Debian keeps the device libraries where clang does not look; those of
# ROCm need no option.
function(isotherm_offload_device flags_variable)
  if(ISOTHERM_OFFLOAD_ARCH MATCHES "^sm_" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(${flags_variable} -foffload=nvptx-none "-foffload-options=nvptx-none=-misa=${ISOTHERM_OFFLOAD_ARCH} -latomic" PARENT_SCOPE)
    return()
  endif()
  if(ISOTHERM_OFFLOAD_ARCH MATCHES "^sm_" OR NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "ISOTHERM_OFFLOAD_ARCH=${ISOTHERM_OFFLOAD_ARCH}: ${CMAKE_C_COMPILER} does not compile for it: "
      "clang does for gfx90a (preset offload-amd), gcc for sm_80 (preset offload-nvidia)")
  endif()
  # not --offload-arch: clang 15 forgets it between compiling and linking
  set(flags -fopenmp-targets=amdgcn-amd-amdhsa
    -Xopenmp-target=amdgcn-amd-amdhsa -march=${ISOTHERM_OFFLOAD_ARCH}
    -fopenmp-assume-no-thread-state) # else each team takes 10 to 28 KiB of the LDS for it
  set(debian /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode)
  if(EXISTS ${debian}/ockl.bc)
    string(REGEX MATCH "^[0-9]+" version ${CMAKE_C_COMPILER_VERSION})
    find_file(ISOTHERM_OFFLOAD_BITCODE libomptarget-amdgpu-${ISOTHERM_OFFLOAD_ARCH}.bc
      HINTS /usr/lib/llvm-${version}/lib NO_DEFAULT_PATH)
    if(NOT ISOTHERM_OFFLOAD_BITCODE)
      message(FATAL_ERROR "clang ${version} has no libomptarget-amdgpu-${ISOTHERM_OFFLOAD_ARCH}.bc; "
        "install libomp-${version}-dev, or name the file with -DISOTHERM_OFFLOAD_BITCODE")
    endif()
    list(APPEND flags --rocm-path=/usr --rocm-device-lib-path=${debian}
      --libomptarget-amdgpu-bc-path=${ISOTHERM_OFFLOAD_BITCODE})
  endif()
  set(${flags_variable} ${flags} PARENT_SCOPE)
endfunction()

include(CheckCSourceCompiles)
set(ISOTHERM_TARGET_REGION [[
int main(void)
{
    int n = 0;
#pragma omp target teams distribute parallel for reduction(+ : n) map(tofrom : n)
    for (int i = 0; i < 5; i++) {
        n += i;
    }
    return n;
}
]])

# Add a source with target regions to a library, and define ISOTHERM_WITH_OFFLOAD, where the compiler
# can link them. The device's code is linked with the program.
function(isotherm_add_offload library source)
  set(flags "")
  set(link ${OpenMP_C_FLAGS})
  if(ISOTHERM_OFFLOAD_ARCH)
    isotherm_offload_device(flags)
    list(APPEND link ${flags})
  elseif(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND link -foffload=disable) # no code for devices whose compilers happen to be installed
  endif()
  set(CMAKE_REQUIRED_LIBRARIES OpenMP::OpenMP_C)
  list(JOIN flags " " CMAKE_REQUIRED_FLAGS)
  set(CMAKE_REQUIRED_LINK_OPTIONS ${link})
  check_c_source_compiles("${ISOTHERM_TARGET_REGION}" ISOTHERM_TARGET_REGIONS)
  set(works ${ISOTHERM_TARGET_REGIONS})
  if(NOT works)
    unset(ISOTHERM_TARGET_REGIONS CACHE) # ask again next time: what is missing may be installed
    if(ISOTHERM_OFFLOAD_ARCH)
      message(FATAL_ERROR "${CMAKE_C_COMPILER} does not compile and link OpenMP target regions for "
        "${ISOTHERM_OFFLOAD_ARCH}; CMake's log in ${CMAKE_BINARY_DIR}/CMakeFiles has its message. "
        "clang needs lld and OpenMP (libomp-dev) of its own version, gcc its offloading compiler "
        "(gcc-offload-nvptx)")
    endif()
    message(STATUS "no OpenMP target regions in ${CMAKE_C_COMPILER}: bench jacobi has no offload variants")
    return()
  endif()
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${flags}")
  target_sources(${library} PRIVATE ${source})
  target_compile_definitions(${library} PRIVATE ISOTHERM_WITH_OFFLOAD)
  # a HIP compiler that links has no such options; there is one OpenMP runtime, that of C
  target_link_options(${library} PUBLIC "$<$<LINK_LANGUAGE:C>:${link}>")
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT ISOTHERM_OFFLOAD_ARCH) # g++ links for nvcc
    set(gxx "$<OR:$<AND:$<LINK_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>,$<LINK_LANGUAGE:CUDA>>")
    target_link_options(${library} PUBLIC "$<HOST_LINK:$<${gxx}:-foffload=disable>>")
  endif()
endfunction()
