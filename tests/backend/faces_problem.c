/* Media whose conductances are stored per cell, or products of lines. */
#include "problem.h"

#include <stdlib.h>

static void *random_values(const struct problem *p, double low, double high, uint64_t *random)
{
    const int64_t elements = p->medium.layout.elements;
    void *values = malloc((size_t)elements * precision_bytes(p->layout.precision));
    assert_non_null(values);
    for (int64_t at = 0; at < elements; at++) {
        host_set(&p->layout, values, at,
                 low == 0 && random_below(random, 9) == 0 ? 0 : random_between(random, low, high));
    }
    return values;
}

/* The numbers of all lines. */
static int64_t count_lines(const struct device_medium *m)
{
    int64_t count = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        count += GRADED_LINES * line_length(&m->layout, axis);
    }
    return count;
}

int64_t problem_sigma_count(const struct device_medium *m)
{
    return (medium_is_graded(m) ? 0 : m->layout.elements) + (m->has_lines ? count_lines(m) : 0);
}

/* Lines of a graded medium, or behind sigma. */
static void make_lines(struct problem *p, bool graded, uint64_t *random)
{
    struct device_medium *m = &p->medium;
    for (int axis = 0; axis < AXIS_COUNT && graded; axis++) {
        free((void *)(uintptr_t)m->d_g[axis]);
        m->d_g[axis] = NULL;
    }
    m->has_lines = true;
    void *values = realloc((void *)(uintptr_t)m->d_sigma,
                           (size_t)problem_sigma_count(m) * precision_bytes(p->layout.precision));
    assert_non_null(values);
    m->d_sigma = values;
    for (int i = 0; i < AXIS_COUNT * GRADED_LINES; i++) {
        const int axis = i / GRADED_LINES;
        const enum graded_line line = (enum graded_line)(i % GRADED_LINES);
        const int64_t first = medium_line(m, axis, line) - m->layout.halo[axis];
        for (int64_t n = 0; n < line_length(&m->layout, axis); n++) {
            const double value = line == GRADED_CONDUCTANCE ? random_between(random, 0.001, 0.02)
                                 : line == GRADED_WIDTH     ? random_between(random, 1, 2)
                                                            : random_between(random, 0.5, 1);
            const bool none = line == GRADED_CONDUCTANCE && p->args.r[axis] == 0;
            host_set(&p->layout, values, first + n, none ? 0 : value);
        }
    }
}

void problem_make_faces(struct problem *p, enum kind kind, uint64_t *random)
{
    struct device_medium *m = &p->medium;
    p->args.kind = kind;
    m->dt = random_between(random, 0.1, 1);
    m->weight_factor = 0.25;
    m->d_sigma = random_values(p, 0.5, 2, random);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        m->d_g[axis] = p->args.r[axis] > 0 ? random_values(p, 0, 0.08, random) : NULL;
    }
    if (kind == KIND_GRADED || random_below(random, 2) == 0) {
        make_lines(p, kind == KIND_GRADED, random);
    }
    const bool affine = random_below(random, 2) == 0;
    for (int i = 0; i < FACE_COUNT * m->nclosures; i++) {
        const int64_t at =
            medium_closure_at(m->nclasses, m->nclosures, i / m->nclosures, i % m->nclosures);
        const bool fixed = random_below(random, 4) == 0;
        const bool radiates = !affine && random_below(random, 4) == 0;
        void *table = (void *)(uintptr_t)m->d_table;
        host_set(&p->layout, table, at, random_between(random, fixed ? 260 : -3, fixed ? 500 : 90));
        host_set(&p->layout, table, at + 1, fixed ? 1 : random_between(random, 0, 0.2));
        host_set(&p->layout, table, at + 2, radiates ? random_between(random, 1e-12, 1e-10) : 0);
        host_set(&p->layout, table, at + 3, fixed ? 1 : 0);
    }
    m->radiating = classes_radiating(m->d_table, p->layout.precision, m->nclasses, m->nclosures);
}
