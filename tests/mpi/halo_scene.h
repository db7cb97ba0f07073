/* One decomposed problem on this rank, and the table of problems that the halo tests go through. */
#pragma once

#include "mpi_rig.h"

#include "halo/exchange.h"
#include "model/field/field.h"

struct way {
    const char *backend;
    struct halo_options wishes;
};
/* All combinations that can work. The first ones take no time for proofs: for many cases. */
enum { QUICK_WAYS = 7, WAYS = 13 };
extern struct way ways[WAYS];
/* To be called first: -1, or the value of main, for this is also the program that the probe of a
 * transport starts. argv[1] in the place of `guard`: where there is a GPU, the same cases run on it
 * ("hip"). */
int halo_prepare(int argc, char **argv);

struct scene {
    struct rig rig;
    struct decomp decomp;
    struct box owned; /* global indices */
    struct field *field;
    struct halo_plan plan;
    struct halo *halo;
    enum precision precision;
};

/* A field with the decomposition's halo layers; exchanged are all of them, at the faces. */
void scene_open(struct scene *scene, const struct decomp *decomp, const struct way *way,
                enum precision precision);
/* The same with an exchange of `width` layers and this reach. */
void scene_open_reaching(struct scene *scene, const struct decomp *decomp, int width,
                         enum halo_reach reach, const struct way *way, enum precision precision);
/* The same with a backend that need not be in the table. */
void scene_open_on(struct scene *scene, const struct backend *backend, const struct decomp *decomp,
                   int width, enum halo_reach reach, const struct halo_options *wishes,
                   enum precision precision);
void scene_close(struct scene *scene); /* waits for the queue first */

/* A temperature of its own for every global cell and round; exact in float32. */
double temperature(const struct decomp *decomp, const int64_t cell[AXIS_COUNT], int round);
/* Give the owned cells their temperatures of this round. */
void scene_fill(struct scene *scene, int round);

double load(const void *values, int64_t n, enum precision precision);

typedef void case_function(const struct decomp *decomp, const struct way *way,
                           enum precision precision);
/* Every way to place this many ranks, in 1D to 3D, with every mix of periodic axes; uneven blocks
 * of at least `width` cells; backends, transports and precisions in turn. */
void all_cases(case_function *run, int width);
