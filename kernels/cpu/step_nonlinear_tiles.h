/* The tiles of step_nonlinear.c in one precision, and functions of single cells. Included after
 * step_nonlinear_rows.h, in the same way. */

/* Advance a row, and evaluate of `ahead` as much as goes well with it. */
static void NAMED(step_lines)(struct NAMED(stencil) * s, const struct NAMED(row) * row,
                              struct NAMED(ahead) * ahead)
{
    struct NAMED(evaluation) *const cells = &ahead->cells;
    REAL gx[NAMED(LINE)] __attribute__((aligned(STREAM_LINE_BYTES))) = {0};
    const int mask = s->medium->mask;
    if (!row->on[FACE_X_MIN]) {
        gx[NAMED(LINE) - 1] = NAMED(couple)(s, AXIS_X, row->classes[-1] & mask, row->k[-1],
                                            row->classes[0] & mask, row->k[0]);
    }
    for (int64_t i = 0; i < row->n;) {
        const int64_t n = row->n - i < NAMED(LINE) ? row->n - i : NAMED(LINE);
        const int64_t end = NAMED(alike_end)(s, row, i);
        /* the first and the last line of a row may have closed faces */
        const int64_t open = row->on_any || (row->on[FACE_X_MIN] && i == 0) ? i
                             : row->on[FACE_X_MAX] && end == row->n         ? end - NAMED(LINE)
                                                                            : end;
        if (open > i) {
            i = NAMED(alike_lines)(&s->numbers, row, i, open, gx, cells);
            if (i < open) {
                NAMED(lookup_next)(cells);
            }
            NAMED(aim)(s, ahead);
        } else if (end > i) {
            NAMED(alike_line)(s, row, i, n, gx);
            i += n;
        } else {
            NAMED(mixed_line)(s, row, i, n, gx);
            i += n;
        }
    }
}

/* `ahead`: another row, to be evaluated. */
static void NAMED(step_row)(struct NAMED(stencil) * s, const struct box *tile, int64_t j, int64_t k,
                            struct NAMED(ahead) * ahead)
{
    const struct layout *l = s->layout;
    const struct layout *of_class = &s->medium->layout;
    const int64_t at = layout_index(l, tile->lo[AXIS_X], j, k);
    const int64_t r = j - tile->lo[AXIS_Y] + 1;
    const int64_t class_step[AXIS_COUNT] = {1, of_class->pitch_y, of_class->pitch_z};
    struct NAMED(row)
        row = {.first = {tile->lo[AXIS_X], j, k},
               .n = box_extent(tile, AXIS_X),
               .t = &s->temperature[k % 3][r][NAMED(PAD)],
               .k = &s->conductivity[k % 2][r][NAMED(PAD)],
               .gy = s->gy + NAMED(PAD),
               .gz = s->gz[r - 1] + NAMED(PAD),
               .classes = s->medium->d_class + layout_index(of_class, tile->lo[AXIS_X], j, k),
               .u = s->in + at,
               .out = s->out + at};
    row.streamed = stream_cells_to_line(row.out, sizeof(REAL)) == 0;
    for (int face = 0; face < FACE_COUNT; face++) {
        const int axis = face / 2;
        const int sign = face % 2 == 0 ? -1 : 1;
        const int64_t dx = axis == AXIS_X ? sign : 0;
        const int64_t dy = axis == AXIS_Y && !s->mirrored[face] ? sign : 0;
        const int64_t dz = axis == AXIS_Z && !s->mirrored[face] ? sign : 0;
        const int64_t ends[AXIS_COUNT] = {sign < 0 ? tile->lo[AXIS_X] : tile->hi[AXIS_X] - 1, j, k};
        row.on[face] = s->args->closed[face] && !s->mirrored[face] &&
                       ends[axis] == (sign < 0 ? 0 : l->cells[axis] - 1);
        row.on_any = row.on_any || (axis != AXIS_X && row.on[face]);
        row.other_t[face] = &s->temperature[(k + 3 + dz) % 3][r + dy][NAMED(PAD) + dx];
        if (sign > 0) {
            row.upper_k[axis] = &s->conductivity[(k + dz) % 2][r + dy][NAMED(PAD) + dx];
            row.upper_classes[axis] = row.classes + class_step[axis];
        }
    }
    NAMED(step_lines)(s, &row, ahead);
}

/* Begin a march: g of the faces below the tile. */
static void NAMED(begin_march)(struct NAMED(stencil) * s, const struct box *tile)
{
    const int64_t k = tile->lo[AXIS_Z];
    memset(s->gz, 0, sizeof s->gz);
    for (int64_t j = tile->lo[AXIS_Y]; j < tile->hi[AXIS_Y]; j++) {
        const int64_t r = j - tile->lo[AXIS_Y] + 1;
        const uint8_t *classes =
            s->medium->d_class + layout_index(&s->medium->layout, tile->lo[AXIS_X], j, k);
        NAMED(evaluate_row)(s, tile, j, k);
        if (k == 0 && s->args->closed[FACE_Z_MIN]) {
            continue;
        }
        NAMED(evaluate_row)(s, tile, j, k - 1);
        NAMED(couple_rows)
        (s, AXIS_Z, classes - s->medium->layout.pitch_z, classes,
         &s->conductivity[(k + 1) % 2][r][NAMED(PAD)], &s->conductivity[k % 2][r][NAMED(PAD)],
         box_extent(tile, AXIS_X), s->gz[r - 1] + NAMED(PAD));
    }
}

/* Begin a plane: the rows beside the tile, and g of the faces of its first row. */
static void NAMED(begin_plane)(struct NAMED(stencil) * s, const struct box *tile, int64_t k)
{
    const int64_t j = tile->lo[AXIS_Y];
    NAMED(evaluate_row)(s, tile, j - 1, k);
    NAMED(evaluate_row)(s, tile, tile->hi[AXIS_Y], k);
    memset(s->gy, 0, sizeof s->gy);
    if (j > 0 || !s->args->closed[FACE_Y_MIN]) {
        const uint8_t *classes =
            s->medium->d_class + layout_index(&s->medium->layout, tile->lo[AXIS_X], j, k);
        NAMED(couple_rows)
        (s, AXIS_Y, classes - s->medium->layout.pitch_y, classes,
         &s->conductivity[k % 2][0][NAMED(PAD)], &s->conductivity[k % 2][1][NAMED(PAD)],
         box_extent(tile, AXIS_X), s->gy + NAMED(PAD));
    }
}

static void NAMED(step_tile)(struct NAMED(stencil) * s, const struct box *tile)
{
    NAMED(begin_march)(s, tile);
    for (int64_t k = tile->lo[AXIS_Z]; k < tile->hi[AXIS_Z]; k++) {
        NAMED(begin_plane)(s, tile, k);
        NAMED(evaluate_row)(s, tile, tile->lo[AXIS_Y], k + 1);
        for (int64_t j = tile->lo[AXIS_Y]; j < tile->hi[AXIS_Y]; j++) {
            struct NAMED(ahead) ahead = {.cells = {.lookup = &s->lookup[0]}};
            if (j + 1 < tile->hi[AXIS_Y]) {
                ahead = NAMED(ahead_of)(s, tile, j + 1, k + 1);
            }
            NAMED(step_row)(s, tile, j, k, &ahead);
            NAMED(evaluate_rest)(s, &ahead);
        }
    }
}

static void NAMED(step_piece)(struct NAMED(stencil) * s, const struct box *piece)
{
    const int64_t x0 = piece->lo[AXIS_X] / NAMED(LINE) * NAMED(LINE);
    for (int64_t j = piece->lo[AXIS_Y]; j < piece->hi[AXIS_Y]; j += TILE_Y) {
        for (int64_t i = x0; i < piece->hi[AXIS_X]; i += NAMED(TILE_X)) {
            struct box tile = *piece;
            tile.lo[AXIS_X] = i;
            tile.hi[AXIS_X] = i + NAMED(TILE_X);
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
    s->numbers.of_class = -1;
    memset(s->lookup, 0, sizeof s->lookup);
    for (int face = 0; face < FACE_COUNT; face++) {
        s->mirrored[face] = (face / 2 == AXIS_Y && m->layout.pitch_y == 0) ||
                            (face / 2 == AXIS_Z && m->layout.pitch_z == 0);
    }
}

/* --- single cells ----------------------------------------------------------------------------- */

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
