/* Part of classes/steps_*.hip.cpp: the launch. */
#pragma once

#include "kernels/hip/schedule/deep/classes/kernel.h"
#include "kernels/hip/schedule/deep/staged/launch.h"

#if ARCH_HAS_TILE_COPY

static inline bool have_same_length(const struct step_args *args)
{
    bool same = true;
    for (int l = 1; l < args->nsteps; l++) {
        same = same && args->levels[l].medium.dt_number == args->levels->medium.dt_number;
    }
    return same;
}

/* Bytes of the table: see classes_work. */
struct table_bytes {
    int row, axis, of_pairs, pairs, step, planes, sources, of_sources, all;
};

template <typename S> static table_bytes table_of(const struct step_args *args)
{
    const int n = args->levels->medium.nclasses;
    const int unit = (int)sizeof(typename S::REAL);
    const int planes = S::PLANES ? planes_of<S>((int)args->layout.cells[AXIS_Z]) : 0;
    bool same = true;
    for (int l = 1; l < args->nsteps; l++) {
        same = same && args->levels[l].medium.d_table == args->levels->medium.d_table;
    }
    const int tables = same ? 1 : args->nsteps;
    table_bytes t = {};
    t.row = n * unit;
    t.axis = args->levels->medium.same_axes ? 0 : n * t.row;
    if (!S::PLANES) {
        const bool same_dt = have_same_length(args);
        t.of_pairs = ((t.axis > 0 ? AXIS_COUNT : 1) * n * t.row + 15) / 16 * 16;
        t.pairs = (same_dt ? 1 : args->nsteps) * t.of_pairs;
        t.of_pairs = same_dt ? 0 : t.of_pairs;
    }
    t.step = 2 * (n + FACE_COUNT * args->levels->medium.nclosures) * unit;
    t.planes = (t.pairs + tables * t.step + 15) / 16 * 16;
    t.sources = t.planes + (planes * (4 * unit + 1) + 15) / 16 * 16;
    t.of_sources = 2 * planes * unit;
    t.all = t.sources + tables * t.of_sources;
    t.step = same ? 0 : t.step;
    t.of_sources = same ? 0 : t.of_sources;
    return t;
}

/* The classes with a layer of halo beyond closed faces and T beyond others, and from 16 cells
 * before each row. */
template <typename S> static arch_region<uint8_t> class_region(const struct coefficients *args)
{
    const struct layout *l = &args->medium.layout;
    int layers[FACE_COUNT];
    for (int face = 0; face < FACE_COUNT; face++) {
        layers[face] = args->closed[face] ? 1 : S::T;
    }
    arch_region<uint8_t> region = {};
    region.first = args->medium.d_class + l->origin - 16 - layers[FACE_Y_MIN] * l->pitch_y -
                   layers[FACE_Z_MIN] * l->pitch_z;
    region.cells[0] = 16 + l->cells[0] + layers[FACE_X_MAX];
    region.cells[1] = l->cells[1] + layers[FACE_Y_MIN] + layers[FACE_Y_MAX];
    region.cells[2] = l->cells[2] + layers[FACE_Z_MIN] + layers[FACE_Z_MAX];
    region.pitch_y = l->pitch_y;
    region.pitch_z = l->pitch_z;
    return region;
}

/* either: the kernel for planes of one class each is launched, too. */
template <typename S> static hipError_t launch_classes(struct hip_step *step, bool either)
{
    const struct coefficients *args = step->args->levels;
    const table_bytes table = table_of<S>(step->args);
    classes_work<S> w = {};
    arch_tile_map map;
    int units = 0;
    hipError_t error = units_of_device<S>(reinterpret_cast<const void *>(steps_classes<S>), &units);
    if (error != hipSuccess) {
        return error;
    }
    const known_list &known = recall_list<S>(step, units);
    if (!known.fits) {
        return hip_launch_steps_tile(step);
    }
    error = work_of<S>(step, known.list, w, map);
    if (error == hipSuccess && !S::PLANES) {
        error = arch_tile_map_make(&w.class_map, class_region<S>(args), S::CLASS_ROW, S::TY + 2);
    }
    if (error != hipSuccess) {
        return error;
    }
    w.p = classes_of<typename S::REAL, S::T>(args);
    w.class_y = args->closed[FACE_Y_MIN] ? 1 : 0;
    w.class_z = args->closed[FACE_Z_MIN] ? 1 : 0;
    w.pair_row = table.row;
    w.pair_axis = table.axis;
    w.of_pairs = table.of_pairs;
    w.at_numbers = table.pairs;
    w.of_step = table.step;
    w.at_planes = table.planes;
    w.at_sources = table.sources;
    w.of_sources = table.of_sources;
    w.either = either;
    w.mask = (uint32_t)args->medium.mask * 0x01010101U;
    steps_classes<S><<<(unsigned)units, S::THREADS, S::SHARED_BYTES, step->stream>>>(map, w);
    return hipGetLastError();
}

template <typename S> static bool has_room(const struct step_args *args)
{
    return table_of<S>(args).all <= S::SHARED_BYTES - S::AT_TABLE;
}

/* Whether the kernel for planes of one class each may take a field, which it sees itself. */
template <typename S> static bool may_be_planes(const struct step_args *args)
{
    bool closed = true;
    for (int face = 0; face < FACE_COUNT; face++) {
        closed = closed && args->levels->closed[face];
    }
    return closed && args->d_bits == nullptr && have_same_length(args) && has_room<S>(args);
}

/* The kernel for any classes, and in front of it that for planes. */
template <typename S, typename PLANES> static hipError_t launch_either(struct hip_step *step)
{
    if (step->args->d_bits != nullptr) {
        return launch_classes<with_bits<S>>(step, false);
    }
    const bool either = may_be_planes<PLANES>(step->args);
    const hipError_t error = either ? launch_classes<PLANES>(step, true) : hipSuccess;
    return error == hipSuccess ? launch_classes<S>(step, either) : error;
}

/* The shapes of a pass of T steps. Of two, less than half of the memory for tables goes to more
 * planes. */
template <int T> struct classes_shapes {
    typedef classes_shape<double, T, T == 2 ? 7 : 5> more_ahead;
    typedef classes_shape<double, T, T == 2 ? 6 : 4> of_float64;
    typedef classes_shape<float, T, T == 2 ? 6 : 4> of_float32;
    typedef classes_shape<double, T, 5, true> planes_float64;
    typedef classes_shape<float, T, 5, true> planes_float32;

    static bool have_room(const struct step_args *args)
    {
        return args->layout.precision == PRECISION_FLOAT64 ? has_room<of_float64>(args)
                                                           : has_room<of_float32>(args);
    }
    static hipError_t launch(struct hip_step *step)
    {
        return step->args->layout.precision != PRECISION_FLOAT64
                   ? launch_either<of_float32, planes_float32>(step)
               : has_room<more_ahead>(step->args) ? launch_either<more_ahead, planes_float64>(step)
                                                  : launch_either<of_float64, planes_float64>(step);
    }
};

#endif
