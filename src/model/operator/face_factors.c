#include "model/operator/face_factors.h"
#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/space/shape.h"

/* A factor of one condition of the face. */
struct origin {
    int patch, number;
    const struct shape_setting *shape;
    bool rounds; /* its formula to float32 */
    struct brush brush;
    float *rows; /* of a file: in the order of the plane, for each of its times; NULL: a formula */
};

struct face_factors {
    int norigins;
    struct origin *origin;
    bool moves[BOUNDARY_FACTORS];
    int64_t uses;
    struct kept {
        int64_t used; /* the largest: used last; 0: never */
        double time;
        double *values[BOUNDARY_FACTORS];
    } kept[BOUNDARY_TIMES];
    double *piece; /* room for all cells */
};

/* Of a number of a condition: its formula or its factor. */
static enum status place(const struct problem *problem, enum face face, int patch, int number,
                         enum status status)
{
    static const char *const names[] = {[BOUNDARY_VALUE] = "value",
                                        [BOUNDARY_COEFFICIENT] = "coefficient",
                                        [BOUNDARY_AMBIENT] = "ambient"};
    const struct boundary_setting *setting = &problem->boundary.face[face][patch].setting;
    char name[32];
    char key[BOUNDARY_KEY_BYTES];
    snprintf(name, sizeof name, "%s%s", names[number], setting->is_map[number] ? "" : "_factor");
    boundary_key(face, patch, name, key);
    return status == STATUS_NUMERICS ? fail_prefix(status, "%s: ", key)
                                     : settings_place(problem->origin, status, "%s", key);
}

/* Only a flux, or a difference of temperatures, may change its sign. */
static bool is_valid(const struct boundary_setting *setting, int number, double value)
{
    const bool is_flux = setting->kind == BOUNDARY_FLUX;
    const bool any_sign = is_flux || (number != BOUNDARY_COEFFICIENT && setting->may_be_negative);
    return fabs(value) <= 1e20 && (any_sign || value >= 0);
}

/* Of cell c of a layer. */
static enum status fail_value(const struct problem *problem, const struct boundary_setting *setting,
                              int number, const struct box *layer, int64_t c, double value)
{
    double at[AXIS_COUNT];
    int64_t cell[AXIS_COUNT];
    box_cell(layer, c, cell);
    for (int a = 0; a < AXIS_COUNT; a++) {
        at[a] = grid_center(&problem->grid, (enum axis)a, cell[a]);
    }
    return fail(STATUS_INPUT, "%g at x = %.9g, y = %.9g, z = %.9g m; give %s %s", value, at[AXIS_X],
                at[AXIS_Y], at[AXIS_Z], setting->is_map[number] ? "values" : "factors",
                is_valid(setting, number, -1) ? "of at most 1e20 in magnitude" : "from 0 to 1e20");
}

/* The file's map number `row` on the cells of a layer: it has the shape of the face, and of several
 * maps an axis more. */
static enum status read_row(const struct problem *problem, const struct origin *origin,
                            enum face face, const struct box *layer, int row, class_reader *read,
                            float *values)
{
    const int64_t *n = problem->grid.cells;
    const enum axis along[] = {face_across(face), face_up(face)};
    const int ntimes = origin->shape->times.ntimes;
    struct grid flat = problem->grid;
    struct box box = {.lo = {0, 0, 0}, .hi = {1, 1, 1}};
    int axes = 0;
    const char *path = origin->shape->path;
    FAIL_IF(path_ends_in(path, ".nii") || path_ends_in(path, ".nii.gz"),
            fail(STATUS_INPUT,
                 "%.200s is a volume of a body, whose header turns it; give the map "
                 "of a face as an array of NumPy (.npy) or a dataset of HDF5",
                 path));
    for (int i = 0; i < 2; i++) {
        if (ntimes == 0 || n[along[i]] > 1) {
            flat.cells[axes] = n[along[i]];
            box.lo[axes] = layer->lo[along[i]];
            box.hi[axes++] = layer->hi[along[i]];
        }
    }
    for (int a = axes; a < AXIS_COUNT; a++) {
        flat.cells[a] = 1;
    }
    if (ntimes > 0) {
        flat.cells[axes] = ntimes;
        box.lo[axes] = row;
        box.hi[axes] = row + 1;
    }
    return read(origin->shape, &flat, &box, values);
}

/* The pieces of the plane's cells that are inside the grid. */
static int pieces_of(const struct problem *problem, const struct patch_plane *plane,
                     struct box_piece pieces[BOX_PIECES_MOST])
{
    return box_pieces(&plane->wide, problem->grid.cells, problem->boundary.periodic, pieces);
}

static enum status read_rows(const struct problem *problem, const struct patch_plane *plane,
                             class_reader *read, struct origin *origin)
{
    const int ntimes = origin->shape->times.ntimes;
    const size_t nrows = ntimes > 0 ? (size_t)ntimes : 1;
    const struct boundary_setting *setting =
        &problem->boundary.face[plane->face][origin->patch].setting;
    struct box_piece pieces[BOX_PIECES_MOST];
    const int npieces = pieces_of(problem, plane, pieces);
    SCOPED_FREE float *values = malloc((size_t)plane->bytes * sizeof *values);
    origin->rows = calloc(nrows * (size_t)plane->bytes, sizeof *origin->rows);
    TRY(CHECK_MEMORY(values != NULL && origin->rows != NULL, "no memory for the maps of a face"));
    for (int p = 0; p < npieces * (int)nrows; p++) {
        const struct box_piece *piece = &pieces[p % npieces];
        float *row = origin->rows + (int64_t)(p / npieces) * plane->bytes;
        TRY(read_row(problem, origin, plane->face, &piece->cells, p / npieces, read, values));
        for (int64_t c = 0; c < box_cells(&piece->cells); c++) {
            const double value = (double)values[c];
            const int64_t at = patch_plane_place_in(plane, piece, c);
            FAIL_IF(plane->h_patch[at] == origin->patch &&
                        !is_valid(setting, origin->number, value),
                    fail_value(problem, setting, origin->number, &piece->cells, c, value));
            row[at] = values[c];
        }
    }
    return STATUS_OK;
}

/* The values at a time, of the cells that have the condition. */
static void mix_rows(const struct origin *origin, const struct patch_plane *plane, double time,
                     double *values)
{
    int row[2] = {0, 0};
    const double share =
        origin->shape->table != NULL ? table_share(origin->shape->table, time, row) : 0;
    const float *a = origin->rows + row[0] * plane->bytes;
    const float *b = origin->rows + row[1] * plane->bytes;
#pragma omp parallel for
    for (int64_t at = 0; at < plane->bytes; at++) {
        if (plane->h_patch[at] == origin->patch) {
            values[at] = (double)a[at] + ((double)b[at] - (double)a[at]) * share;
        }
    }
}

static enum status evaluate(const struct problem *problem, const struct patch_plane *plane,
                            struct origin *origin, double time, double *values)
{
    const struct boundary_setting *setting =
        &problem->boundary.face[plane->face][origin->patch].setting;
    const double *painted = plane->moving->piece;
    struct box_piece pieces[BOX_PIECES_MOST];
    const int npieces = pieces_of(problem, plane, pieces);
    if (origin->rows != NULL) {
        mix_rows(origin, plane, time, values);
        return STATUS_OK;
    }
    origin->brush.grid = &problem->grid;
    origin->brush.time = time;
    for (int p = 0; p < npieces; p++) {
        const struct box *cells = &pieces[p].cells;
        int64_t wrong = INT64_MAX; /* the first cell with an invalid value */
        TRY(brush_paint(&origin->brush, cells, PRECISION_FLOAT64, plane->moving->piece));
#pragma omp parallel for reduction(min : wrong)
        for (int64_t c = 0; c < box_cells(cells); c++) {
            const int64_t at = patch_plane_place_in(plane, &pieces[p], c);
            const double value = origin->rounds ? (double)(float)painted[c] : painted[c];
            const bool own = plane->h_patch[at] == origin->patch;
            const bool bad = own && !is_valid(setting, origin->number, value);
            wrong = bad && c < wrong ? c : wrong;
            values[at] = own ? value : values[at];
        }
        FAIL_IF(wrong < INT64_MAX,
                fail_value(problem, setting, origin->number, cells, wrong, painted[wrong]));
    }
    return STATUS_OK;
}

static enum status open_origin(const struct problem *problem, const struct patch_plane *plane,
                               class_reader *read, struct origin *origin)
{
    if (origin->shape->kind == INITIAL_FILE) {
        return read_rows(problem, plane, read, origin);
    }
    return brush_begin(&origin->brush, &problem->grid, origin->shape, plane->bytes, 1);
}

static void close_origin(struct origin *origin)
{
    brush_end(&origin->brush);
    free(origin->rows);
}

/* Paint a factor at time 0; keep it if it varies. */
static enum status add_origin(const struct problem *problem, const struct patch_plane *plane,
                              class_reader *read, int patch, int number)
{
    struct face_factors *all = plane->moving;
    const struct boundary_setting *setting = &problem->boundary.face[plane->face][patch].setting;
    const struct shape_setting *shape = &setting->factor[number];
    struct origin *origin = &all->origin[all->norigins];
    if (shape->kind == INITIAL_UNIFORM) {
        return STATUS_OK;
    }
    *origin = (struct origin){.patch = patch,
                              .number = number,
                              .shape = shape,
                              .rounds = !setting->is_map[number] && !shape->varies};
    all->norigins++;
    TRY(open_origin(problem, plane, read, origin));
    TRY(evaluate(problem, plane, origin, 0, plane->h_factor[number]));
    all->moves[number] = all->moves[number] || shape->varies;
    if (!shape->varies) {
        close_origin(origin);
        all->norigins--;
    }
    return STATUS_OK;
}

static enum status allocate(const struct problem *problem, struct patch_plane *plane)
{
    const size_t n = (size_t)plane->bytes;
    const size_t most = (size_t)problem->boundary.nconditions[plane->face] * BOUNDARY_FACTORS;
    struct face_factors *all = plane->moving = calloc(1, sizeof *all);
    TRY(CHECK_MEMORY(all != NULL, "no memory for the factors of a face"));
    all->origin = calloc(most, sizeof *all->origin);
    all->piece = malloc(n * sizeof *all->piece);
    bool whole = all->origin != NULL && all->piece != NULL;
    for (int f = 0; f < BOUNDARY_FACTORS; f++) {
        plane->h_factor[f] = calloc(n, sizeof *plane->h_factor[f]);
        whole = whole && plane->h_factor[f] != NULL;
    }
    return CHECK_MEMORY(whole, "no memory for the factors of a face");
}

uint64_t face_factors_bytes(const struct problem *problem, enum face face, uint64_t cells)
{
    uint64_t per_cell = BOUNDARY_FACTORS * sizeof(double);
    bool moves[BOUNDARY_FACTORS] = {false};
    bool any = false;
    for (int i = 0; i < problem->boundary.nconditions[face] * BOUNDARY_FACTORS; i++) {
        const int number = i % BOUNDARY_FACTORS;
        const struct shape_setting *shape =
            &problem->boundary.face[face][i / BOUNDARY_FACTORS].setting.factor[number];
        if (shape->kind == INITIAL_UNIFORM || !shape->varies) {
            continue;
        }
        per_cell += moves[number] ? 0 : BOUNDARY_TIMES * sizeof(double);
        per_cell += shape->kind == INITIAL_FILE ? (uint64_t)shape->times.ntimes * sizeof(float) : 0;
        moves[number] = true;
        any = true;
    }
    return cells * (per_cell + (any ? sizeof(double) : 0)); /* and a piece */
}

/* The factors of conditions without one. */
static void fill_with_ones(const struct problem *problem, struct patch_plane *plane)
{
    struct box_piece pieces[BOX_PIECES_MOST];
    const int npieces = pieces_of(problem, plane, pieces);
    for (int p = 0; p < npieces; p++) {
        for (int64_t c = 0; c < box_cells(&pieces[p].cells); c++) {
            const int64_t at = patch_plane_place_in(plane, &pieces[p], c);
            for (int f = 0; f < BOUNDARY_FACTORS; f++) {
                plane->h_factor[f][at] = 1;
            }
        }
    }
}

enum status face_factors_create(const struct problem *problem, class_reader *read,
                                struct patch_plane *plane)
{
    TRY(allocate(problem, plane));
    struct face_factors *all = plane->moving;
    fill_with_ones(problem, plane);
    for (int i = 0; i < problem->boundary.nconditions[plane->face] * BOUNDARY_FACTORS; i++) {
        const int patch = i / BOUNDARY_FACTORS;
        const int number = i % BOUNDARY_FACTORS;
        TRY(place(problem, plane->face, patch, number,
                  add_origin(problem, plane, read, patch, number)));
    }
    for (int i = 0; i < BOUNDARY_TIMES * BOUNDARY_FACTORS; i++) {
        double **values = &all->kept[i / BOUNDARY_FACTORS].values[i % BOUNDARY_FACTORS];
        if (all->moves[i % BOUNDARY_FACTORS]) {
            *values = malloc((size_t)plane->bytes * sizeof **values);
            TRY(CHECK_MEMORY(*values != NULL, "no memory for the maps of a face"));
        }
    }
    if (all->norigins == 0) {
        face_factors_destroy(all);
        plane->moving = NULL;
    }
    return STATUS_OK;
}

void face_factors_destroy(struct face_factors *moving)
{
    if (moving == NULL) {
        return;
    }
    for (int i = 0; i < moving->norigins; i++) {
        close_origin(&moving->origin[i]);
    }
    for (int i = 0; i < BOUNDARY_TIMES * BOUNDARY_FACTORS; i++) {
        free(moving->kept[i / BOUNDARY_FACTORS].values[i % BOUNDARY_FACTORS]);
    }
    free(moving->origin);
    free(moving->piece);
    free(moving);
}

void face_factors_survey(const struct patch_plane *plane, struct class_survey *survey)
{
    const struct face_factors *all = plane->moving;
    for (int i = 0; all != NULL && i < all->norigins; i++) {
        const struct origin *origin = &all->origin[i];
        for (int row = 0; origin->rows != NULL && row < origin->shape->times.ntimes; row++) {
            const float *values = origin->rows + row * plane->bytes;
            for (int64_t c = 0; c < plane->cells; c++) {
                const double value = (double)values[patch_plane_place(plane, c)];
                if (patch_plane_condition(plane, c) == origin->patch) {
                    class_survey_widen(survey, plane->face, origin->patch, origin->number, value,
                                       value);
                }
            }
        }
    }
}

/* The values of all factors at a time. */
static enum status fill(const struct problem *problem, const struct patch_plane *plane, double time,
                        struct kept *kept)
{
    struct face_factors *all = plane->moving;
    kept->time = NAN;
    for (int f = 0; f < BOUNDARY_FACTORS; f++) {
        if (all->moves[f]) {
            memcpy(kept->values[f], plane->h_factor[f],
                   (size_t)plane->bytes * sizeof *kept->values[f]);
        }
    }
    for (int i = 0; i < all->norigins; i++) {
        struct origin *origin = &all->origin[i];
        enum status status = evaluate(problem, plane, origin, time, kept->values[origin->number]);
        if (status == STATUS_INPUT) {
            char at[48];
            snprintf(at, sizeof at, "at t = %.9g s: ", time);
            status = fail_prefix(STATUS_NUMERICS, "%s", at);
        }
        TRY(place(problem, plane->face, origin->patch, origin->number, status));
    }
    kept->time = time;
    return STATUS_OK;
}

enum status face_factors_at(const struct problem *problem, const struct patch_plane *plane,
                            double time, const double *factor[BOUNDARY_FACTORS])
{
    struct face_factors *all = plane->moving;
    for (int f = 0; f < BOUNDARY_FACTORS; f++) {
        factor[f] = plane->h_factor[f];
    }
    if (all == NULL) {
        return STATUS_OK;
    }
    struct kept *kept = &all->kept[0];
    for (int i = 0; i < BOUNDARY_TIMES; i++) {
        struct kept *other = &all->kept[i];
        const bool is_it = other->used > 0 && other->time == time;
        const bool found = kept->used > 0 && kept->time == time;
        kept = is_it || (!found && other->used < kept->used) ? other : kept;
    }
    if (kept->used == 0 || kept->time != time) {
        TRY(fill(problem, plane, time, kept));
    }
    kept->used = ++all->uses;
    for (int f = 0; f < BOUNDARY_FACTORS; f++) {
        factor[f] = all->moves[f] ? kept->values[f] : factor[f];
    }
    return STATUS_OK;
}

void face_factors_widen(const struct problem *problem, enum face face,
                        const struct patch_plane *plane, double time, double *low, double *high)
{
    const struct instant when = {.time = time};
    const double *factor[BOUNDARY_FACTORS];
    for (int p = 0; p < problem->boundary.nconditions[face]; p++) {
        const struct boundary_condition *condition = &problem->boundary.face[face][p];
        if (!condition->open || plane->moving == NULL) {
            continue;
        }
        if (face_factors_at(problem, plane, time, factor) != STATUS_OK) {
            fail_clear(); /* the run reports it if it comes that far */
            return;
        }
        const struct boundary_state now =
            boundary_at(&problem->boundary, &problem->grid, face, p, &when);
        for (int64_t c = 0; c < plane->cells; c++) {
            double own[BOUNDARY_FACTORS];
            for (int f = 0; f < BOUNDARY_FACTORS; f++) {
                own[f] = factor[f][patch_plane_place(plane, c)];
            }
            if (patch_plane_condition(plane, c) == p) {
                const struct boundary_state at = boundary_scaled(&condition->setting, &now, own);
                boundary_widen_by(&at, low, high);
            }
        }
    }
}
