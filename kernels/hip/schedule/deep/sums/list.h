/* Part of sums/strips.h: the strips of a launch. */
#pragma once

#include "kernels/hip/device/cells.h"

/* Strips as long as leave this many, about as many waves as take them; but not shorter. */
enum { STRIPS_WANTED = 2000, ROWS_LEAST = 8, ROWS_MOST = 512 };

/* The cells of a box on a face. */
struct rectangle {
    int face;
    int u, v; /* the first one */
    int nu, nv;
    unsigned first_strip;
};

/* What is summed; MOST: rectangles. */
template <int T, int MOST_> struct rectangle_list {
    static constexpr int MOST = MOST_;
    rectangle of[MOST];
    int count;
    int rows; /* of a strip */
    unsigned strips;
    struct exact_sum *sum[T][FACE_COUNT];
};

/* The cells of a strip that are summed. */
static __host__ __device__ constexpr int strip_width(int levels)
{
    return ARCH_WAVE - 2 * (levels - 1);
}
static __host__ __device__ int divide_up(int cells, int by)
{
    return (cells + by - 1) / by;
}

/* The cells of a box on a face of the field; false where it has none. */
static bool rectangle_of(const struct layout *layout, const struct box *box, int face, rectangle *r)
{
    const int axis = face / 2;
    const int u = axis == AXIS_X ? AXIS_Y : AXIS_X;
    const int v = axis == AXIS_Z ? AXIS_Y : AXIS_Z;
    const int64_t layer = face % 2 == 0 ? 0 : layout->cells[axis] - 1;
    *r = {};
    r->face = face;
    r->u = (int)box->lo[u];
    r->v = (int)box->lo[v];
    r->nu = (int)box_extent(box, (enum axis)u);
    r->nv = (int)box_extent(box, (enum axis)v);
    return box->lo[axis] <= layer && layer < box->hi[axis] && r->nu > 0 && r->nv > 0;
}

/* The sums that steps add to, without rectangles. */
template <typename LIST>
static void list_sums(LIST &list, const struct coefficients *args, int nsteps)
{
    list = {};
    for (int l = 0; l < nsteps; l++) {
        for (int face = 0; face < FACE_COUNT; face++) {
            list.sum[l][face] = args[l].closed[face] ? args[l].d_face_sum[face] : nullptr;
        }
    }
}

/* Add the cells of a box, where there is room for FACE_COUNT rectangles. */
template <typename LIST>
static void list_box(LIST &list, const struct layout *layout, const struct box *box)
{
    for (int face = 0; face < FACE_COUNT; face++) {
        bool any = false;
        for (const auto &level : list.sum) {
            any = any || level[face] != nullptr;
        }
        if (any && rectangle_of(layout, box, face, &list.of[list.count])) {
            list.count++;
        }
    }
}

/* Add the cells of a box outside of the first n others; false where there is no room. */
template <typename LIST>
static bool list_outside(LIST &list, const struct layout *layout, const struct box *box,
                         const struct box *without, int n)
{
    struct box pieces[FACE_COUNT];
    if (n == 0) {
        const bool has_room = list.count + FACE_COUNT <= LIST::MOST;
        if (has_room) {
            list_box(list, layout, box);
        }
        return has_room;
    }
    const struct box inner = box_intersect(box, &without[n - 1]);
    const int count = box_shell(box, &inner, pieces);
    bool all = true;
    for (int p = 0; p < count; p++) {
        all = all && list_outside(list, layout, &pieces[p], without, n - 1);
    }
    return all;
}

/* Number the strips, when all boxes are in the list. */
template <typename LIST> static void list_strips(LIST &list, int steps)
{
    int64_t rows = 0;
    for (int n = 0; n < list.count; n++) {
        rows += (int64_t)divide_up(list.of[n].nu, strip_width(steps)) * list.of[n].nv;
    }
    rows = rows / STRIPS_WANTED + 1;
    list.rows = rows < ROWS_LEAST ? (int)ROWS_LEAST : rows > ROWS_MOST ? (int)ROWS_MOST : (int)rows;
    list.strips = 0;
    for (int n = 0; n < list.count; n++) {
        rectangle &r = list.of[n];
        r.first_strip = list.strips;
        list.strips += (unsigned)(divide_up(r.nu, strip_width(steps)) * divide_up(r.nv, list.rows));
    }
}
