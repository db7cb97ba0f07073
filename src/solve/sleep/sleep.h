/* Tiles of a level that no pass has to advance, since they cannot change: run.sleeping_tiles. Speed
 * only (docs/developers/sleeping_tiles.md). */
#pragma once

#include "solve/engine.h"

/* Starts zeroed. */
struct sleep {
    bool possible;       /* for the problem, and this setting */
    bool is_on;          /* passes advance tiles only, one step each */
    uint32_t summarised; /* the number of the pass whose summary the tiles keep; 0: none */
    struct tiles tiles;
    void *d_memory;           /* of the tiles */
    struct coefficients last; /* of the last pass with tiles */
    int64_t passes;           /* with tiles */
    /* of sleep_control.h */
    int64_t next_look;   /* the step at which to decide again */
    int64_t pause;       /* steps without tiles, the next time */
    int64_t passes_then; /* at the last look */
    double advanced;     /* tiles by then; after sleep_count of all ranks */
    double all;          /* after sleep_count: the tiles of all passes and ranks */
};

/* Not collective. Divide a subdomain into tiles. `open`: beyond these faces lies the halo. Destroy
 * it after a failure, too. */
enum status sleep_create(struct sleep *sleep, struct engine *engine, const struct layout *layout,
                         const bool open[FACE_COUNT], int radius);
void sleep_destroy(struct sleep *sleep, const struct engine *engine); /* takes a zeroed one */

/* The next pass advances all tiles: the fields may not be those of two successive steps. */
static inline void sleep_forget(struct sleep *sleep)
{
    sleep->tiles.all = true;
    sleep->summarised = 0;
}

/* Before a step with these coefficients: give it its number, and wake all tiles if they are not
 * those of the step before. */
void sleep_begin_step(struct sleep *sleep, const struct coefficients *coefficients);
