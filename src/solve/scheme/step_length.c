#include "solve/scheme/step_length.h"

#include <math.h>

#include "model/superstep/superstep.h"

/* clang-format off */
static const double roots[STEPS_PER_OCTAVE] = {
    0x1p0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
    0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
    0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
/* clang-format on */

int64_t step_log(double ratio)
{
    int power = 0;
    int n = 0;
    if (!(ratio > 0x1p-25) || !(ratio < 0x1p25)) {
        return ratio <= 0x1p-25 ? -STEP_LOG_MOST : STEP_LOG_MOST; /* also of NaN */
    }
    const double part = 2 * frexp(ratio, &power);
    while (n + 1 < STEPS_PER_OCTAVE && part >= roots[n + 1]) {
        n++;
    }
    return STEPS_PER_OCTAVE * (int64_t)(power - 1) + n;
}

double step_length(const struct timeline *timeline, int64_t exponent)
{
    const int64_t part = (exponent % STEPS_PER_OCTAVE + STEPS_PER_OCTAVE) % STEPS_PER_OCTAVE;
    return ldexp(roots[part], (int)((exponent - part) / STEPS_PER_OCTAVE)) * timeline->dt_stable;
}

int step_stages(const struct timeline *timeline, double length)
{
    return superstep_stages(SCHEME_STS2, 2 * length / timeline->dt_stable * (1 - 1e-12));
}

double step_cheapest(const struct timeline *timeline, double length, int estimate)
{
    if (timeline->setting.scheme == SCHEME_IMPLICIT) {
        return length;
    }
    const double tau_radius = 2 * length / timeline->dt_stable;
    const int stages = step_stages(timeline, length);
    int fewer = stages - 4;
    while (fewer > 0 && superstep_limit(SCHEME_STS2, fewer) == 0) {
        fewer -= 4;
    }
    const double limit = superstep_limit(SCHEME_STS2, fewer);
    const bool pays = (fewer + estimate) * tau_radius < (stages + estimate) * limit;
    return fewer > 0 && pays ? limit / 2 * timeline->dt_stable : length;
}
