/* The part of probes.h5 that is made once: for series_file.c. */
#ifndef ISOTHERM_IO_SERIES_SERIES_MAKE_H
#define ISOTHERM_IO_SERIES_SERIES_MAKE_H

#include "io/hdf5/h5.h"
#include "io/series/series_file.h"

enum { SERIES_NAME_BYTES = 64 }; /* of a point, in the file */

/* A file without lists; replaces one that is there. */
enum status series_make_file(const char *path, const struct series_setup *setup) MUST_CHECK;

/* The lists of one series, without rows. Rows that are never written, or not wholly taken back,
 * hold -1 for the step and NaN for what else is in them. */
enum status series_make_group(hid_t file, const struct series_setup *setup) MUST_CHECK;

#endif
