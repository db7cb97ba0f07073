/* The iterations of Jacobi and of Chebyshev, to compare multigrid with. The residual before a step
 * is that of float64, and a step of Jacobi's method is the cycle of a single grid. */
#include <math.h>

#include "solve/steady/steady.h"

bool steady_is_plain(const struct steady *steady)
{
    return steady->solver == SOLVER_JACOBI || steady->solver == SOLVER_CHEBYSHEV;
}

/* Directions p = z + share p and steps x += factor p for eigenvalues from `least` to 2 (Y. Saad,
 * Iterative Methods for Sparse Linear Systems, 2003, algorithm 12.1). */
static double half_width(const struct steady_chebyshev *c)
{
    return (2 - c->least) / 2;
}

double steady_plain_share(struct steady *steady, double scale)
{
    struct steady_chebyshev *c = &steady->chebyshev;
    const double units = scale / c->scale;
    c->scale = scale;
    if (steady->solver == SOLVER_JACOBI) {
        return 0;
    }
    c->left = steady->pq > 0 ? c->left : 0;
    steady->pq = c->left > 0 ? steady->pq : 0;
    return c->left > 0 ? c->ratio * half_width(c) * c->factor / 2 * units : 0;
}

/* A new iteration starts from the quotient of its first direction: errors that the last one could
 * not reduce are what is left, and have the least eigenvalues. */
double steady_plain_factor(struct steady *steady, double pr)
{
    enum { REACH = 2 }; /* an iteration divides errors by about e^(2 REACH) / 2 */
    struct steady_chebyshev *c = &steady->chebyshev;
    if (steady->solver == SOLVER_JACOBI) {
        return 1;
    }
    if (c->left > 0) {
        c->left--;
        c->ratio = 1 / ((2 + c->least) / half_width(c) - c->ratio);
        c->factor = 2 * c->ratio / half_width(c);
    } else {
        const double quotient = steady->pq / pr;
        c->least = fmin(c->least > 0 ? c->least : 1, quotient > 0 ? quotient : 1);
        c->left = (int64_t)ceil(REACH / sqrt(c->least / 2));
        c->ratio = half_width(c) / (1 + c->least / 2);
        c->factor = 1 / (1 + c->least / 2);
    }
    return c->factor;
}
