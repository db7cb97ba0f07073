# The report of `isotherm --version --verbose`: CMake writes generated/app/build.h when it
# configures, and generated/app/commit.h at each build.

# A library is a row here: its name, the prefix of its pkg_check_modules, and its first module,
# which has the version if there are several.
set(rows "Cairo CAIRO cairo-png" "muParser MUPARSER muparser" "libyaml YAML yaml-0.1"
  "hwloc HWLOC hwloc" "xxHash XXHASH libxxhash" "UDUNITS UDUNITS udunits" "libtiff TIFF libtiff-4"
  "niftiio NIFTI -")
set(ISOTHERM_LIBRARIES "")
foreach(row IN LISTS rows)
  string(REPLACE " " ";" row ${row})
  list(GET row 0 name)
  list(GET row 1 prefix)
  list(GET row 2 module)
  set(version "${${prefix}_VERSION}")
  if(NOT version)
    set(version "${${prefix}_${module}_VERSION}")
  endif()
  if(NOT ${prefix}_FOUND)
    set(version "not built in")
  endif()
  list(APPEND ISOTHERM_LIBRARIES "{\"${name}\", \"${version}\"}")
endforeach()
list(JOIN ISOTHERM_LIBRARIES ", " ISOTHERM_LIBRARIES)

set(ISOTHERM_COMPILERS "")
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
foreach(language IN LISTS languages)
  if(CMAKE_${language}_COMPILER_VERSION)
    list(APPEND ISOTHERM_COMPILERS
      "${language}: ${CMAKE_${language}_COMPILER_ID} ${CMAKE_${language}_COMPILER_VERSION}")
  endif()
endforeach()
list(JOIN ISOTHERM_COMPILERS ", " ISOTHERM_COMPILERS)

string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
set(ISOTHERM_FLAGS "${CMAKE_BUILD_TYPE}: ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}}")
if(ISOTHERM_CPU_ARCH)
  string(APPEND ISOTHERM_FLAGS " -march=${ISOTHERM_CPU_ARCH}")
endif()
if(ISOTHERM_SANITIZE)
  string(APPEND ISOTHERM_FLAGS " -fsanitize=address,undefined")
endif()
if(ISOTHERM_HIP)
  string(APPEND ISOTHERM_FLAGS
    ", ${ISOTHERM_HIP}: ${CMAKE_HIP_ARCHITECTURES}${CMAKE_CUDA_ARCHITECTURES}")
endif()
string(REGEX REPLACE "  +" " " ISOTHERM_FLAGS "${ISOTHERM_FLAGS}")
string(REGEX REPLACE "([\\\\\"])" "\\\\\\1" ISOTHERM_FLAGS "${ISOTHERM_FLAGS}")
configure_file(build.h.in ${PROJECT_BINARY_DIR}/generated/app/build.h @ONLY)

set(commit ${PROJECT_BINARY_DIR}/generated/app/commit.h)
add_custom_target(isotherm_commit
  COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D OUTPUT=${commit}
    -P ${PROJECT_SOURCE_DIR}/cmake/commit.cmake
  BYPRODUCTS ${commit})
add_dependencies(isotherm_app isotherm_commit)
