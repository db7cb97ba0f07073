/* The memory that the self-check keeps: sums and copies of what steps never write, and the sum of
 * the bits of the field from pass to pass. */
#pragma once

#include "solve/observe/self_check_faults.h"

/* Device memory of the copies, but for that of the classes. */
uint64_t kept_bytes(const struct problem *problem, const struct box *owned);

/* Not collective; before the first step. */
enum status kept_create(struct self_check *check);
void kept_destroy(struct self_check *check);

/* Not collective; queued. Copy classes that change with the state, or restore them (`back`). */
enum status kept_copy_classes(struct self_check *check, bool back);

/* Not collective. The present field is right: only later changes of its memory count.
 * `is_start`: it is the one that d_start is a copy of. */
enum status kept_rebase(const struct self_check *check, bool is_start);

/* Not collective. *wrong: d_start has other bits than that field had. */
enum status kept_check_start(const struct self_check *check, bool *wrong);

/* Collective. Exchange the halo of the present field once more. *wrong: on any rank it has other
 * bits than the cells of the neighbour that has sent it. */
enum status kept_check_halo(struct self_check *check, bool *wrong);

/* Collective. *wrong: on any rank a bit has changed in memory since the step `verified`. What steps
 * never write is right again, but not the steps since. */
enum status kept_check(struct self_check *check, bool *wrong);
