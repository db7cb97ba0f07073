# Run by `cmake --install`, with `share` and `program` from install.cmake: what the installed
# scripts must know of the installation.
set(folder "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${share}/jobscripts")

# isotherm_replace(FILE OLD NEW)
function(isotherm_replace file old new)
  file(READ ${folder}/${file} text)
  string(REPLACE "${old}" "${new}" changed "${text}")
  if(changed STREQUAL text AND NOT old STREQUAL new)
    message(FATAL_ERROR "${file} has no ${old}")
  endif()
  file(WRITE ${folder}/${file} "${changed}")
endfunction()

# Slurm runs a copy of a job script, and users copy them to change them.
file(GLOB scripts RELATIVE ${folder} ${folder}/*.sbatch)
foreach(script IN LISTS scripts)
  isotherm_replace(${script} "\${SLURM_SUBMIT_DIR:-$(dirname \"$0\")/..}"
    "${CMAKE_INSTALL_PREFIX}/${share}")
endforeach()

# A folder of programs other than bin.
isotherm_replace(program.sh "../../bin/isotherm" "${program}")
