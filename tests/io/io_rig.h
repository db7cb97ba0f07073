/* What the tests of files need: a field spread over the first few ranks, filled with numbers that
 * depend on the cell alone, and a folder of their own. */
#pragma once

#include <sys/resource.h>

#include "base/comm.h"
#include "base/file.h"
#include "io/checkpoint/checkpoint.h"
#include "model/field/field.h"
#include "model/space/grid.h"
#include "tests/test_ranks.h"

/* Fails the test with the recorded message unless the call succeeds. */
#define must(call) must_at((call), #call, __FILE__, __LINE__)
void must_at(enum status status, const char *call, const char *file, int line);

/* Fails the test unless the call's status is `code` and its message contains `text`. */
#define must_fail(code, text, call) must_fail_at((code), (text), (call), #call, __FILE__, __LINE__)
void must_fail_at(enum status code, const char *text, enum status status, const char *call,
                  const char *file, int line);

/* comm is MPI_COMM_NULL, and everything else zero, on ranks that have no part in it. */
struct rig {
    MPI_Comm comm;
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    struct decomp decomp;
    struct grid grid;
    struct medium material;
    struct field *field;
};

/* Give cells of different widths to a grid, on x and z. */
void rig_grade(struct grid *grid);

/* Collective over MPI_COMM_WORLD; the field lies on the first `nranks` ranks. */
void rig_open(struct rig *rig, int nranks, const int64_t cells[AXIS_COUNT],
              enum precision precision, const char *backend);
void rig_close(struct rig *rig);
static inline bool rig_has(const struct rig *rig)
{
    return rig->comm != MPI_COMM_NULL;
}

/* What cell (i, j, k) holds for a seed: all bits of a double in use, or a multiple of 1/4 K that
 * every precision holds exactly. The latter is also in check_snapshots.py. */
double rig_rough(int64_t index, int seed);
double rig_plain(int64_t i, int64_t j, int64_t k, int seed);

void rig_fill_rough(struct rig *rig, int seed);
void rig_fill_plain(struct rig *rig, int seed);
/* The derived fields that there are: rig_plain with seed + 1 + kind, of the heat flux its square
 * as on the device. */
void rig_fill_derived(struct rig *rig, int seed);
/* Fails unless the field is bit for bit what rig_fill_rough put there. */
void rig_expect_rough(struct rig *rig, int seed);
uint64_t rig_hash(struct rig *rig);

/* A state whose every number depends on the step. */
struct checkpoint_state rig_state(struct rig *rig, int64_t step);
void rig_write_checkpoint(struct rig *rig, const char *directory, int64_t step, int keep);

/* Collective. Load a checkpoint, or the newest one of a folder, that does not differ. */
enum status rig_read(struct rig *rig, const char *path, struct checkpoint_state *state);
enum status rig_read_newest(struct rig *rig, const char *directory, struct checkpoint_state *state,
                            bool *found, char *path);

/* Collective. Fill the field by `initial: file`. */
enum status read_file(struct rig *rig, const char *path, const char *dataset);

/* Files larger than this fail to be written on every rank, as on a full disk. */
void rig_limit_file_size(rlim_t bytes);

/* Collective. Make and empty, remove a folder tree. */
void folder_make_empty(const char *path);
void folder_remove(const char *path);

/* For TEST_MAIN_RANKS. Makes rig_folder, "<program>.np<ranks>"; it stays, to be
 * looked at. */
int rig_begin(void **state);
extern char rig_folder[PATH_BYTES];
