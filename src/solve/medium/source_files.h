/* The values per cell of `sources` of kind file, and of those whose density depends on position or
 * temperature, on the device of one rank. */
#pragma once

#include "machine/team.h"
#include "model/operator/operator.h"
#include "solve/engine.h"
#include "solve/medium/classes.h"

struct source_files {
    int count;
    struct source_file {
        float *d_values; /* W/m^3 of the owned cells, [z][y][x]; NULL: not of this kind */
        struct source_curve *d_curve; /* NULL, or their factor */
        bool painted;                 /* a shape has cells */
        double least, most;           /* of the grid */
        double total; /* W: their sum times the volume of a cell; with a curve NAN */
        double gross; /* W: the same of their magnitudes; with a curve times 1 W/m^3 */
    } * file;         /* one per entry of `sources`; NULL: none */
};

/* Device memory that source_files_open needs. */
uint64_t source_files_bytes(const struct problem *problem, const struct box *owned);

/* Collective, agreed. Read this rank's cells. STATUS_INPUT or STATUS_FILE, with the line of the
 * configuration, when a dataset cannot be read or has values that are not finite, or a shape has no
 * cells. */
enum status source_files_open(const struct problem *problem, const struct team *team,
                              struct engine *engine, const struct classes *classes,
                              struct source_files *files);
/* The power of entry `s` of `sources`, of any kind, in the step of `op`, W. STATUS_NUMERICS, the
 * same on all ranks, when a formula has no finite value. Not collective. */
enum status source_files_power(const struct source_files *files, const struct problem *problem,
                               const struct heat_operator *op, int s, double *watts);
/* What sources give and take together, W, without regard to the sign. */
double source_files_gross(const struct source_files *files, const struct problem *problem,
                          const struct heat_operator *op);
void source_files_close(struct source_files *files, struct engine *engine); /* takes a zeroed one */
