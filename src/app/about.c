/* What the program says of itself: its versions. */
#include "app/about.h"

#include <string.h>

#include <mpi.h>

#include "app/build.h"
#include "app/commit.h"
#include "base/version.h"
#include "io/hdf5/h5_about.h"
#include "kernels/backends.h"

/* The libraries that CMake looked for, except MPI and HDF5, which report their own versions. */
static const char *const libraries[][2] = {ISOTHERM_LIBRARIES};

static void print_row(FILE *stream, const char *name, const char *value)
{
    fprintf(stream, "%-14s %s\n", name, value);
}

static void print_mpi(FILE *stream)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "unknown";
    int length = 0;
    /* one of the few calls that are valid before MPI_Init */
    if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) {
        snprintf(text, sizeof text, "unknown");
    }
    text[strcspn(text, "\n")] = '\0';
    print_row(stream, "MPI", text);
}

static void print_hdf5(FILE *stream)
{
    const struct h5_about hdf5 = h5_about();
    char text[128];
    /* parallel: CMake takes no other */
    snprintf(text, sizeof text, "%s, parallel (built with %s)", hdf5.version, hdf5.built);
    print_row(stream, "HDF5", text);
}

/* All that users can choose: `isotherm doctor` shows whether they can run here. */
static void print_backends(FILE *stream)
{
    const char *separator = "";
    fprintf(stream, "%-15s", "backends");
    for (int i = 0; i < backend_count(); i++) {
        if (!backend_at(i)->for_tests) {
            fprintf(stream, "%s%s", separator, backend_at(i)->name);
            separator = ", ";
        }
    }
    fprintf(stream, "\n");
}

void about_print(FILE *stream, bool verbose)
{
    fprintf(stream, "isotherm %s\n", ISOTHERM_VERSION);
    if (!verbose) {
        return;
    }
    print_row(stream, "commit", ISOTHERM_COMMIT);
    print_row(stream, "compilers", ISOTHERM_COMPILERS);
    print_row(stream, "flags", ISOTHERM_FLAGS);
    print_backends(stream);
    print_mpi(stream);
    print_hdf5(stream);
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        print_row(stream, libraries[i][0], libraries[i][1]);
    }
}
