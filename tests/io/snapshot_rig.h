/* Cases for the tests of snapshots. What they leave in their folders is for check_snapshots.py and
 * check_vtk.py, with expect.json beside it. */
#pragma once

#include "io_rig.h"

#include "io/snapshot/snapshot.h"

extern const char TITLE[], CONFIG[];

enum { MOST = 64 };

/* What a case must contain in the end: the seed stands for the values. */
struct expected {
    int count;
    int64_t steps[MOST];
    int seeds[MOST];
};

struct work {
    struct rig rig;
    struct snapshots *snapshots;
    struct snapshot_setting setting;
    struct view view;
    const char *region; /* as JSON, for the scripts */
    uint8_t *of_class;  /* 1: a gap; NULL: there are none */
    char folder[PATH_BYTES];
    struct expected expected;
};

/* Open a case; `region` NULL: the whole grid; `derived`: bits of derived_kind. A name with "graded"
 * has such axes, and one with "gaps" cells of an ambient. */
void work_open_derived(struct work *w, const char *name, const int64_t cells[AXIS_COUNT],
                       enum precision field, enum precision file, int compress,
                       const struct region_setting *region, unsigned derived);
void work_open_region(struct work *w, const char *name, const int64_t cells[AXIS_COUNT],
                      enum precision field, enum precision file, int compress,
                      const struct region_setting *region);
void work_open(struct work *w, const char *name, const int64_t cells[AXIS_COUNT],
               enum precision field, enum precision file, int compress);
void work_reopen(struct work *w, int64_t restart_step);
enum status put_step(struct work *w, int64_t step);
void work_write(struct work *w, int64_t step, int seed);
void work_close(struct work *w);
