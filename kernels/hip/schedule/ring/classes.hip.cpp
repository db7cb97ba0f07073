/* The ring in a medium of classes: the copy engine loads the classes of a tile into the same stage.
 */
#include "kernels/hip/schedule/ring/classes_workers.h"

/* Numbers of a table that leaves room for the ring, with two blocks of float32, too. */
enum { MOST_NUMBERS = 100 * 1024 / (int)sizeof(double) };

#if ARCH_HAS_TILE_COPY

/* TABLE: the coefficients are in shared memory. */
template <typename S, bool TABLE> struct ring_of_classes : ring_kind<S> {
    typedef typename S::REAL REAL;
    classes<REAL, 1> kind;
    int table_length;
    struct exact_sum *sums[2]; /* of the faces of z; NULL: none */

    __device__ __forceinline__ void prepare(char *shared, const work &w) const
    {
        prepare_classes<S>(shared, w, kind.of.table, table_length);
    }

    __device__ __forceinline__ void advance(const grid_view<REAL> &view, char *shared,
                                            stage_ring<S> ring, const work &w) const
    {
        const medium<REAL> &m = kind.of;
        const REAL *table = TABLE ? reinterpret_cast<const REAL *>(shared + w.ring_bytes) : m.table;
        const int class_offset =
            class_at<S>(w, (int)threadIdx.x % S::WIDE * S::N, (int)threadIdx.x / S::WIDE * S::ROWS);
        for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
            const column c = column_of<S>(w, item);
            const place<S> p = place_of<S>(view, kind.closed, w, c);
            march<S>(view, kind.closed,
                     classes_worker<S>{m, pairs_of(table, m.n, m.same_axes), w, p, class_offset,
                                       closed_sides<S>(view, kind.closed, w, c) != 0,
                                       bytes_in_box<S>(p), sums},
                     ring, p, c);
        }
    }

    __device__ __forceinline__ void close(const grid_view<REAL> &view, const face_sums &sums,
                                          const stage_ring<S> &ring, const work &w, int wave) const
    {
        close_all<S>(view, kind, sums, ring, w, wave);
    }
};

template <typename REAL, int WIDE, int BLOCKS> static hipError_t launch_kind(const ring_call &call)
{
    /* in float32 two blocks: with a tile twice as wide the waves that close faces are too slow */
    constexpr int TILES = (int)(sizeof(double) / sizeof(REAL));
    typedef shape<REAL, WIDE, 128, 16, 4, BLOCKS * TILES, 2, true> S;
    const classes<REAL, 1> kind = classes_of<REAL, 1>(call.step->args->levels);
    const int length = medium_numbers(&call.step->args->levels->medium);
    const int bytes = length * (int)sizeof(REAL);
    const face_sums sums = face_sums_of(call.step->args->levels, call.step->d_scratch);
    struct exact_sum *const low = sums.sum[FACE_Z_MIN], *const high = sums.sum[FACE_Z_MAX];
    struct hip_step *step = call.step;
    const bool bits = step->args->d_bits != nullptr;
    if (step->args->levels->corrects) {
        return launch(call, ring_of_classes<with_base<S>, true>{{}, kind, length, {low, high}},
                      bytes);
    }
    if (length > MOST_NUMBERS) {
        return launch(call, ring_of_classes<S, false>{{}, kind, 0, {low, high}}, 0);
    }
    return bits ? launch(call, ring_of_classes<with_bits<S>, true>{{}, kind, length, {low, high}},
                         bytes)
                : launch(call, ring_of_classes<S, true>{{}, kind, length, {low, high}}, bytes);
}

#endif

DEFINE_RING(medium_free, 1, 1, false)
DEFINE_RING(medium_deep, 1, 1, true)

bool hip_step_medium_takes(const struct device_medium *medium)
{
    const struct layout *l = &medium->layout;
    const uintptr_t first = reinterpret_cast<uintptr_t>(medium->d_class) + (uintptr_t)l->origin;
    return first % 16 == 0 && l->origin >= 16 + l->pitch_y + l->pitch_z && l->pitch_y > 0 &&
           l->pitch_z > 0 && l->pitch_y % 16 == 0 && l->pitch_z % 16 == 0;
}

bool hip_step_medium_corrects(const struct step_args *args, const struct box *box)
{
    const struct device_medium *medium = &args->levels->medium;
    const enum kind of = args->levels->kind;
    const bool kind = of == KIND_FACES || of == KIND_GRADED ||
                      (of == KIND_CLASSES && medium_numbers(medium) <= MOST_NUMBERS);
    return kind && args->d_bits == nullptr && hip_step_staged_takes(&args->layout, box) &&
           hip_step_medium_takes(medium);
}
