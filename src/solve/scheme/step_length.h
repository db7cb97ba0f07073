/* Lengths of steps by a tolerance: 2^(n / 16) times forward Euler's longest step. Errors are
 * compared by the same logarithm: decisions are made with integers, so they do not depend on a
 * library. */
#pragma once

#include "model/timeline.h"

enum {
    STEPS_PER_OCTAVE = 16,
    STEP_LOG_MOST = 400,
    STEP_IMPLICIT_MOST = 320,
    STEP_BY_EULER = 1000 /* see struct step_control */
};

static inline int64_t step_clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value < most ? value : most;
}

/* The floor of 16 log2 of a ratio, at most STEP_LOG_MOST in magnitude. */
int64_t step_log(double ratio);

/* The length of an exponent, s. */
double step_length(const struct timeline *timeline, int64_t exponent);

/* The stages of a super step of that length, s; 0: none is that long. */
int step_stages(const struct timeline *timeline, double length);

/* At most `length`, s: the limit of fewer stages where that takes less work per time, with an
 * estimate that costs that many levels. */
double step_cheapest(const struct timeline *timeline, double length, int estimate);
