/* The exponential function with fixed bits: within 1 ulp of the C library's long double one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <math.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/fixed_exp.h"

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

static void test_accuracy(void **state)
{
    (void)state;
    assert_true(worst_ulps(-16, 0, 200000) < 1);
    assert_true(worst_ulps(-708, 709, 200000) < 1);
    assert_true(worst_ulps(-1e-9, 1e-9, 1000) < 1);
}

static void test_exact_values(void **state)
{
    (void)state;
    assert_true(fixed_exp(0) == 1);
    assert_true(fixed_exp(-0.0) == 1);
    /* the same on every backend and compiler */
    assert_true(fixed_exp(-1) == 0x1.78b56362cef38p-2);
    assert_true(fixed_exp(-16) == 0x1.e355bbaee85cbp-24);
    assert_true(fixed_exp(1) == 0x1.5bf0a8b145769p+1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_exact_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
