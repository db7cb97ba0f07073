/* The weights of wider stencils lose no heat. tests/physics/test_stencil.py has them as fractions.
 */
#include <math.h>

#include "model/operator/high_order.h"
#include "tests/test.h"

static const double K = 2.5; /* W/(m K) */
static const double H = 0.1; /* m */

/* The condition of a constant field of 1 K. */
static struct boundary_state condition_for(enum boundary_kind kind, double biot)
{
    struct boundary_state now = {.closed = true, .fixed = kind == BOUNDARY_TEMPERATURE};
    now.number[BOUNDARY_COEFFICIENT] = kind == BOUNDARY_CONVECTION ? biot * K / H : 0;
    now.number[BOUNDARY_AMBIENT] = 1;
    now.number[BOUNDARY_VALUE] = now.fixed ? 1 : 0;
    return now;
}

struct closing {
    enum boundary_kind kind;
    double biot;
};
static const struct closing closings[] = {{BOUNDARY_TEMPERATURE, 1},
                                          {BOUNDARY_FLUX, 1},
                                          {BOUNDARY_CONVECTION, 0.01},
                                          {BOUNDARY_CONVECTION, 1},
                                          {BOUNDARY_CONVECTION, 250}};
enum { CLOSINGS = sizeof closings / sizeof closings[0] };

/* A coefficient of time may be 0 at times: then nothing passes the face. */
TEST(no_convection_is_no_flux)
{
    double weight[WIDE_RADIUS_MOST];
    struct wide_closure closure;
    const struct boundary_state now = {.closed = true, .number = {[BOUNDARY_AMBIENT] = 300}};
    wide_weights(2, PRECISION_FLOAT64, weight);
    wide_close(2, weight, &now, K, H, &closure);
    assert_true(closure.slope == 0 && closure.value == 0);
}

/* The coefficient of each cell in all rows together is that of the fluxes at the two ends, to the
 * last bit: what leaves one cell enters another. */
static void check_balance(int radius, enum precision precision, const struct closing *closing)
{
    double weight[WIDE_RADIUS_MOST];
    struct wide_closure closure;
    const struct boundary_state now = condition_for(closing->kind, closing->biot);
    wide_weights(radius, precision, weight);
    wide_close(radius, weight, &now, K, H, &closure);
    double rows[WIDE_CELLS_MOST] = {0};
    double ends[WIDE_CELLS_MOST] = {0};
    double given = -closure.in_given;
    for (int row = 0; row < radius; row++) {
        given += closure.given[row];
        rows[row] -= closure.slope * closure.given[row];
        for (int cell = 0; cell < 2 * radius; cell++) {
            rows[cell] += closure.weight[row][cell];
            rows[row] -= closure.weight[row][cell];
        }
    }
    ends[0] -= closure.slope * closure.in_given;
    for (int cell = 1; cell < 2 * radius; cell++) {
        ends[cell] += closure.in[cell];
        ends[0] -= closure.in[cell];
    }
    for (int k = 1; k <= radius; k++) {
        for (int far = k; far <= radius; far++) {
            ends[radius + k - 1] += weight[far - 1];
            ends[radius - k] -= weight[far - 1];
        }
    }
    assert_true(given == 0);
    for (int cell = 0; cell < 2 * radius; cell++) {
        assert_true(rows[cell] == ends[cell]);
    }
}

TEST(no_heat_is_lost)
{
    for (int radius = 2; radius <= 4; radius++) {
        for (int c = 0; c < CLOSINGS; c++) {
            check_balance(radius, PRECISION_FLOAT64, &closings[c]);
            check_balance(radius, PRECISION_FLOAT32, &closings[c]);
        }
    }
}

/* Rounding the weights leaves the conductivity as it is. */
TEST(a_parabola_is_exact_to_the_last_bit)
{
    for (int radius = 2; radius <= 4; radius++) {
        for (int precision = 0; precision < 2; precision++) {
            double weight[WIDE_RADIUS_MOST];
            double sum = 0;
            wide_weights(radius, (enum precision)precision, weight);
            for (int k = 1; k <= radius; k++) {
                assert_true(precision_round((enum precision)precision, weight[k - 1]) ==
                            weight[k - 1]);
                sum += k * k * weight[k - 1];
            }
            assert_true(sum == 1);
        }
    }
}

TEST_MAIN(NULL, NULL)
