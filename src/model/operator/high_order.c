/* Next to a closed face, one polynomial gives the fluxes of the radius nearest faces. It has the
 * averages of the NEAREST cells and meets the boundary condition. With cells and faces numbered
 * from 0 at the boundary, h = 1 and U the integral of the temperature from there,
 *   U = L + c omega,  omega(x) = x (x - 1) .. (x - n),
 * where L interpolates the n + 1 known values of U at the faces, and the condition
 *   p U' + q U'' = g  at 0  gives c. The flux at face f is then U''(f) = L''(f) + c omega''(f).
 * All derivatives at the faces are integers over n!, found without rounding. */
#include "model/operator/high_order.h"

#include <math.h>
#include <string.h>

enum { NODES_MOST = 2 * WIDE_RADIUS_MOST }; /* n + 1 faces of n = 2 radius - 1 cells */

/* n! times the derivatives, as weights of the cells' averages; and those of omega. */
struct interpolation {
    int n;
    double factorial;
    int64_t value[NODES_MOST];                  /* L'(0) */
    int64_t flux[WIDE_RADIUS_MOST][NODES_MOST]; /* L''(f) */
    int64_t omega_value;                        /* omega'(0), not times n! */
    int64_t omega_flux[WIDE_RADIUS_MOST];       /* omega''(f), not times n! */
};

struct polynomial {
    int degree;
    int64_t c[NODES_MOST + 1];
};

static void multiply(struct polynomial *p, int64_t root)
{
    p->c[p->degree + 1] = 0;
    for (int d = ++p->degree; d >= 0; d--) {
        p->c[d] = (d > 0 ? p->c[d - 1] : 0) - root * p->c[d];
    }
}

/* The product of (x - f) for all faces f up to n but `without`. */
static struct polynomial product(int n, int without)
{
    struct polynomial p = {.degree = 0, .c = {1}};
    for (int f = 0; f <= n; f++) {
        if (f != without) {
            multiply(&p, f);
        }
    }
    return p;
}

static int64_t first_derivative_at_0(const struct polynomial *p)
{
    return p->c[1];
}

static int64_t second_derivative(const struct polynomial *p, int64_t x)
{
    int64_t sum = 0;
    for (int d = p->degree; d >= 2; d--) {
        sum = sum * x + (int64_t)d * (d - 1) * p->c[d];
    }
    return sum;
}

static int64_t factorial(int n)
{
    return n > 1 ? n * factorial(n - 1) : 1;
}

static void interpolate(int radius, struct interpolation *in)
{
    const int n = 2 * radius - 1;
    *in = (struct interpolation){.n = n, .factorial = (double)factorial(n)};
    for (int node = 1; node <= n; node++) { /* U(0) = 0 */
        const struct polynomial p = product(n, node);
        const int64_t sign = (n - node) % 2 == 0 ? 1 : -1;
        const int64_t scale = sign * factorial(n) / (factorial(node) * factorial(n - node));
        for (int cell = 0; cell < node; cell++) { /* U(node) is the sum of these */
            in->value[cell] += scale * first_derivative_at_0(&p);
            for (int f = 0; f < radius; f++) {
                in->flux[f][cell] += scale * second_derivative(&p, f);
            }
        }
    }
    const struct polynomial omega = product(n, -1);
    in->omega_value = first_derivative_at_0(&omega);
    for (int f = 0; f < radius; f++) {
        in->omega_flux[f] = second_derivative(&omega, f);
    }
}

/* Multiples of 2^-places: sums of a few weights are exact. */
static double on_grid(double weight, int places)
{
    return ldexp(nearbyint(ldexp(weight, places)), -places);
}

/* w_k = 2 (-1)^(k+1) R!^2 / (k^2 (R-k)! (R+k)!); and w_1 such that the sum of k^2 w_k is 1 exactly:
 * a linear flux, and with it the conductivity, is not rounded. */
void wide_weights(int radius, enum precision precision, double weight[WIDE_RADIUS_MOST])
{
    const int places = precision == PRECISION_FLOAT64 ? 48 : 22;
    double rest = 0;
    for (int k = 2; k <= radius; k++) {
        const double sign = k % 2 == 0 ? -1 : 1;
        const double square = (double)(factorial(radius) * factorial(radius));
        const double below = (double)(k * k * factorial(radius - k) * factorial(radius + k));
        weight[k - 1] = on_grid(sign * 2 * square / below, places);
        rest += k * k * weight[k - 1];
    }
    weight[0] = 1 - rest;
}

/* p U' + q U'' = g = given (value - slope times the face's temperature), for the weights. */
struct condition {
    double p, q, given;
};

static struct condition condition_of(const struct boundary_state *now, double k, double h,
                                     struct wide_closure *closure)
{
    const double coefficient = now->number[BOUNDARY_COEFFICIENT];
    const double biot = coefficient * h / k;
    closure->slope = 1;
    closure->value = now->number[BOUNDARY_VALUE];
    if (now->fixed) {
        return (struct condition){.p = 1, .q = 0, .given = 1};
    }
    if (coefficient > 0) {
        closure->value = now->number[BOUNDARY_AMBIENT] + closure->value / coefficient;
        return (struct condition){.p = -biot, .q = 1, .given = -biot};
    }
    closure->slope = 0;
    closure->value = closure->value * h / k;
    return (struct condition){.p = 0, .q = 1, .given = -1};
}

/* The flux at each of the faces 0 to radius, away from the boundary. */
struct fluxes {
    double cell[WIDE_RADIUS_MOST + 1][WIDE_CELLS_MOST];
    double given[WIDE_RADIUS_MOST + 1];
};

/* A constant temperature that meets the condition has no flux: the sum of all weights, with a given
 * temperature among them, is exactly 0. */
static void round_flux(struct fluxes *fluxes, int face, int n, bool is_temperature)
{
    enum { PLACES = 48 };
    double sum = 0;
    for (int cell = 0; cell < n; cell++) {
        fluxes->cell[face][cell] = on_grid(fluxes->cell[face][cell], PLACES);
        sum += fluxes->cell[face][cell];
    }
    if (is_temperature) {
        fluxes->given[face] = -sum;
    } else {
        fluxes->cell[face][face] -= sum;
        fluxes->given[face] = on_grid(fluxes->given[face], PLACES);
    }
}

static void find_fluxes(int radius, const double weight[WIDE_RADIUS_MOST],
                        const struct condition *condition, bool is_temperature,
                        struct fluxes *fluxes)
{
    struct interpolation in;
    interpolate(radius, &in);
    memset(fluxes, 0, sizeof *fluxes);
    const double below =
        condition->p * (double)in.omega_value + condition->q * (double)in.omega_flux[0];
    for (int f = 0; f < radius; f++) {
        const double c = (double)in.omega_flux[f] / below;
        for (int cell = 0; cell < in.n; cell++) {
            const double value = (double)in.value[cell] / in.factorial;
            const double first = (double)in.flux[0][cell] / in.factorial;
            fluxes->cell[f][cell] = (double)in.flux[f][cell] / in.factorial -
                                    c * (condition->p * value + condition->q * first);
        }
        fluxes->given[f] = c * condition->given;
        round_flux(fluxes, f, in.n, is_temperature);
    }
    if (condition->p == 0) { /* the given flux itself */
        memset(fluxes->cell[0], 0, sizeof fluxes->cell[0]);
        fluxes->given[0] = -1;
    }
    for (int k = radius; k >= 1; k--) { /* as inside: w_k and all beyond */
        const double before = k < radius ? fluxes->cell[radius][radius + k] : 0;
        fluxes->cell[radius][radius + k - 1] = before + weight[k - 1];
        fluxes->cell[radius][radius - k] = -fluxes->cell[radius][radius + k - 1];
    }
}

void wide_close(int radius, const double weight[WIDE_RADIUS_MOST], const struct boundary_state *now,
                double k, double h, struct wide_closure *closure)
{
    struct fluxes fluxes;
    memset(closure, 0, sizeof *closure);
    const struct condition condition = condition_of(now, k, h, closure);
    find_fluxes(radius, weight, &condition, closure->slope == 1, &fluxes);
    for (int row = 0; row < radius; row++) {
        for (int cell = 0; cell < 2 * radius; cell++) {
            closure->weight[row][cell] = fluxes.cell[row + 1][cell] - fluxes.cell[row][cell];
        }
        closure->given[row] = fluxes.given[row + 1] - fluxes.given[row];
        closure->weight[row][row] = 0; /* of the difference from itself */
    }
    for (int cell = 1; cell < 2 * radius; cell++) {
        closure->in[cell] = -fluxes.cell[0][cell];
    }
    closure->in_given = -fluxes.given[0];
}

/* --- stability ------------------------------------------------------------------------------- */

/* The largest magnitude of an eigenvalue in units of alpha / h^2; all are real and negative.
 * `free`: inside, where the symbol has its largest value at the shortest wave; also with fluxes,
 * and with convection up to hc h / k = 1. `held`: with one or two given temperatures, and at most
 * with convection. tests/physics/test_wide_spectrum.py computes them. */
static const struct {
    double free, held;
} stiffness[WIDE_RADIUS_MOST + 1] = {
    [2] = {16.0 / 3, 7.7541}, [3] = {272.0 / 45, 10.3891}, [4] = {2048.0 / 315, 12.2616}};

static bool is_held(const struct boundary_setting *face, double k, double h)
{
    return face->kind == BOUNDARY_TEMPERATURE ||
           (face->kind == BOUNDARY_CONVECTION &&
            (face->number[BOUNDARY_COEFFICIENT].formula != NULL ||
             face->number[BOUNDARY_COEFFICIENT].value * h > k));
}

double wide_stable_dt(const struct settings *settings, const struct grid *grid,
                      const struct medium *medium)
{
    const int radius = wide_radius(settings);
    double sum = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double h = grid_width(grid, (enum axis)axis, 0);
        const struct boundary_setting *low =
            &settings->boundary[face_of((enum axis)axis, SIDE_MIN)];
        const struct boundary_setting *high =
            &settings->boundary[face_of((enum axis)axis, SIDE_MAX)];
        const bool held =
            is_held(low, medium->conductivity, h) || is_held(high, medium->conductivity, h);
        if (grid->used[axis]) {
            sum += (held ? stiffness[radius].held : stiffness[radius].free) / (h * h);
        }
    }
    return 2 / (medium->diffusivity * sum);
}

/* --- what wider stencils take ---------------------------------------------------------------- */

enum status wide_check(const struct settings *settings, const struct grid *grid)
{
    const int order = settings->run.stencil_order;
    char room[MEDIUM_KEY_BYTES];
    const char *what = NULL;
    if (order <= 2) {
        return STATUS_OK;
    }
    const char *key = medium_class_key(settings, room, &what);
    FAIL_IF(key != NULL,
            settings_fail(settings, key,
                          "%s is computed with order 2 only, and run.stencil.order is %d; give "
                          "order 2, or leave it out",
                          what, order));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        FAIL_IF(grid->used[axis] && grid->cells[axis] < order,
                settings_fail(settings, "grid.cells",
                              "%s has %lld cells; run.stencil.order %d needs at least %d on "
                              "each axis with more than one",
                              axis_name((enum axis)axis), (long long)grid->cells[axis], order,
                              order));
    }
    return STATUS_OK;
}
