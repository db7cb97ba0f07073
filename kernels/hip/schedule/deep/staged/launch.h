/* Part of staged/steps_*.hip.cpp: the launch. */
#pragma once

#include <cstring>

#include "kernels/hip/schedule/deep/staged/kernel.h"

#if ARCH_HAS_TILE_COPY

/* A work list takes about 0.1 ms of the host, so the last ones are kept. */
struct known_list {
    struct box box;
    int64_t cells[AXIS_COUNT];
    bool closed[FACE_COUNT];
    int64_t active; /* number of its cells that change; 0: all */
    work_list list;
    bool fits;
};

/* Fill in the list of what is wanted. */
template <typename S>
static void make_list(known_list &one, int units, const struct active_planes *active)
{
    constexpr int T = S::T;
    const struct box &box = one.box;
    const int nx = (int)one.cells[AXIS_X], ny = (int)one.cells[AXIS_Y], nz = (int)one.cells[AXIS_Z];
    const bool near_top = one.closed[FACE_Z_MAX] && box.hi[AXIS_Z] + T > nz;
    work_list &w = one.list;
    w.units = units;
    w.x = tile_axis_of(&box, AXIS_X, one.closed, nx, S::TX, S::HALO_X, T, S::V);
    w.y = tile_axis_of(&box, AXIS_Y, one.closed, ny, S::TY, S::HALO_Y, T, 1);
    w.z_lo = (int)box.lo[AXIS_Z];
    w.z_hi = (int)box.hi[AXIS_Z];
    w.z_end = near_top ? nz : w.z_hi;
    one.fits = choose_list<S>(w, near_top, active);
}

template <typename S> static const known_list &recall_list(const struct hip_step *step, int units)
{
    enum { KNOWN = 16 };            /* interior and shells, odd and even passes */
    static known_list known[KNOWN]; /* calls to a device come from one thread */
    static int next = 0;
    const struct device_medium *medium = coefficients_medium(step->args->levels);
    const struct active_planes *active = medium != nullptr ? medium->active : nullptr;
    known_list wanted = {};
    wanted.active = active != nullptr ? active->number : 0;
    wanted.box = *step->boxes;
    memcpy(wanted.cells, step->args->layout.cells, sizeof wanted.cells);
    memcpy(wanted.closed, step->args->levels->closed, sizeof wanted.closed);
    for (const known_list &one : known) {
        if (memcmp(&one.box, &wanted.box, sizeof one.box) == 0 &&
            memcmp(one.cells, wanted.cells, sizeof one.cells) == 0 &&
            memcmp(one.closed, wanted.closed, sizeof one.closed) == 0 &&
            one.active == wanted.active) {
            return one;
        }
    }
    make_list<S>(wanted, units, active);
    known_list &place = known[next++ % KNOWN];
    place = wanted;
    return place;
}

/* The cells that may be read: owned ones, and T layers beyond open faces; in x whole vectors, in
 * the padding, since the engine needs 16-byte alignment. */
template <typename S>
static arch_region<typename S::REAL> region_of(const struct layout *layout,
                                               const struct coefficients *args, const void *d_in,
                                               int (&begin)[AXIS_COUNT])
{
    arch_region<typename S::REAL> region = {};
    const int64_t stride[AXIS_COUNT] = {1, layout->pitch_y, layout->pitch_z};
    int64_t at = layout->origin;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        begin[axis] = args->closed[2 * axis] ? 0 : -(axis == AXIS_X ? S::HALO_X : S::T);
        region.cells[axis] =
            layout->cells[axis] + (args->closed[2 * axis + 1] ? 0 : S::T) - begin[axis];
        at += begin[axis] * stride[axis];
    }
    region.first = static_cast<const typename S::REAL *>(d_in) + at;
    region.pitch_y = layout->pitch_y;
    region.pitch_z = layout->pitch_z;
    return region;
}

/* kernel: of the shape. */
template <typename S> static hipError_t units_of_device(const void *kernel, int *units)
{
    static int processors = 0;
    const hipError_t error = hip_prepare(kernel, S::SHARED_BYTES, &processors);
    *units = processors < work_list::MOST_UNITS ? processors : (int)work_list::MOST_UNITS;
    return error;
}

/* Whether no thread writes more cells than this, with a factor 2 for blocks that are not alike. */
template <typename S> static bool is_exact(const work_list &list)
{
    const double planes = (double)list.x.count * list.y.count * (list.z_end - list.z_lo);
    return 2 * planes / list.units * S::ROWS * S::V < WRITTEN_MOST;
}

/* What a kernel needs of a step on a box, but the kind. */
template <typename S, typename WORK>
static hipError_t work_of(struct hip_step *step, const work_list &list, WORK &w, arch_tile_map &map)
{
    typedef typename S::REAL REAL;
    const struct layout *layout = &step->args->layout;
    const struct coefficients *args = step->args->levels;
    /* CUDA 12.1 takes 32764 bytes */
    static_assert(sizeof(arch_tile_map) + sizeof(WORK) <= 8192, "parameters");
    w.list = list;
    w.scratch = step->d_scratch;
    w.bits = step->args->d_bits;
    step->has_bits = S::BITS;
    step->bits_below = S::T - 1; /* see count_read */
    step->bits_above = args->closed[FACE_Z_MAX] && list.z_end == layout->cells[AXIS_Z]
                           ? (int)layout->cells[AXIS_Z] - list.z_hi
                           : S::T - 1;
    w.result = step->result;
    step->summarised = S::SUMMARY;
    list_sums(w.sums, args, S::T);
    step->summed =
        list_outside(w.sums, layout, step->boxes, step->args->without, step->args->nwithout);
    if (!step->summed) {
        w.sums.count = 0;
    }
    list_strips(w.sums, S::T);
    w.pitch_y = (int)layout->pitch_y;
    w.pitch_z = layout->pitch_z;
    w.out = static_cast<REAL *>(step->args->d_out) + layout->origin +
            w.list.y.first * layout->pitch_y + w.list.x.first;
    w.in = static_cast<const REAL *>(step->args->d_in) + layout->origin;
    w.bottom = args->closed[FACE_Z_MIN] ? S::T : 0;
    w.top = args->closed[FACE_Z_MAX];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        w.cells[axis] = (int)layout->cells[axis];
    }
    return arch_tile_map_make(&map, region_of<S>(layout, args, step->args->d_in, w.region), S::TX,
                              S::TY + 2);
}

template <typename S> static hipError_t launch_list(struct hip_step *step, const work_list &list)
{
    deep_work<S> w = {};
    arch_tile_map map;
    int units = 0;
    hipError_t error = units_of_device<S>(reinterpret_cast<const void *>(steps_staged<S>), &units);
    if (error == hipSuccess) {
        w.p = uniform_of<typename S::REAL, S::T, S::T, S::A_OF>(step->args->levels);
        error = work_of<S>(step, list, w, map);
        step->bits_below = w.bottom > 0 && list.z_lo == 0 ? 0 : step->bits_below;
    }
    if (error != hipSuccess) {
        return error;
    }
    steps_staged<S><<<(unsigned)units, S::THREADS, S::SHARED_BYTES, step->stream>>>(map, w);
    return hipGetLastError();
}

template <typename S> static hipError_t launch(struct hip_step *step)
{
    int units = 0;
    const hipError_t error =
        units_of_device<S>(reinterpret_cast<const void *>(steps_staged<S>), &units);
    if (error != hipSuccess) {
        return error;
    }
    const known_list &known = recall_list<S>(step, units);
    const bool one_a = share_a(step->args->levels, S::T);
    if (!known.fits || (!one_a && S::T < 4)) {
        return hip_launch_steps_tile(step);
    }
    if constexpr (S::T == 4) { /* as super steps have them; without BITS: d_bits is rare */
        if (!one_a) {
            return launch_list<of_levels<S>>(step, known.list);
        }
    }
    if constexpr (S::CORRECTIONS == 0) {
        const bool bits = step->args->d_bits != nullptr;
        /* in float64 with 4 steps registers would be in local memory */
        if constexpr (S::T < 4 || sizeof(typename S::REAL) == 4) {
            if (step->result != nullptr && is_exact<S>(known.list)) {
                return bits ? launch_list<with_bits<summarised<S>>>(step, known.list)
                            : launch_list<summarised<S>>(step, known.list);
            }
        }
        if (bits) {
            return launch_list<with_bits<S>>(step, known.list);
        }
    }
    return launch_list<S>(step, known.list);
}

template <int T, int STAGES, bool AHEAD, int ROWS, unsigned CORRECTIONS>
static hipError_t launch_either(struct hip_step *step)
{
    return step->args->layout.precision == PRECISION_FLOAT64
               ? launch<deep_shape<double, T, STAGES, AHEAD, true, 4, CORRECTIONS>>(step)
               : launch<deep_shape<float, T, STAGES, AHEAD, true, ROWS, CORRECTIONS>>(step);
}

/* The launcher of a pass: see deep_shape; `rows`: in float32. */
#define DEFINE_DEEP(nsteps, stages, ahead, rows)                                                   \
    hipError_t hip_launch_steps_staged_##nsteps(struct hip_step *step)                             \
    {                                                                                              \
        return launch_either<nsteps, stages, ahead, rows, 0>(step);                                \
    }

/* The same where the second or the last step corrects. */
#define DEFINE_DEEP_PAIR(nsteps, stages, ahead, rows)                                              \
    hipError_t hip_launch_steps_staged_pair_##nsteps(struct hip_step *step)                        \
    {                                                                                              \
        constexpr unsigned second = 2, last = 1U << (nsteps - 1);                                  \
        const unsigned corrections = coefficients_corrections(step->args->levels, nsteps);         \
        return corrections == second ? launch_either<nsteps, stages, ahead, rows, second>(step)    \
               : corrections == last ? launch_either<nsteps, stages, ahead, rows, last>(step)      \
                                     : hip_launch_steps_tile(step);                                \
    }

#else

#define DEFINE_DEEP(nsteps, stages, ahead, rows)                                                   \
    hipError_t hip_launch_steps_staged_##nsteps(struct hip_step *)                                 \
    {                                                                                              \
        return hipErrorNotSupported;                                                               \
    }
#define DEFINE_DEEP_PAIR(nsteps, stages, ahead, rows)                                              \
    hipError_t hip_launch_steps_staged_pair_##nsteps(struct hip_step *)                            \
    {                                                                                              \
        return hipErrorNotSupported;                                                               \
    }

#endif
