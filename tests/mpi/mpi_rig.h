/* What all tests under mpirun need. An assertion that fails on one rank only would leave the
 * others waiting in their next collective call: so checks are counted, and all ranks agree. */
#pragma once

#include "../backend/rig.h"
#include "tests/test_ranks.h"

/* Count a failure; the test goes on. */
#define check(condition) check_at((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
void check_at(int good, const char *text, const char *file, int line);

/* Collective. Fails the test on every rank when a check has failed on any. */
void settle(void);

/* End all ranks with the recorded message unless the call succeeds. */
#define demand(call) demand_at((call), #call, __FILE__, __LINE__)
void demand_at(enum status status, const char *call, const char *file, int line);
