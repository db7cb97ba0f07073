/* The ring for an enthalpy of one class whose curve has one segment, as constant properties have:
 * every worker evaluates theta of its cells and of their neighbours. Boxes without cells on closed
 * faces. */
#include "kernels/hip/kind/enthalpy.h"
#include "kernels/hip/schedule/ring/kernel.h"

#if ARCH_HAS_TILE_COPY

template <typename REAL> struct line_shape : shape<REAL, 8 / (int)sizeof(REAL), 128, 16, 4, 1> {
    static constexpr bool SUMS = false; /* over closed faces */
};

/* See march. */
template <typename S> struct line_worker {
    typedef typename S::REAL REAL;
    const place<S> &p;
    bool perfused;
    REAL segment[1 + NONLINEAR_SEGMENT], tissue[NONLINEAR_BLOOD + 1], r[AXIS_COUNT], q;
    tally heat; /* of perfusion */

    __device__ __forceinline__ void wait(const stage_ring<S> &ring) const
    {
        ring.wait();
    }
    __device__ __forceinline__ void begin(const REAL *, const REAL *) const
    {
    }
    __device__ __forceinline__ cells_of<S> beyond(int, int, const cells_of<S> &inside, const REAL *,
                                                  REAL *) const
    {
        return inside; /* no face is closed */
    }

    __device__ __forceinline__ void advance(const REAL *now, const REAL *,
                                            const cells_of<S> (&z)[3], cells_of<S> &out)
    {
        const REAL g[FACE_COUNT] = {r[0], r[0], r[1], r[1], r[2], r[2]};
#pragma unroll
        for (int row = 0; row < S::ROWS; row++) {
            const row_values<S> v = values_of<S>(now, p, row, z);
#pragma unroll
            for (int i = 0; i < S::N; i++) {
                const auto own = nonlinear_in(segment, 1, 0, v.c.v[i]);
                REAL d[FACE_COUNT];
                v.around(i, d);
#pragma unroll
                for (int face = 0; face < FACE_COUNT; face++) {
                    d[face] = nonlinear_theta(segment, 1, 0, d[face]) - own.theta;
                }
                const REAL source = nonlinear_source(tissue, q, own.temperature);
                out.row[row].v[i] = v.c.v[i] + nonlinear_sum(g, d, source);
                if (perfused) {
                    const bool on = row < p.rows && i >= p.begin && i < p.end;
                    heat.add(on ? nonlinear_perfusion(tissue, own.temperature) : 0.0);
                }
            }
        }
    }
};

template <typename S> struct ring_of_line : ring_kind<S> {
    typedef typename S::REAL REAL;
    static constexpr bool ENDS = true;
    nonlinear<REAL> m;
    struct exact_sum *perfusion; /* NULL: not summed */

    __device__ __forceinline__ void advance(const grid_view<REAL> &view, char *, stage_ring<S> ring,
                                            const work &w) const
    {
        const bool open[FACE_COUNT] = {};
        const REAL *numbers = m.numbers();
        for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
            const column c = column_of<S>(w, item);
            const place<S> p = place_of<S>(view, open, w, c);
            line_worker<S> my = {p, perfusion != nullptr, {}, {}, {}, 0, {}};
            for (int n = 0; n < NONLINEAR_SEGMENT; n++) {
                my.segment[n] = m.segments()[n];
            }
            my.tissue[NONLINEAR_PERFUSION] = numbers[NONLINEAR_PERFUSION];
            my.tissue[NONLINEAR_BLOOD] = numbers[NONLINEAR_BLOOD];
            for (int axis = 0; axis < AXIS_COUNT; axis++) {
                my.r[axis] = numbers[NONLINEAR_R + axis];
            }
            my.q = m.of.table[medium_cell_at(0) + 1];
            march<S>(view, open, my, ring, p, c);
            face_sum_add(perfusion, my.heat);
        }
    }
    __device__ __forceinline__ void end(struct hip_scratch *) const
    {
        if (perfusion != nullptr) {
            face_sum_normalise(perfusion);
        }
    }
};

template <typename REAL> static hipError_t launch_line(const ring_call &call)
{
    const struct step_args *args = call.step->args;
    if (args->d_perfusion != nullptr) {
        call.step->perfused = *call.box;
    }
    return launch(call,
                  ring_of_line<line_shape<REAL>>{
                      {}, nonlinear_of<REAL>(&args->levels->medium), args->d_perfusion},
                  0);
}

hipError_t hip_launch_step_line(struct hip_step *step)
{
    const int64_t cache_bytes = (int64_t)40 << 20; /* as staged_by_rule */
    const enum precision precision = step->args->layout.precision;
    const int64_t bytes = box_cells(step->boxes) * (int64_t)precision_bytes(precision);
    const ring_call call = {step, step->boxes, bytes >= cache_bytes};
    return precision == PRECISION_FLOAT64 ? launch_line<double>(call) : launch_line<float>(call);
}

#else

hipError_t hip_launch_step_line(struct hip_step *)
{
    return hipErrorNotSupported;
}

#endif
