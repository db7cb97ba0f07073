/* The rows of step_nonlinear.c in one precision. Included once for each, and without include guard
 * for that reason, with
 *   REAL           the element type
 *   FMA            fma or fmaf
 *   NAMED(name)    name with the precision appended */

/* A tile: its cells are evaluated once, with one layer around them, plane by plane. */
enum { NAMED(ROW) = TILE_X + 2 };
struct NAMED(plane) {
    int64_t k;
    REAL temperature[TILE_Y + 2][NAMED(ROW)];
    REAL conductivity[TILE_Y + 2][NAMED(ROW)];
};

struct NAMED(stencil) {
    const struct layout *layout;
    const struct step_args *args;
    const struct medium_args *medium;
    const REAL *table, *of_class, *segments; /* the table, and parts of it */
    struct tally *tally;                     /* of this thread, one per face */
    REAL *out;
    const REAL *in;
    /* of the present row: */
    REAL g[FACE_COUNT][NAMED(ROW)];
    REAL difference[FACE_COUNT][NAMED(ROW)]; /* of temperatures: neighbour - cell */
    struct NAMED(plane) plane[3];            /* k modulo 3 */
};

/* Cells of one class with few segments: their numbers are selected, which needs no loads. The
 * segment is the one that nonlinear_at finds. */
KERNEL_INLINE void NAMED(evaluate_alike)(const REAL *segments, int count, const REAL *restrict u,
                                         int64_t n, REAL *restrict temperature,
                                         REAL *restrict conductivity)
{
    REAL of[8][5];
    for (int s = 0; s < count; s++) {
        of[s][0] = segments[s];
        memcpy(&of[s][1], segments + count + (int64_t)4 * s, 4 * sizeof(REAL));
    }
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        REAL begin = of[0][0];
        REAL t = of[0][1];
        REAL t_slope = of[0][2];
        REAL k = of[0][3];
        REAL k_slope = of[0][4];
        for (int s = 1; s < count; s++) {
            const bool in = u[i] >= of[s][0];
            begin = in ? of[s][0] : begin;
            t = in ? of[s][1] : t;
            t_slope = in ? of[s][2] : t_slope;
            k = in ? of[s][3] : k;
            k_slope = in ? of[s][4] : k_slope;
        }
        const REAL beyond = u[i] - begin;
        temperature[i] = FMA(t_slope, beyond, t);
        conductivity[i] = FMA(k_slope, beyond, k);
    }
}

static void NAMED(evaluate_cells)(const struct NAMED(stencil) * s, const REAL *u,
                                  const uint8_t *classes, int64_t n, REAL *temperature,
                                  REAL *conductivity)
{
    const REAL *segments = s->segments;
    const int mask = s->medium->mask;
    const int count = s->medium->nsegments;
    for (int64_t i = 0; i < n; i++) {
        const REAL *of_class = segments + (int64_t)5 * count * (classes[i] & mask);
        const struct NAMED(nonlinear) at = NAMED(nonlinear_at)(of_class, count, u[i]);
        temperature[i] = at.temperature;
        conductivity[i] = at.conductivity;
    }
}

static void NAMED(evaluate)(const struct NAMED(stencil) * s, const REAL *u, const uint8_t *classes,
                            int64_t n, REAL *temperature, REAL *conductivity)
{
    const int count = s->medium->nsegments;
    const REAL *segments = s->segments + (int64_t)5 * count * (classes[0] & s->medium->mask);
    if (count > 8 || !classes_are_alike(classes, n, s->medium->mask)) {
        NAMED(evaluate_cells)(s, u, classes, n, temperature, conductivity);
    } else if (count == 8) {
        NAMED(evaluate_alike)(segments, 8, u, n, temperature, conductivity);
    } else if (count == 4) {
        NAMED(evaluate_alike)(segments, 4, u, n, temperature, conductivity);
    } else if (count == 2) {
        NAMED(evaluate_alike)(segments, 2, u, n, temperature, conductivity);
    } else {
        NAMED(evaluate_alike)(segments, 1, u, n, temperature, conductivity);
    }
}

/* The rows of a plane that the tile reads; the corners of its outline are not needed. */
static void NAMED(evaluate_plane)(struct NAMED(stencil) * s, const struct box *tile, int64_t k)
{
    struct NAMED(plane) *plane = &s->plane[(k + 3) % 3];
    const struct layout *l = s->layout;
    const struct layout *of_class = &s->medium->layout;
    const int64_t *cells = l->cells;
    const bool inside = k >= tile->lo[AXIS_Z] && k < tile->hi[AXIS_Z];
    const bool *closed = s->args->closed;
    const bool beyond_x[2] = {tile->lo[0] > 0 || !closed[FACE_X_MIN],
                              tile->hi[0] < cells[AXIS_X] || !closed[FACE_X_MAX]};
    plane->k = k;
    if ((k < 0 && closed[FACE_Z_MIN]) || (k >= cells[AXIS_Z] && closed[FACE_Z_MAX])) {
        return;
    }
    for (int64_t j = tile->lo[AXIS_Y] - inside; j < tile->hi[AXIS_Y] + inside; j++) {
        const bool in_tile = inside && j >= tile->lo[AXIS_Y] && j < tile->hi[AXIS_Y];
        const int64_t row = j - tile->lo[AXIS_Y] + 1;
        const int64_t lo = tile->lo[AXIS_X] - (in_tile && beyond_x[0]);
        const int64_t hi = tile->hi[AXIS_X] + (in_tile && beyond_x[1]);
        const int64_t at = lo - tile->lo[AXIS_X] + 1;
        if ((j < 0 && closed[FACE_Y_MIN]) || (j >= cells[AXIS_Y] && closed[FACE_Y_MAX])) {
            continue;
        }
        NAMED(evaluate)
        (s, s->in + layout_index(l, lo, j, k),
         s->medium->d_class + layout_index(of_class, lo, j, k), hi - lo,
         &plane->temperature[row][at], &plane->conductivity[row][at]);
    }
}

/* A cell and its neighbour across a face, in a row. */
struct NAMED(pair) {
    const REAL *t, *k, *other_t, *other_k;
    const uint8_t *classes, *others;
};

KERNEL_INLINE void NAMED(couple)(struct NAMED(stencil) * s, const struct NAMED(pair) * pair,
                                 int face, int64_t n, bool plain)
{
    const int axis = face / 2;
    const int mask = s->medium->mask;
    const int nclasses = s->medium->nclasses;
    const REAL w = s->of_class[axis];
    REAL *restrict g = s->g[face];
    REAL *restrict difference = s->difference[face];
    for (int64_t i = 0; i < n; i++) {
        if (plain) {
            g[i] = NAMED(nonlinear_g)(pair->k[i], w, pair->other_k[i], w, 0);
        } else {
            const int a = pair->classes[i] & mask;
            const int b = pair->others[i] & mask;
            g[i] = NAMED(nonlinear_g)(pair->k[i], s->of_class[NONLINEAR_NUMBERS * a + axis],
                                      pair->other_k[i], s->of_class[NONLINEAR_NUMBERS * b + axis],
                                      s->table[medium_g_at(nclasses, axis, a, b)]);
        }
        difference[i] = pair->other_t[i] - pair->t[i];
    }
}

/* Cell i of a row that begins at `first`, on a closed face. */
static void NAMED(close)(struct NAMED(stencil) * s, const struct NAMED(pair) * pair, enum face face,
                         int64_t i, const int64_t first[AXIS_COUNT])
{
    const struct medium_args *m = s->medium;
    const int64_t cell[AXIS_COUNT] = {first[0] + i, first[1], first[2]};
    const int of_class = pair->classes[i] & m->mask;
    const int closure =
        medium_closure(m->d_patch[face], m->nclasses, face, s->layout->cells, cell, of_class);
    const REAL half = pair->k[i] / s->of_class[NONLINEAR_NUMBERS * of_class + face / 2];
    s->g[face][i] = half;
    s->difference[face][i] = NAMED(nonlinear_face)(
        s->table + medium_closure_at(m->nclasses, m->nclosures, face, closure), half, pair->t[i]);
    if (s->tally[face].target != NULL) {
        tally_add_one(&s->tally[face], (double)half * (double)s->difference[face][i]);
    }
}

KERNEL_INLINE void NAMED(update)(const struct NAMED(stencil) * s, const uint8_t *classes,
                                 const REAL *t, int64_t n, bool alike, const REAL *u,
                                 REAL *restrict out)
{
    const int mask = s->medium->mask;
    const int first = classes[0] & mask;
    const REAL q = s->table[medium_cell_at(first) + 1];
    REAL of_class[NONLINEAR_NUMBERS];
    memcpy(of_class, s->of_class + (int64_t)NONLINEAR_NUMBERS * first, sizeof of_class);
    for (int64_t i = 0; i < n; i++) {
        const int c = classes[i] & mask;
        const REAL source =
            alike ? NAMED(nonlinear_source)(of_class, q, t[i])
                  : NAMED(nonlinear_source)(s->of_class + (int64_t)NONLINEAR_NUMBERS * c,
                                            s->table[medium_cell_at(c) + 1], t[i]);
        out[i] = u[i] + NAMED(nonlinear_sum)(
                            s->g[0][i], s->g[1][i], s->g[2][i], s->g[3][i], s->g[4][i], s->g[5][i],
                            s->difference[0][i], s->difference[1][i], s->difference[2][i],
                            s->difference[3][i], s->difference[4][i], s->difference[5][i], source);
    }
}

/* The row (j, k) of the tile. */
static void NAMED(step_row)(struct NAMED(stencil) * s, const struct box *tile, int64_t j, int64_t k)
{
    const struct layout *l = s->layout;
    const struct layout *of_class = &s->medium->layout;
    const int64_t first[AXIS_COUNT] = {tile->lo[AXIS_X], j, k};
    const int64_t n = box_extent(tile, AXIS_X);
    const int64_t row = j - tile->lo[AXIS_Y] + 1;
    const struct NAMED(plane) *
        planes[3] = {&s->plane[(k + 2) % 3], &s->plane[k % 3], &s->plane[(k + 1) % 3]};
    const uint8_t *classes = s->medium->d_class + layout_index(of_class, first[0], j, k);
    const int64_t class_step[AXIS_COUNT] = {1, of_class->pitch_y, of_class->pitch_z};
    struct NAMED(pair) pair = {.t = &planes[1]->temperature[row][1],
                               .k = &planes[1]->conductivity[row][1],
                               .classes = classes};
    for (int face = 0; face < FACE_COUNT; face++) {
        const int axis = face / 2;
        const int sign = face % 2 == 0 ? -1 : 1;
        const struct NAMED(plane) *other = planes[axis == AXIS_Z ? 1 + sign : 1];
        const int64_t other_row = axis == AXIS_Y ? row + sign : row;
        const int64_t at = axis == AXIS_X ? 1 + sign : 1;
        const int64_t last = sign < 0 ? 0 : l->cells[axis] - 1;
        const bool closed = s->args->closed[face];
        pair.other_t = &other->temperature[other_row][at];
        pair.other_k = &other->conductivity[other_row][at];
        pair.others = classes + sign * class_step[axis];
        if (closed && axis != AXIS_X && first[axis] == last) {
            for (int64_t i = 0; i < n; i++) {
                NAMED(close)(s, &pair, (enum face)face, i, first);
            }
            continue;
        }
        const bool ends =
            closed && axis == AXIS_X && (sign < 0 ? first[0] : first[0] + n - 1) == last;
        if (s->medium->plain) {
            NAMED(couple)(s, &pair, face, n, true);
        } else {
            NAMED(couple)(s, &pair, face, n, false);
        }
        if (ends) {
            NAMED(close)(s, &pair, (enum face)face, sign < 0 ? 0 : n - 1, first);
        }
    }
    const int64_t at = layout_index(l, first[0], j, k);
    if (classes_are_alike(classes, n, s->medium->mask)) {
        NAMED(update)(s, classes, pair.t, n, true, s->in + at, s->out + at);
    } else {
        NAMED(update)(s, classes, pair.t, n, false, s->in + at, s->out + at);
    }
}

static void NAMED(step_tile)(struct NAMED(stencil) * s, const struct box *tile)
{
    NAMED(evaluate_plane)(s, tile, tile->lo[AXIS_Z] - 1);
    NAMED(evaluate_plane)(s, tile, tile->lo[AXIS_Z]);
    for (int64_t k = tile->lo[AXIS_Z]; k < tile->hi[AXIS_Z]; k++) {
        NAMED(evaluate_plane)(s, tile, k + 1);
        for (int64_t j = tile->lo[AXIS_Y]; j < tile->hi[AXIS_Y]; j++) {
            NAMED(step_row)(s, tile, j, k);
        }
    }
}

static void NAMED(step_piece)(struct NAMED(stencil) * s, const struct box *piece)
{
    for (int64_t j = piece->lo[AXIS_Y]; j < piece->hi[AXIS_Y]; j += TILE_Y) {
        for (int64_t i = piece->lo[AXIS_X]; i < piece->hi[AXIS_X]; i += TILE_X) {
            struct box tile = *piece;
            tile.lo[AXIS_X] = i;
            tile.hi[AXIS_X] = i + TILE_X;
            tile.lo[AXIS_Y] = j;
            tile.hi[AXIS_Y] = j + TILE_Y;
            tile = box_intersect(&tile, piece);
            NAMED(step_tile)(s, &tile);
        }
    }
}

static void NAMED(begin)(struct NAMED(stencil) * s, const struct layout *layout,
                         const struct step_args *args, void *out, const void *in,
                         struct tally *tally)
{
    const struct medium_args *m = args->medium;
    s->layout = layout;
    s->args = args;
    s->medium = m;
    s->table = m->d_table;
    s->of_class = s->table + nonlinear_class_at(m->nclasses, m->nclosures, 0);
    s->segments = s->table + nonlinear_segments_at(m->nclasses, m->nclosures, m->nsegments, 0);
    s->tally = tally;
    s->out = out;
    s->in = in;
}

static void NAMED(convert_row)(const struct layout *layout, const struct medium_args *m,
                               enum enthalpy_conversion conversion, const REAL *in, int64_t j,
                               int64_t k, REAL *out)
{
    const REAL *table = m->d_table;
    const uint8_t *classes = m->d_class + layout_index(&m->layout, 0, j, k);
    const int count = m->nsegments;
    for (int64_t i = 0; i < layout->cells[AXIS_X]; i++) {
        const int c = classes[i] & m->mask;
        const REAL *segments = table + nonlinear_segments_at(m->nclasses, m->nclosures, count, c);
        out[i] = conversion == CONVERT_TO_ENTHALPY
                     ? NAMED(nonlinear_enthalpy)(segments, count, in[i])
                     : NAMED(nonlinear_at)(segments, count, in[i]).temperature;
    }
}

static void NAMED(liquid_row)(const struct layout *layout, const struct medium_args *m,
                              const REAL *in, int64_t j, int64_t k, double *fraction)
{
    const REAL *of_class =
        (const REAL *)m->d_table + nonlinear_class_at(m->nclasses, m->nclosures, 0);
    const uint8_t *classes = m->d_class + layout_index(&m->layout, 0, j, k);
    for (int64_t i = 0; i < layout->cells[AXIS_X]; i++) {
        fraction[i] = (double)NAMED(nonlinear_liquid)(
            of_class + (int64_t)NONLINEAR_NUMBERS * (classes[i] & m->mask), in[i]);
    }
}

/* The sides of an axis of one cell: g, and the differences of temperatures. */
static void NAMED(cell_sides)(const struct layout *layout, const struct medium_args *m,
                              const bool *closed, const REAL *field, const int64_t cell[AXIS_COUNT],
                              int axis, double g[SIDE_COUNT], double difference[SIDE_COUNT])
{
    const REAL *table = m->d_table;
    const REAL *numbers = table + nonlinear_class_at(m->nclasses, m->nclosures, 0);
    const REAL *segments =
        table + nonlinear_segments_at(m->nclasses, m->nclosures, m->nsegments, 0);
    const uint8_t *classes = m->d_class + layout_index(&m->layout, cell[0], cell[1], cell[2]);
    const int64_t at = layout_index(layout, cell[0], cell[1], cell[2]);
    const int64_t pitch[AXIS_COUNT] = {1, layout->pitch_y, layout->pitch_z};
    const int64_t class_pitch[AXIS_COUNT] = {1, m->layout.pitch_y, m->layout.pitch_z};
    const int own = classes[0] & m->mask;
    const REAL w = numbers[NONLINEAR_NUMBERS * own + axis];
    const struct NAMED(nonlinear) here =
        NAMED(nonlinear_at)(segments + (int64_t)5 * m->nsegments * own, m->nsegments, field[at]);
    for (int side = 0; side < SIDE_COUNT; side++) {
        const int face = 2 * axis + side;
        const int64_t sign = side == 0 ? -1 : 1;
        if (closed[face] && cell[axis] == (side == 0 ? 0 : layout->cells[axis] - 1)) {
            const int closure =
                medium_closure(m->d_patch[face], m->nclasses, face, layout->cells, cell, own);
            const REAL half = here.conductivity / w;
            g[side] = (double)half;
            difference[side] = (double)NAMED(nonlinear_face)(
                table + medium_closure_at(m->nclasses, m->nclosures, face, closure), half,
                here.temperature);
            continue;
        }
        const int other = classes[sign * class_pitch[axis]] & m->mask;
        const struct NAMED(nonlinear) there =
            NAMED(nonlinear_at)(segments + (int64_t)5 * m->nsegments * other, m->nsegments,
                                field[at + sign * pitch[axis]]);
        g[side] = (double)NAMED(nonlinear_g)(here.conductivity, w, there.conductivity,
                                             numbers[NONLINEAR_NUMBERS * other + axis],
                                             table[medium_g_at(m->nclasses, axis, own, other)]);
        difference[side] = (double)(there.temperature - here.temperature);
    }
}
