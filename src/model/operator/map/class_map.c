#include "model/operator/map/class_map.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/space/shape.h"

static void lay_out(const struct grid *grid, const struct box *owned, int depth,
                    struct layout *layout)
{
    int64_t cells[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        cells[axis] = box_extent(owned, (enum axis)axis);
    }
    layout_of_classes(cells, grid->used, depth, layout);
}

uint64_t class_map_bytes(const struct grid *grid, const struct box *owned, int depth)
{
    struct layout layout;
    lay_out(grid, owned, depth, &layout);
    return (uint64_t)layout.elements;
}

uint64_t class_map_host_bytes(const struct problem *problem, const struct box *owned, int depth)
{
    const struct medium *medium = &problem->medium;
    const uint64_t per_cell =
        1 + (medium->slopes_per_cell ? 1 : 0) + (medium->has_factors ? FACTORS * sizeof(float) : 0);
    return medium->nclasses > 0 ? per_cell * class_map_bytes(&problem->grid, owned, depth) : 0;
}

/* A material and a set of painted sources, as cells have them. */
struct painted_key {
    struct class_key key;
    int32_t with; /* the number of the key with the source that is being painted; -1: not met */
};

struct painting {
    const struct problem *problem;
    class_reader *read;
    solid_reader *read_solid;
    struct brush *brushes; /* one per part, then one per source; of files and moving sources none */
    float *numbers;        /* of the cells of a piece: materials, then of `keys`; below 0: none */
    float *marks;          /* the same: of one source; else 0. NULL: no painted sources */
    int64_t ncells;        /* that both have room for */
    struct painted_key *keys; /* first the materials */
    int32_t nkeys, room;
    /* of the map, for those that cells have in the end: [room][sizes of cells]; 0: not in it, else
     * 1 more than the number */
    uint8_t *in_map;
    int nsizes; /* with lines 1 */
};

static enum status paint_part(const struct painting *painting, int entry, const struct box *box)
{
    const struct problem *problem = painting->problem;
    const struct settings *settings = problem->settings;
    const struct shape_setting *part = &settings->parts[entry];
    if (part->kind == INITIAL_FILE) {
        TRY(settings_place(settings->origin,
                           painting->read(part, &problem->grid, box, painting->numbers),
                           "parts[%d].file", entry));
        return settings_place(settings->origin, shape_number_labels(part, box, painting->numbers),
                              "parts[%d].file.materials", entry);
    }
    return settings_place(
        settings->origin,
        brush_paint(&painting->brushes[entry], box, PRECISION_FLOAT32, painting->numbers),
        "parts[%d].expression.where", entry);
}

/* The number of a key, which is appended when it is new. */
static enum status find_key(struct painting *painting, const struct class_key *wanted,
                            int32_t *number)
{
    *number = 0;
    while (*number < painting->nkeys &&
           class_key_compare(&painting->keys[*number].key, wanted) != 0) {
        (*number)++;
    }
    if (*number < painting->nkeys) {
        return STATUS_OK;
    }
    if (painting->nkeys == painting->room) {
        const int32_t room = painting->room > 0 ? 2 * painting->room : 64;
        struct painted_key *keys = realloc(painting->keys, (size_t)room * sizeof *keys);
        TRY(CHECK_MEMORY(keys != NULL, "no memory for %d sets of sources", room));
        painting->keys = keys;
        const size_t sizes = (size_t)painting->nsizes;
        uint8_t *in_map = realloc(painting->in_map, (size_t)room * sizes);
        TRY(CHECK_MEMORY(in_map != NULL, "no memory for %d sets of sources", room));
        memset(in_map + (size_t)painting->room * sizes, 0, (size_t)(room - painting->room) * sizes);
        painting->in_map = in_map;
        painting->room = room;
    }
    painting->keys[painting->nkeys++] = (struct painted_key){*wanted, -1};
    return STATUS_OK;
}

/* Add source s to the cells of one row that are marked, and clear the marks. */
static enum status add_to_row(struct painting *painting, int s, int64_t first, int64_t cells)
{
    const int material = painting->problem->sources.source[s].setting->material;
    for (int64_t c = first; c < first + cells; c++) {
        const bool marked = painting->marks[c] != 0;
        painting->marks[c] = 0;
        if (!marked || painting->numbers[c] < 0) {
            continue;
        }
        const int32_t number = (int32_t)painting->numbers[c];
        struct class_key key = painting->keys[number].key;
        const bool is_ambient = painting->problem->medium.materials[key.material].is_ambient;
        if (is_ambient || (material >= 0 && key.material != material)) {
            continue;
        }
        if (painting->keys[number].with < 0) {
            int32_t with;
            key.sources[s / 64] |= UINT64_C(1) << (s % 64);
            TRY(find_key(painting, &key, &with));
            painting->keys[number].with = with;
        }
        painting->numbers[c] = (float)painting->keys[number].with;
    }
    return STATUS_OK;
}

static enum status paint_source(struct painting *painting, int s, const struct box *box)
{
    const struct brush *brush = &painting->brushes[painting->problem->settings->nparts + s];
    if (brush->shape == NULL) {
        return STATUS_OK;
    }
    const struct box bounds = brush_bounds(brush, box);
    TRY(settings_place(painting->problem->origin,
                       brush_paint(brush, box, PRECISION_FLOAT32, painting->marks),
                       "sources[%d].expression.where", s));
    for (int32_t key = 0; key < painting->nkeys; key++) {
        painting->keys[key].with = -1;
    }
    for (int64_t k = bounds.lo[AXIS_Z]; k < bounds.hi[AXIS_Z]; k++) {
        for (int64_t j = bounds.lo[AXIS_Y]; j < bounds.hi[AXIS_Y]; j++) {
            TRY(add_to_row(painting, s, box_place(box, bounds.lo[AXIS_X], j, k),
                           box_extent(&bounds, AXIS_X)));
        }
    }
    return STATUS_OK;
}

/* The share of area of a cell, the mean over its faces with an earlier material that have a slope;
 * 0: none. */
static double area_of_cell(const struct painting *painting, const struct box *box,
                           const int64_t cell[AXIS_COUNT])
{
    const struct problem *problem = painting->problem;
    const struct medium *medium = &problem->medium;
    const float *at = &painting->numbers[box_place(box, cell[0], cell[1], cell[2])];
    const int64_t nx = box_extent(box, AXIS_X);
    const int64_t pitch[AXIS_COUNT] = {1, nx, nx * box_extent(box, AXIS_Y)};
    const int own = painting->keys[(int32_t)*at].key.material;
    double sum = 0;
    int count = 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        const int side = face_side((enum face)f) == SIDE_MIN ? -1 : 1;
        int64_t low[AXIS_COUNT] = {cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]};
        low[axis] += side < 0 ? -1 : 0;
        if (low[axis] < box->lo[axis] || low[axis] + 1 >= box->hi[axis] ||
            at[side * pitch[axis]] < 0 || at[side * pitch[axis]] == *at) {
            continue;
        }
        const int other = painting->keys[(int32_t)at[side * pitch[axis]]].key.material;
        if (other < own && medium->on_shape[own * medium->nmaterials + other]) {
            sum +=
                brush_area(painting->brushes, problem->settings->nparts, &problem->grid, low, axis);
            count++;
        }
    }
    return count > 0 ? sum / count : 0;
}

/* Give a cell beside a curved surface the key with its slope. */
static enum status add_slope(struct painting *painting, const struct box *box,
                             const int64_t cell[AXIS_COUNT], bool counts, struct class_map *map)
{
    const double area = area_of_cell(painting, box, cell);
    const double least = 0.57735026918962576; /* 1/sqrt(3) */
    if (area == 0 || area > 1 - 1e-9) {
        return STATUS_OK;
    }
    float *number = &painting->numbers[box_place(box, cell[0], cell[1], cell[2])];
    struct class_key key = painting->keys[(int32_t)*number].key;
    int32_t with;
    const int slope = 1 + (int)((1 - area) / (1 - least) * SLOPES);
    key.slope = slope < SLOPES ? slope : SLOPES;
    TRY(find_key(painting, &key, &with));
    *number = (float)with;
    if (counts) {
        map->slopes[key.slope].cells++;
        map->slopes[key.slope].area += llround(ldexp(area, 30));
    }
    return STATUS_OK;
}

/* All cells of `inner` in `box`, which has one more layer of cells. */
static enum status add_slopes(struct painting *painting, const struct box *box,
                              const struct box *inner, const int64_t shift[AXIS_COUNT],
                              struct class_map *map)
{
    const struct medium *medium = &painting->problem->medium;
    bool has[MOST_MATERIALS] = {false}; /* pairs with earlier materials */
    for (int pair = 0; pair < medium->nmaterials * medium->nmaterials; pair++) {
        const int own = pair / medium->nmaterials;
        has[own] = has[own] || (medium->on_shape[pair] && pair % medium->nmaterials < own);
    }
    for (int64_t c = 0; c < box_cells(inner); c++) {
        int64_t cell[AXIS_COUNT];
        box_cell(inner, c, cell);
        const float number = painting->numbers[box_place(box, cell[0], cell[1], cell[2])];
        if (number < 0 || !has[painting->keys[(int32_t)number].key.material]) {
            continue;
        }
        bool counts = true; /* owned cells do so once */
        for (int a = 0; a < AXIS_COUNT; a++) {
            counts = counts && shift[a] == 0 && cell[a] >= map->owned.lo[a] &&
                     cell[a] < map->owned.hi[a];
        }
        TRY(add_slope(painting, box, cell, counts, map));
    }
    return STATUS_OK;
}

/* The class of cell `c` of the piece, which is the cell `cell` of the grid. Keys
 * count only where a cell has them in the end. With `known` keys are not added, since other rows
 * are numbered at the same time: *known becomes false. */
static enum status number_cell(const struct painting *painting, int64_t c,
                               const int64_t cell[AXIS_COUNT], struct class_map *map, bool *known,
                               uint8_t *number)
{
    const struct settings *settings = painting->problem->settings;
    if (known != NULL && painting->numbers[c] < 0) {
        *known = false;
        return STATUS_OK;
    }
    FAIL_IF(painting->numbers[c] < 0,
            settings_fail(settings, "parts",
                          "cell (%" PRId64 ", %" PRId64 ", %" PRId64
                          ") and perhaps others have no material; start the list with '- "
                          "uniform: {material: %s}'",
                          cell[0], cell[1], cell[2], settings->materials[0].name));
    const struct grid *grid = &painting->problem->grid;
    const int32_t painted = (int32_t)painting->numbers[c];
    struct class_key key = painting->keys[painted].key;
    key.slope = map->h_slope == NULL ? key.slope : 0;
    uint8_t *in_map = &painting->in_map[painted * painting->nsizes];
    if (map->lines == NULL) {
        grid_size_of(grid, cell, key.size);
        in_map += grid_size_index(grid, key.size);
    }
    if (*in_map == 0 && known != NULL) {
        *known = false;
    } else if (*in_map == 0) {
        int of_map = 0;
        while (of_map < map->nkeys && class_key_compare(&map->keys[of_map], &key) != 0) {
            of_map++;
        }
        if (of_map == MEDIUM_CLASSES) {
            map->too_many = true;
            return STATUS_OK;
        }
        map->keys[of_map] = key;
        map->nkeys = of_map < map->nkeys ? map->nkeys : of_map + 1;
        *in_map = (uint8_t)(of_map + 1);
    }
    *number = (uint8_t)(*in_map - 1);
    return STATUS_OK;
}

/* The `nx` cells of a row from cell `first` of the piece on, to their place in the map. */
static enum status number_row(const struct painting *painting, const struct box *box, int64_t first,
                              int64_t nx, const int64_t shift[AXIS_COUNT], struct class_map *map,
                              bool *known)
{
    const float *numbers = painting->numbers + first;
    int64_t cell[AXIS_COUNT];
    box_cell(box, first, cell);
    const int64_t begin = cell[AXIS_X];
    const int64_t at =
        layout_index(&map->layout, cell[0] + shift[0] - map->owned.lo[0],
                     cell[1] + shift[1] - map->owned.lo[1], cell[2] + shift[2] - map->owned.lo[2]);
    uint8_t *row = &map->h_class[at];
    const uint16_t *widths =
        map->lines == NULL ? painting->problem->grid.graded[AXIS_X].width_of : NULL;
    for (int64_t i = 0; i < nx; i++) {
        if (i > 0 && numbers[i] == numbers[i - 1] &&
            (widths == NULL || widths[begin + i] == widths[begin + i - 1])) {
            row[i] = row[i - 1];
            continue;
        }
        cell[AXIS_X] = begin + i;
        TRY(number_cell(painting, first + i, cell, map, known, &row[i]));
    }
    const bool complete = known == NULL || *known;
    for (int64_t i = 0; map->h_slope != NULL && complete && i < nx; i++) {
        map->h_slope[at + i] = (uint8_t)painting->keys[(int32_t)numbers[i]].key.slope;
    }
    return STATUS_OK;
}

/* Room for the cells of a piece. */
static enum status make_room(struct painting *painting, int64_t cells)
{
    if (cells <= painting->ncells) {
        return STATUS_OK;
    }
    const bool marks = painting->marks != NULL;
    free(painting->numbers);
    free(painting->marks);
    painting->numbers = malloc((size_t)cells * sizeof *painting->numbers);
    painting->marks = marks ? calloc((size_t)cells, sizeof *painting->marks) : NULL;
    painting->ncells = cells;
    return CHECK_MEMORY(painting->numbers != NULL && marks == (painting->marks != NULL),
                        "no memory to paint the materials");
}

/* The cells of `inner`, which lie in the grid, to their places in the map: shifted by `shift`. */
static enum status paint_piece(struct painting *painting, const struct box *inner,
                               const int64_t shift[AXIS_COUNT], struct class_map *map)
{
    const struct settings *settings = painting->problem->settings;
    struct box wide = *inner; /* with the neighbours of its cells, where they count */
    const struct box *box = &wide;
    for (int f = 0; f < FACE_COUNT && painting->problem->medium.has_slopes; f++) {
        wide = box_shrink_face(&wide, (enum face)f, -1);
    }
    const struct box grid = box_of_cells(painting->problem->grid.cells);
    wide = box_intersect(&wide, &grid);
    const int64_t cells = box_cells(box);
    TRY(make_room(painting, cells));
#pragma omp parallel for
    for (int64_t c = 0; c < cells; c++) {
        painting->numbers[c] = settings->nparts > 0 ? -1 : 0;
    }
    for (int entry = 0; entry < settings->nparts; entry++) {
        TRY(paint_part(painting, entry, box));
    }
    for (int s = 0; s < settings->nsources; s++) {
        TRY(paint_source(painting, s, box));
    }
    if (painting->problem->medium.has_slopes) {
        TRY(add_slopes(painting, box, inner, shift, map));
    }
    bool known = true;
    const int64_t nx = box_extent(inner, AXIS_X);
#pragma omp parallel for collapse(2) reduction(&& : known)
    for (int64_t k = inner->lo[AXIS_Z]; k < inner->hi[AXIS_Z]; k++) {
        for (int64_t j = inner->lo[AXIS_Y]; j < inner->hi[AXIS_Y]; j++) {
            const int64_t first = box_place(box, inner->lo[AXIS_X], j, k);
            known = number_row(painting, box, first, nx, shift, map, &known) == STATUS_OK && known;
        }
    }
    for (int64_t k = inner->lo[AXIS_Z]; k < inner->hi[AXIS_Z] && !known; k++) {
        for (int64_t j = inner->lo[AXIS_Y]; j < inner->hi[AXIS_Y] && !map->too_many; j++) {
            TRY(number_row(painting, box, box_place(box, inner->lo[AXIS_X], j, k), nx, shift, map,
                           NULL));
        }
    }
    return STATUS_OK;
}

static enum status paint_all(struct painting *painting, struct class_map *map)
{
    struct box_piece pieces[BOX_PIECES_MOST];
    const int npieces = class_map_pieces(map, painting->problem, pieces);
    for (int p = 0; p < npieces; p++) {
        struct box piece = box_before(&pieces[p].cells);
        while (!map->too_many && box_next(&pieces[p].cells, PIECE_CELLS, &piece)) {
            TRY(paint_piece(painting, &piece, pieces[p].shift, map));
        }
    }
    return STATUS_OK;
}

static void painting_end(const struct painting *painting)
{
    const struct settings *settings = painting->problem->settings;
    for (int b = 0; painting->brushes != NULL && b < settings->nparts + settings->nsources; b++) {
        brush_end(&painting->brushes[b]);
    }
    free(painting->brushes);
    free(painting->numbers);
    free(painting->marks);
    free(painting->keys);
    free(painting->in_map);
}

static enum status read_body(const struct painting *painting, int entry)
{
    const struct settings *settings = painting->problem->settings;
    const struct grid *grid = &painting->problem->grid;
    struct solid *solid = &painting->brushes[entry].solid;
    TRY(settings_place(settings->origin, painting->read_solid(&settings->parts[entry], grid, solid),
                       "parts[%d].stl.path", entry));
    for (int a = 0; a < AXIS_COUNT; a++) {
        char key[32];
        snprintf(key, sizeof key, "parts[%d].stl", entry);
        FAIL_IF(solid->upper[a] < grid->lower[a] || solid->lower[a] > grid->upper[a],
                settings_fail(settings, key,
                              "the body lies from %.4g to %.4g m in %s, out of the grid, which is "
                              "from %.4g to %.4g m; check `scale` (0.001 for a file in mm) and "
                              "`move`",
                              solid->lower[a], solid->upper[a], axis_name((enum axis)a),
                              grid->lower[a], grid->upper[a]));
    }
    return STATUS_OK;
}

/* In pieces of at most `cells` cells. */
static enum status painting_begin(struct painting *painting, const struct box *owned, int64_t cells)
{
    const struct settings *settings = painting->problem->settings;
    const int nbrushes = settings->nparts + settings->nsources;
    painting->brushes = calloc((size_t)nbrushes + 1, sizeof *painting->brushes);
    painting->numbers = malloc((size_t)cells * sizeof *painting->numbers);
    painting->ncells = cells;
    TRY(CHECK_MEMORY(painting->brushes != NULL && painting->numbers != NULL,
                     "no memory to paint the materials"));
    for (int b = 0; b < nbrushes; b++) {
        const int s = b - settings->nparts;
        const bool painted = s < 0 ? settings->parts[b].kind != INITIAL_FILE
                                   : source_is_painted(&settings->sources[s]);
        if (painted && s >= 0 && painting->marks == NULL) {
            painting->marks = calloc((size_t)cells, sizeof *painting->marks);
            TRY(CHECK_MEMORY(painting->marks != NULL, "no memory to paint sources"));
        }
        if (painted) {
            TRY(brush_begin(&painting->brushes[b], &painting->problem->grid,
                            s < 0 ? &settings->parts[b] : &settings->sources[s].shape,
                            box_cells(owned), 1));
        }
        if (s < 0 && settings->parts[b].kind == PART_STL) {
            TRY(read_body(painting, b));
        }
    }
    return STATUS_OK;
}

/* Without painted sources the materials are the keys of the map. */
static enum status add_materials(struct painting *painting, struct class_map *map)
{
    for (int m = 0; m < painting->problem->medium.nmaterials; m++) {
        int32_t number;
        TRY(find_key(painting, &(struct class_key){.material = m}, &number));
        if (painting->marks == NULL && painting->nsizes == 1) {
            map->keys[map->nkeys++] = painting->keys[m].key;
            painting->in_map[m] = (uint8_t)map->nkeys;
        }
    }
    return STATUS_OK;
}

enum status class_map_create(const struct problem *problem, const struct box *owned, int depth,
                             class_reader *read, solid_reader *read_solid, struct class_map *map)
{
    SCOPED_BY(painting_end)
    struct painting painting = {
        .problem = problem,
        .read = read,
        .read_solid = read_solid,
        .nsizes = problem->medium.lines ? 1 : (int)grid_size_count(&problem->grid)};
    SCOPED_BY(class_map_destroy)
    struct class_map built = {
        .owned = *owned, .mask = UINT8_MAX, .lines = problem->medium.lines ? &problem->grid : NULL};
    memcpy(built.periodic, problem->boundary.periodic, sizeof built.periodic);
    lay_out(&problem->grid, owned, depth, &built.layout);
    built.h_class = calloc(1, (size_t)built.layout.elements);
    built.h_slope =
        problem->medium.slopes_per_cell ? calloc(1, (size_t)built.layout.elements) : NULL;
    TRY(CHECK_MEMORY(built.h_class != NULL &&
                         problem->medium.slopes_per_cell == (built.h_slope != NULL),
                     "no memory for the materials of %" PRId64 " cells", box_cells(owned)));
    const int64_t row = box_extent(owned, AXIS_X) + 2 * (int64_t)depth;
    TRY(painting_begin(&painting, owned, row > PIECE_CELLS ? row : PIECE_CELLS));
    TRY(add_materials(&painting, &built));
    TRY(paint_all(&painting, &built));
    *map = built;
    built.h_class = built.h_slope = NULL;
    return STATUS_OK;
}
