/* Will it fit? Asked before anything large is allocated, so that the answer has all the numbers. */
#ifndef ISOTHERM_SOLVE_MEMORY_CHECK_H
#define ISOTHERM_SOLVE_MEMORY_CHECK_H

#include "solve/solver.h"

/* Collective. STATUS_MEMORY, agreed, when the ranks that share a device need more than is free on
 * it: with both numbers, the device, and what would help. *room_for_copies, the same on all ranks:
 * whether outputs on their way to the host (model/copy_out.h) fit as well. Needs run->decomp and
 * run->device_info; nothing may have been allocated since that was asked for. */
enum status memory_check(const struct run *run, bool *room_for_copies) MUST_CHECK;

#endif
