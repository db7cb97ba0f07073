/* Single cells of enthalpy.c in one precision (precisions.h). */

struct NAMED(stencil) {
    const struct layout *layout;
    const struct device_medium *medium;
    const bool *closed;                     /* by face */
    bool corrects;                          /* see struct coefficients */
    bool alone[AXIS_COUNT];                 /* y and z without neighbours: cells are their own */
    bool reads_classes;                     /* cells of one curve differ in q or perfusion */
    const REAL *table, *numbers, *segments; /* the table, and parts of it */
    REAL *out;
    const REAL *in;
    struct tally *tally;             /* of this thread, one per face */
    struct NAMED(scratch) * scratch; /* of this thread */
    struct NAMED(lookup) * lookup;   /* of class modulo LOOKUPS; NULL: none */
};

static struct NAMED(lookup) * NAMED(lookup_of)(const struct NAMED(stencil) * s, int of_class)
{
    const int curve = s->medium->one_curve ? 0 : of_class;
    const int count = s->medium->nsegments;
    const REAL *segments = s->segments + nonlinear_pitch(count) * curve;
    struct NAMED(lookup) *lookup = &s->lookup[curve % LOOKUPS];
    if (lookup->segments != segments) {
        lookup->segments = segments;
        lookup->count = count;
        NAMED(lookup_from)(lookup, 0);
    }
    return lookup;
}

KERNEL_INLINE struct NAMED(nonlinear)
    NAMED(evaluate)(const struct NAMED(stencil) * s, int of_class, REAL u)
{
    const int count = s->medium->nsegments;
    const int curve = s->medium->one_curve ? 0 : of_class;
    const REAL *segments = s->segments + nonlinear_pitch(count) * curve;
    const struct NAMED(lookup) *lookup = s->lookup != NULL ? &s->lookup[curve % LOOKUPS] : NULL;
    /* a window is not moved for one cell */
    return lookup != NULL && lookup->segments == segments ? NAMED(lookup_cell)(lookup, u)
                                                          : NAMED(nonlinear_at)(segments, count, u);
}

/* A cell and its place. */
struct NAMED(cell) {
    int64_t at[AXIS_COUNT];
    const uint8_t *class_of; /* and of its neighbours */
    const REAL *u;
    int of_class;
    struct NAMED(nonlinear) is;
};

KERNEL_INLINE struct NAMED(cell)
    NAMED(cell_at)(const struct NAMED(stencil) * s, int64_t i, int64_t j, int64_t k)
{
    struct NAMED(cell)
        cell = {.at = {i, j, k},
                .class_of = s->medium->d_class + layout_index(&s->medium->layout, i, j, k),
                .u = s->in + layout_index(s->layout, i, j, k)};
    cell.of_class =
        s->medium->nclasses == 1 ? 0 : *cell.class_of & s->medium->mask; /* not in vain */
    cell.is = NAMED(evaluate)(s, cell.of_class, *cell.u);
    return cell;
}

KERNEL_INLINE bool NAMED(is_closed)(const struct NAMED(stencil) * s,
                                    const struct NAMED(cell) * cell, int face)
{
    return s->closed[face] &&
           cell->at[face / 2] == (face % 2 == 0 ? 0 : s->layout->cells[face / 2] - 1);
}

/* Count what flows through a closed face. */
KERNEL_INLINE void NAMED(tally_face)(const struct NAMED(stencil) * s, int face, REAL g,
                                     REAL difference)
{
    if (s->tally[face].target != NULL) {
        tally_add_one(&s->tally[face], (double)g * (double)difference);
    }
}

/* g of a face of a cell, and the difference that it multiplies. */
KERNEL_INLINE REAL NAMED(cross)(const struct NAMED(stencil) * s, const struct NAMED(cell) * cell,
                                int face, REAL *difference)
{
    const struct device_medium *m = s->medium;
    const int axis = face / 2;
    const int sign = face % 2 == 0 ? -1 : 1;
    const int own = cell->of_class;
    const REAL *numbers = s->numbers + (int64_t)NONLINEAR_NUMBERS * own;
    if (NAMED(is_closed)(s, cell, face)) {
        const int closure = medium_closure(m->d_patch[face], m->patch_pitch[face], m->nclasses,
                                           face, cell->at, own);
        const REAL half = cell->is.conductivity / numbers[NONLINEAR_W + axis];
        *difference = NAMED(nonlinear_face)(
            s->table + medium_closure_at(m->nclasses, m->nclosures, face, closure), half,
            cell->is.temperature);
        return half;
    }
    const int64_t step[AXIS_COUNT] = {1, s->layout->pitch_y, s->layout->pitch_z};
    const int64_t class_step[AXIS_COUNT] = {1, m->layout.pitch_y, m->layout.pitch_z};
    const int other = cell->class_of[sign * class_step[axis]] & m->mask;
    return NAMED(nonlinear_between)(
        axis, numbers, cell->is, s->numbers + (int64_t)NONLINEAR_NUMBERS * other,
        NAMED(evaluate)(s, other, cell->u[sign * step[axis]]),
        s->table[medium_g_at(m->nclasses, axis, own, other)], difference);
}

static void NAMED(convert_row)(const struct NAMED(stencil) * s, enum enthalpy_conversion conversion,
                               int64_t j, int64_t k)
{
    const int count = s->medium->nsegments;
    const uint8_t *classes = s->medium->d_class + layout_index(&s->medium->layout, 0, j, k);
    const int64_t at = layout_index(s->layout, 0, j, k);
    for (int64_t i = 0; i < s->layout->cells[AXIS_X]; i++) {
        const int c = classes[i] & s->medium->mask;
        s->out[at + i] = conversion == CONVERT_TO_ENTHALPY
                             ? NAMED(nonlinear_enthalpy)(s->segments + nonlinear_pitch(count) * c,
                                                         count, s->in[at + i])
                             : NAMED(evaluate)(s, c, s->in[at + i]).temperature;
    }
}

static void NAMED(liquid_row)(const struct NAMED(stencil) * s, int64_t j, int64_t k,
                              double *fraction)
{
    const uint8_t *classes = s->medium->d_class + layout_index(&s->medium->layout, 0, j, k);
    const REAL *field = s->in + layout_index(s->layout, 0, j, k);
    for (int64_t i = 0; i < s->layout->cells[AXIS_X]; i++) {
        fraction[i] = (double)NAMED(nonlinear_liquid)(
            s->numbers + (int64_t)NONLINEAR_NUMBERS * (classes[i] & s->medium->mask), field[i]);
    }
}

static void NAMED(flux_row)(const struct NAMED(stencil) * s, const double scale[AXIS_COUNT],
                            int64_t j, int64_t k, double *flux)
{
    for (int64_t i = 0; i < s->layout->cells[AXIS_X]; i++) {
        const struct NAMED(cell) cell = NAMED(cell_at)(s, i, j, k);
        double along[AXIS_COUNT];
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            REAL d[SIDE_COUNT];
            const REAL low = NAMED(cross)(s, &cell, 2 * axis, &d[SIDE_MIN]);
            const REAL high = NAMED(cross)(s, &cell, 2 * axis + 1, &d[SIDE_MAX]);
            along[axis] = derived_flux_between(0, (double)d[SIDE_MIN], (double)d[SIDE_MAX],
                                               (double)low, (double)high, scale[axis]);
        }
        flux[i] = derived_square(along[0], along[1], along[2]);
    }
}
