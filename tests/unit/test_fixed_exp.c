/* The exponential function with fixed bits: within 1 ulp of the C library's long double one. */
#include <math.h>
#include <stdio.h>

#include "kernels/cell/fixed_exp.h"
#include "tests/test.h"

static double worst_ulps(double from, double to, int samples)
{
    double worst = 0;
    for (int n = 0; n <= samples; n++) {
        const double x = from + (to - from) * n / samples;
        const long double wanted = expl((long double)x);
        const double found = fixed_exp(x);
        const long double ulp = (long double)(nextafter((double)wanted, INFINITY) - (double)wanted);
        worst = fmax(worst, (double)(fabsl((long double)found - wanted) / ulp));
    }
    return worst;
}

TEST(test_accuracy)
{
    assert_true(worst_ulps(-16, 0, 200000) < 1);
    assert_true(worst_ulps(-708, 709, 200000) < 1);
    assert_true(worst_ulps(-1e-9, 1e-9, 1000) < 1);
}

TEST(test_exact_values)
{
    assert_true(fixed_exp(0) == 1);
    assert_true(fixed_exp(-0.0) == 1);
    /* the same on every backend and compiler */
    assert_true(fixed_exp(-1) == 0x1.78b56362cef38p-2);
    assert_true(fixed_exp(-16) == 0x1.e355bbaee85cbp-24);
    assert_true(fixed_exp(1) == 0x1.5bf0a8b145769p+1);
}

TEST_MAIN(NULL, NULL)
