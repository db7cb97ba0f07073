/* The class of each cell of a block, and what follows from all of them for the problem. */
#pragma once

#include "base/box.h"
#include "base/exact_sum.h"
#include "kernels/layout.h"
#include "model/problem.h"
#include "model/space/solid.h"

/* The owned cells of a slope: their number and the sum of their shares of area, in 2^-30. */
struct slope_sum {
    int64_t cells, area;
};

/* Host memory in the layout of device_medium (kernels/coefficients.h). */
struct class_map {
    struct layout layout;
    struct box owned;         /* global indices */
    uint8_t *h_class;         /* layout.elements bytes: with `mask` numbers of `keys` */
    uint8_t mask;             /* the bits beside it are flags */
    uint8_t *h_slope;         /* the slope of each cell; NULL: that of its key */
    float *h_factor[FACTORS]; /* of each, see factor_map.h; NULL: of no cell */
    int nkeys;                /* in the order in which the cells have them */
    struct class_key keys[MEDIUM_CLASSES];
    bool too_many; /* there are more keys: the map is not complete */
    struct slope_sum slopes[SLOPES + 1];
    /* Of a medium with lines, where cells have sizes by their places; else NULL. Borrowed. */
    const struct grid *lines;
    bool periodic[AXIS_COUNT];
};

/* The size of the cell of an element of a map with lines. */
void class_map_size(const struct class_map *map, int64_t at, uint16_t size[AXIS_COUNT]);

/* The key of the cell of an element, with its slope and its size. */
static inline struct class_key class_map_key(const struct class_map *map, int64_t at)
{
    struct class_key key = map->keys[map->h_class[at] & map->mask];
    key.slope = map->h_slope != NULL ? map->h_slope[at] : key.slope;
    if (map->lines != NULL) {
        class_map_size(map, at, key.size);
    }
    return key;
}

/* Read the values of a `parts` entry of kind file for the cells of `box` (global indices), as
 * [z][y][x]: io, which the model does not know. */
typedef enum status class_reader(const struct shape_setting *part, const struct grid *grid,
                                 const struct box *box, float *numbers);

/* Paint `parts` and `sources` on the cells `owned` and `depth` layers around them. STATUS_INPUT,
 * with the line of the configuration, when a cell has no material or a shape is invalid;
 * STATUS_MEMORY. Not collective. */
enum status class_map_create(const struct problem *problem, const struct box *owned, int depth,
                             class_reader *read, solid_reader *read_solid, struct class_map *map);
/* The cells of a map, with its halo: beyond the edge of the grid the cells around a periodic axis,
 * or one layer that repeats the cells inside. Returns their number. */
enum { PIECE_CELLS = 4 << 20 }; /* of them that are painted at once */
int class_map_pieces(const struct class_map *map, const struct problem *problem,
                     struct box_piece pieces[BOX_PIECES_MOST]);
void class_map_destroy(struct class_map *map); /* takes a zeroed one */

/* The bytes of class_map_create's array, which is also needed on the device. */
uint64_t class_map_bytes(const struct grid *grid, const struct box *owned, int depth);

/* The largest factor of the cells of a material, and the largest inverse. */
struct factor_range {
    double most, most_inverse;
};

/* Its host memory, with the factors of cells. */
uint64_t class_map_host_bytes(const struct problem *problem, const struct box *owned, int depth);

/* A survey of the cells of one or more blocks. Integers and extremes: add over ranks in any
 * order. Starts as zeros. */
struct class_survey {
    double fastest_rate; /* 1/s: maximum */
    uint64_t hash;       /* modulo 2^64 */
    int nkeys;           /* above MEDIUM_CLASSES: too many, and the others are not counted */
    struct class_key keys[MEDIUM_CLASSES]; /* ascending: the same numbers on all ranks */
    int64_t cells[MEDIUM_CLASSES];
    struct exact_sum
        amounts[MEDIUM_CLASSES]; /* with lines: volumes, over that of the smallest cell */
    uint8_t meets[MOST_MATERIALS][MOST_MATERIALS];     /* pairs with a common face: maximum */
    int64_t faces[MOST_SURFACES];                      /* of entries of `surfaces` */
    struct exact_sum areas[MOST_SURFACES][SLOPES + 1]; /* theirs, over grid_largest_face */
    struct slope_sum slopes[SLOPES + 1];
    struct factor_range factors[MOST_MATERIALS][FACTORS]; /* maxima */
    int64_t patches[FACE_COUNT][MOST_PATCHES + 1];        /* cells of each condition of a face */
    /* their factors, where there are such cells */
    struct boundary_range face_factors[FACE_COUNT][MOST_PATCHES + 1][BOUNDARY_FACTORS];
};
void class_survey_add(struct class_survey *survey, const struct class_survey *more);
/* Widen the range of a factor by that of more cells, before their number is added. */
void class_survey_widen(struct class_survey *survey, int face, int patch, int number, double least,
                        double most);
enum status class_map_survey(const struct class_map *map, const struct problem *problem,
                             struct class_survey *survey);

/* Complete the problem with the survey of all cells; see problem_set_survey. STATUS_INPUT when
 * there are too many classes, or a source with a power has no cells. */
enum status class_survey_apply(const struct class_survey *survey, struct problem *problem);

/* After that: let the map have the numbers and the keys of the problem's classes. */
void class_map_renumber(struct class_map *map, const struct medium *medium);
