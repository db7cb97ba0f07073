# Writes configs/templates/*.yaml and jobscripts/sweep.py into a C file, so that `isotherm init` and
# `sweep` need no data folder: cmake -DFOLDER=... -DSCRIPT=... -DOUTPUT=... -P embed_templates.cmake
file(GLOB files ${FOLDER}/*.yaml)
list(SORT files)
set(arrays)
set(rows)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text HEX)
  string(REGEX REPLACE "(..)" "0x\\1," text "${text}")
  string(APPEND arrays "static const char ${name}[] = {${text}0};\n")
  string(APPEND rows "    {\"${name}\", ${name}},\n")
endforeach()
file(READ ${SCRIPT} script HEX)
string(REGEX REPLACE "(..)" "0x\\1," script "${script}")
file(WRITE ${OUTPUT}
  "#include \"app/command/commands.h\"\n\n${arrays}\nconst struct config_template config_templates[] = {\n${rows}    {0, 0},\n};\n\nconst char sweep_script[] = {${script}0};\n")
