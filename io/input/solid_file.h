/* Bodies from STL files, binary or text. */
#pragma once

#include "model/space/solid.h"

/* Not collective, needs no MPI. A solid_reader.
 */
enum status solid_file_read(const struct shape_setting *part, const struct grid *grid,
                            struct solid *solid);
