# The backend `hip`. ISOTHERM_HIP=amd compiles kernels/*/*.hip.cpp as HIP, ISOTHERM_HIP=nvidia the
# same files as CUDA with kernels/hip/nvidia on the include path, ISOTHERM_HIP=host as C++ with
# tests/hip_on_host, for tests without a GPU. Included only when it is set.
set_property(CACHE ISOTHERM_HIP PROPERTY STRINGS off amd nvidia host)

# Debian keeps CMake's description of HIP where enable_language(HIP) does not look for it, and its
# compiler under its own name: lay out a root as ROCm's, and name the parts. ROCm itself, as on
# Frontier and LUMI, needs none of this.
function(isotherm_hip_debian_root)
  set(debian /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/hip-lang)
  find_program(ISOTHERM_CLANG_HIP NAMES clang++-15 clang++-16 clang++-17)
  if(NOT CMAKE_LIBRARY_ARCHITECTURE OR NOT EXISTS ${debian} OR NOT ISOTHERM_CLANG_HIP
      OR DEFINED CMAKE_HIP_COMPILER OR DEFINED ENV{ROCM_PATH} OR DEFINED ENV{HIPCXX})
    return()
  endif()
  set(root ${CMAKE_BINARY_DIR}/rocm_root)
  file(MAKE_DIRECTORY ${root}/lib/cmake)
  file(CREATE_LINK ${debian} ${root}/lib/cmake/hip-lang SYMBOLIC)
  set(ENV{CMAKE_PREFIX_PATH} /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake)
  set(CMAKE_HIP_COMPILER ${ISOTHERM_CLANG_HIP} CACHE FILEPATH "HIP compiler")
  set(CMAKE_HIP_COMPILER_ROCM_ROOT ${root} CACHE PATH "as ROCm's root")
  set(CMAKE_HIP_FLAGS
    "--rocm-path=/usr --rocm-device-lib-path=/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode"
    CACHE STRING "HIP compiler flags")
endfunction()

if(ISOTHERM_HIP STREQUAL "amd")
  if(NOT CMAKE_HIP_ARCHITECTURES)
    set(CMAKE_HIP_ARCHITECTURES gfx90a CACHE STRING "GPUs to compile for")
  endif()
  isotherm_hip_debian_root()
  enable_language(CXX)
  enable_language(HIP)
  find_package(hip REQUIRED CONFIG HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake /opt/rocm)
  set(ISOTHERM_HIP_LANGUAGE HIP)
elseif(ISOTHERM_HIP STREQUAL "nvidia")
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "GPUs to compile for")
  endif()
  enable_language(CXX)
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  set(ISOTHERM_HIP_LANGUAGE CUDA)
elseif(ISOTHERM_HIP STREQUAL "host")
  enable_language(CXX)
  set(ISOTHERM_HIP_HOST_CHIP gfx90a CACHE STRING "GPU whose code path runs on the host")
  set_property(CACHE ISOTHERM_HIP_HOST_CHIP PROPERTY STRINGS gfx90a sm_90)
  include(tests/hip_on_host/rewrite.cmake)
  set(ISOTHERM_HIP_LANGUAGE CXX)
else()
  message(FATAL_ERROR "ISOTHERM_HIP is '${ISOTHERM_HIP}'; it is off, amd, nvidia or host")
endif()

# Add the backend to a library: C host code, and kernels with flags of their own, since the C
# flags of isotherm_options mean nothing to a device compiler.
function(isotherm_add_hip library)
  set(folder ${PROJECT_SOURCE_DIR}/kernels/hip)
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${folder}/*.hip.cpp)
  if(ISOTHERM_HIP STREQUAL "host")
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${folder}/*.h)
    list(FILTER headers EXCLUDE REGEX /nvidia/)
    list(APPEND kernels ${headers})
    isotherm_rewrite_hip(kernels)
  endif()
  set_source_files_properties(${kernels} PROPERTIES LANGUAGE ${ISOTHERM_HIP_LANGUAGE})
  add_library(isotherm_hip_kernels STATIC ${kernels})
  target_include_directories(isotherm_hip_kernels PRIVATE
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(isotherm_hip_kernels PROPERTIES
    HIP_STANDARD 17 HIP_STANDARD_REQUIRED ON CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
    CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
  # no contraction: fma only where heat_cell.h says so
  target_compile_options(isotherm_hip_kernels PRIVATE
    $<$<COMPILE_LANGUAGE:HIP>:-ffp-contract=off -Wall -Wextra -Wno-unused-parameter>
    $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter,-ffp-contract=off>)

  file(GLOB sources CONFIGURE_DEPENDS ${folder}/host/*.c)
  target_sources(${library} PRIVATE ${sources})
  target_compile_definitions(${library} PRIVATE ISOTHERM_WITH_HIP)
  target_link_libraries(${library} PRIVATE isotherm_hip_kernels)
  set_property(SOURCE ${folder}/host/backend_hip.c PROPERTY
    COMPILE_OPTIONS -DISOTHERM_HIP_FOR_TESTS=$<STREQUAL:${ISOTHERM_HIP},host>
      -DISOTHERM_HIP_COPIES_TILES=$<OR:$<STREQUAL:${ISOTHERM_HIP},nvidia>,$<STREQUAL:${ISOTHERM_HIP_HOST_CHIP},sm_90>>)
  if(ISOTHERM_HIP STREQUAL "host")
    isotherm_hip_on_host(isotherm_hip_kernels)
    target_sources(isotherm_hip_kernels PRIVATE
      ${PROJECT_SOURCE_DIR}/tests/hip_on_host/blocks.cpp
      ${PROJECT_SOURCE_DIR}/tests/hip_on_host/runtime.cpp
      ${PROJECT_SOURCE_DIR}/tests/hip_on_host/tile_copy.cpp)
    set_source_files_properties(${sources} PROPERTIES
      INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/tests/hip_on_host)
  elseif(ISOTHERM_HIP STREQUAL "nvidia")
    target_include_directories(isotherm_hip_kernels PRIVATE ${folder}/nvidia)
    set_source_files_properties(${sources} PROPERTIES
      INCLUDE_DIRECTORIES "${folder}/nvidia;${CUDAToolkit_INCLUDE_DIRS}")
    target_link_libraries(${library} PRIVATE CUDA::cudart_static)
    if(ISOTHERM_UNTIMED) # only what check_sm90.py reads is optimised
      list(FILTER kernels EXCLUDE REGEX "deep/(staged|classes|faces)/|ring/(high_order|faces)")
      set_property(SOURCE ${kernels} APPEND PROPERTY COMPILE_OPTIONS -Ofc=max)
    endif()
    # waves that hand registers to others need code for exactly this chip
    if("90" IN_LIST CMAKE_CUDA_ARCHITECTURES)
      set_source_files_properties(${folder}/schedule/ring/high_order.hip.cpp
        ${folder}/schedule/deep/faces/steps_2.hip.cpp PROPERTIES COMPILE_OPTIONS "--generate-code=arch=compute_90a,code=sm_90a")
    endif()
  else()
    set_source_files_properties(${sources} PROPERTIES
      COMPILE_DEFINITIONS __HIP_PLATFORM_AMD__=1)
    target_link_libraries(${library} PRIVATE hip::host)
  endif()
endfunction()
