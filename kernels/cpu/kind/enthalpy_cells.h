/* Single cells of enthalpy.c. */

struct stencil {
    const struct layout *layout;
    const struct device_medium *medium;
    const bool *closed;                     /* by face */
    bool corrects;                          /* see struct coefficients */
    bool alone[AXIS_COUNT];                 /* y and z without neighbours: cells are their own */
    bool reads_classes;                     /* cells of one curve differ in q or perfusion */
    const REAL *table, *numbers, *segments; /* the table, and parts of it */
    REAL *out;
    const REAL *in;
    struct tally *tally;          /* of this thread, one per face */
    struct step_scratch *scratch; /* of this thread */
    struct lookup *lookup;        /* of class modulo LOOKUPS; NULL: none */
};

static struct lookup *lookup_of(const struct stencil *s, int of_class)
{
    const int curve = s->medium->one_curve ? 0 : of_class;
    const int count = s->medium->nsegments;
    const REAL *segments = s->segments + nonlinear_pitch(count) * curve;
    struct lookup *lookup = &s->lookup[curve % LOOKUPS];
    if (lookup->segments != segments) {
        lookup->segments = segments;
        lookup->count = count;
        lookup_from(lookup, 0);
    }
    return lookup;
}

KERNEL_INLINE struct NAMED(nonlinear) evaluate(const struct stencil *s, int of_class, REAL u)
{
    const int count = s->medium->nsegments;
    const int curve = s->medium->one_curve ? 0 : of_class;
    const REAL *segments = s->segments + nonlinear_pitch(count) * curve;
    const struct lookup *lookup = s->lookup != NULL ? &s->lookup[curve % LOOKUPS] : NULL;
    /* a window is not moved for one cell */
    return lookup != NULL && lookup->segments == segments ? lookup_cell(lookup, u)
                                                          : NAMED(nonlinear_at)(segments, count, u);
}

/* A cell and its place. */
struct cell {
    int64_t at[AXIS_COUNT];
    const uint8_t *class_of; /* and of its neighbours */
    const REAL *u;
    int of_class;
    struct NAMED(nonlinear) is;
};

KERNEL_INLINE struct cell cell_at(const struct stencil *s, int64_t i, int64_t j, int64_t k)
{
    struct cell cell = {.at = {i, j, k},
                        .class_of = s->medium->d_class + layout_index(&s->medium->layout, i, j, k),
                        .u = s->in + layout_index(s->layout, i, j, k)};
    cell.of_class =
        s->medium->nclasses == 1 ? 0 : *cell.class_of & s->medium->mask; /* not in vain */
    cell.is = evaluate(s, cell.of_class, *cell.u);
    return cell;
}

KERNEL_INLINE bool is_closed(const struct stencil *s, const struct cell *cell, int face)
{
    return s->closed[face] &&
           cell->at[face / 2] == (face % 2 == 0 ? 0 : s->layout->cells[face / 2] - 1);
}

/* Count what flows through a closed face. */
KERNEL_INLINE void tally_face(const struct stencil *s, int face, REAL g, REAL difference)
{
    if (s->tally[face].target != NULL) {
        tally_add_one(&s->tally[face], (double)g * (double)difference);
    }
}

/* g of a face of a cell, and the difference that it multiplies. */
KERNEL_INLINE REAL cross(const struct stencil *s, const struct cell *cell, int face,
                         REAL *difference)
{
    const struct device_medium *m = s->medium;
    const int axis = face / 2;
    const int sign = face % 2 == 0 ? -1 : 1;
    const int own = cell->of_class;
    const REAL *numbers = s->numbers + (int64_t)NONLINEAR_NUMBERS * own;
    if (is_closed(s, cell, face)) {
        const int closure =
            medium_closure(m->d_patch[face], m->patch_pitch[face], m->first_closure[face],
                           m->nclasses, face, cell->at, own);
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
        evaluate(s, other, cell->u[sign * step[axis]]),
        s->table[medium_g_at(m->nclasses, axis, own, other)], difference);
}
