/* The ring in a medium of classes: the copy engine loads the classes of a tile into the same stage.
 */
#include "kernels/hip/schedule/ring/classes_workers.h"

#include <cstdlib>
#include <cstring>

/* Numbers of a table that leaves room for the ring, with two blocks of float32, too. */
enum { MOST_NUMBERS = 100 * 1024 / (int)sizeof(double) };

#if ARCH_HAS_TILE_COPY

/* Columns that are cut such that all blocks have as many planes; of each tile only those with cells
 * that change. Kept, since they are in device memory. */
struct known_columns {
    struct box box;
    int64_t active;   /* number of the cells that change; 0: all */
    int blocks, each; /* columns of a block; some are empty */
    column *d_columns;
};

/* Give the columns to blocks, each with at most `most` planes and `more` per column. Returns the
 * number of blocks; list: NULL, or [each][blocks]; each: of the block with the most columns. */
template <typename S>
static int64_t cut_columns(const work &w, const struct active_planes *active, int most, int blocks,
                           column *list, int &each)
{
    const int more = 4; /* beside the column, and to fill the ring */
    int64_t block = 0;
    int room = most, n = 0;
    each = 0;
    for (int tile = 0; tile < w.tiles; tile++) {
        int begin = w.lo[2], end = w.hi[2];
        const int i = w.x_begin + tile % w.tiles_x * S::TX;
        const int j = w.lo[1] + tile / w.tiles_x * w.height;
        if (active != nullptr) {
            active_planes_of(active, i, i + S::TX < w.hi[0] ? i + S::TX : w.hi[0], j,
                             j + w.height < w.hi[1] ? j + w.height : w.hi[1], &begin, &end);
        }
        begin = begin > w.lo[2] ? begin : w.lo[2];
        end = end < w.hi[2] ? end : w.hi[2];
        while (begin < end) {
            const int planes = end - begin < room - more ? end - begin : room - more;
            if (planes < 1) {
                block++;
                room = most;
                n = 0;
                continue;
            }
            if (list != nullptr && block < blocks) {
                list[(int64_t)n * blocks + block] = {i, j, begin, begin + planes};
            }
            begin += planes;
            room -= planes + more;
            each = ++n > each ? n : each;
        }
    }
    return block + 1;
}

template <typename S>
static void make_columns(known_columns &known, const work &w, const struct active_planes *active,
                         hipStream_t stream)
{
    int low = 4, high = 2 * w.tiles * (w.hi[2] - w.lo[2] + 4), each = 0;
    while (high - low > 1) { /* the planes of a block that suffice */
        const int middle = low + (high - low) / 2;
        const bool fits =
            cut_columns<S>(w, active, middle, known.blocks, nullptr, each) <= known.blocks;
        low = fits ? low : middle;
        high = fits ? middle : high;
    }
    cut_columns<S>(w, active, high, known.blocks, nullptr, each);
    const size_t count = (size_t)(each > 0 ? each : 1) * (size_t)known.blocks;
    const int none = (w.lo[2] + w.hi[2]) / 2; /* on no closed face */
    column *const list = static_cast<column *>(malloc(count * sizeof *list));
    known.each = 0;
    if (list == nullptr || hipMalloc(reinterpret_cast<void **>(&known.d_columns),
                                     count * sizeof *list) != hipSuccess) {
        free(list);
        return;
    }
    for (size_t n = 0; n < count; n++) {
        list[n] = {w.x_begin, w.lo[1], none, none};
    }
    cut_columns<S>(w, active, high, known.blocks, list, each);
    if (hipMemcpyAsync(known.d_columns, list, count * sizeof *list, hipMemcpyHostToDevice,
                       stream) == hipSuccess &&
        hipStreamSynchronize(stream) == hipSuccess) {
        known.each = (int)(count / (size_t)known.blocks);
    }
    free(list);
}

/* each 0: there is no memory for them. */
template <typename S>
static const known_columns &recall_columns(const ring_call &call, const work &w, int blocks)
{
    enum { KNOWN = 16 };               /* interior and shells; two shapes */
    static known_columns known[KNOWN]; /* calls to a device come from one thread */
    static int next = 0;
    const struct active_planes *active = call.step->args->levels->medium.active;
    const int64_t number = active != nullptr ? active->number : 0;
    for (const known_columns &one : known) {
        if (one.active == number && one.blocks == blocks && one.each > 0 &&
            memcmp(&one.box, call.box, sizeof one.box) == 0) {
            return one;
        }
    }
    known_columns &place = known[next++ % KNOWN];
    (void)hipFree(place.d_columns);
    place = {*call.box, number, blocks, 0, nullptr};
    make_columns<S>(place, w, active, call.step->stream);
    return place;
}

/* The summary of a launch. */
struct summary_call {
    struct hip_result *result;
    const double *weight; /* of each class */
    int nclasses;
};

/* TABLE: the coefficients are in shared memory. */
template <typename S, bool TABLE> struct ring_of_classes : ring_kind<S> {
    typedef typename S::REAL REAL;
    classes<REAL, 1> kind;
    int table_length;
    struct exact_sum *sums[2]; /* of the faces of z; NULL: none */
    summary_call summary;      /* with S::SUMMARY */
    static constexpr bool ENDS = S::SUMMARY;

    /* Behind the ring and the table, the weights, then what the waves have found. */
    static __host__ __device__ constexpr int weights_at(int table)
    {
        return (table * (int)sizeof(REAL) + 7) / 8 * 8;
    }
    static __host__ __device__ constexpr int bytes_behind(int table)
    {
        return S::SUMMARY ? weights_at(table) + (UINT8_MAX + 1) * (int)sizeof(double) +
                                S::WORKERS / ARCH_WAVE * (int)sizeof(merged)
                          : table * (int)sizeof(REAL);
    }
    __device__ __forceinline__ double *weights_in(char *shared, const work &w) const
    {
        return reinterpret_cast<double *>(shared + w.ring_bytes + weights_at(table_length));
    }
    __device__ __forceinline__ merged *waves_in(char *shared, const work &w) const
    {
        return reinterpret_cast<merged *>(weights_in(shared, w) + UINT8_MAX + 1);
    }

    /* With cut columns, for cells that do not change, blocks are at different planes: there is no
     * common pace. */
    static work divide(const ring_call &call, int64_t nblocks, int ring_bytes)
    {
        const work paced = work_of<S>(call, nblocks, ring_bytes);
        if (!call.paced || call.step->args->levels->medium.active == nullptr) {
            return paced;
        }
        work w = work_of<S>({call.step, call.box, false}, nblocks, ring_bytes);
        const known_columns &known = recall_columns<S>(call, w, (int)nblocks);
        w.columns = known.d_columns;
        w.items = known.each * known.blocks;
        return known.each > 0 ? w : paced;
    }

    __device__ __forceinline__ void prepare(char *shared, const work &w) const
    {
        prepare_classes<S>(shared, w, kind.of.table, table_length);
        for (int c = (int)threadIdx.x; S::SUMMARY && c < summary.nclasses; c += (int)blockDim.x) {
            weights_in(shared, w)[c] = summary.weight[c];
        }
    }
    __device__ __forceinline__ void leave(struct hip_scratch *scratch, char *shared,
                                          const work &w) const
    {
        add_waves(scratch, waves_in(shared, w), w.waves);
    }
    __device__ __forceinline__ void end(struct hip_scratch *scratch) const
    {
        publish_summary(scratch, summary.result);
    }

    __device__ __forceinline__ void advance(const grid_view<REAL> &view, char *shared,
                                            stage_ring<S> ring, const work &w) const
    {
        const medium<REAL> &m = kind.of;
        const REAL *table = TABLE ? reinterpret_cast<const REAL *>(shared + w.ring_bytes) : m.table;
        const int class_offset =
            class_at<S>(w, (int)threadIdx.x % S::WIDE * S::N, (int)threadIdx.x / S::WIDE * S::ROWS);
        seen_cells<S> seen = {};
        if constexpr (S::SUMMARY) {
            seen.begin(weights_in(shared, w), summary.nclasses);
        }
        for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
            const column c = column_of<S>(w, item);
            const place<S> p = place_of<S>(view, kind.closed, w, c);
            march<S>(view, kind.closed,
                     classes_worker<S>{{closed_sides<S>(view, kind.closed, w, c) != 0},
                                       m,
                                       pairs_of(table, m.n, m.same_axes),
                                       w,
                                       p,
                                       class_offset,
                                       bytes_in_box<S>(p),
                                       sums,
                                       &seen},
                     ring, p, c);
        }
        if constexpr (S::SUMMARY) {
            const merged mine = merge_wave(seen.found.found());
            if (arch_is_first_lane()) {
                waves_in(shared, w)[threadIdx.x / ARCH_WAVE] = mine;
            }
        }
    }

    __device__ __forceinline__ void close(const grid_view<REAL> &view, const face_sums &sums,
                                          const stage_ring<S> &ring, const work &w, int wave) const
    {
        close_all<S>(view, kind, sums, ring, w, wave);
    }
};

template <typename K>
static hipError_t launch_classes(const ring_call &call, const classes<typename K::REAL, 1> &kind,
                                 int length)
{
    const struct step_args *args = call.step->args;
    const face_sums sums = face_sums_of(args->levels, call.step->d_scratch);
    const struct device_medium *medium = &args->levels->medium;
    return launch(call,
                  K{{},
                    kind,
                    length,
                    {sums.sum[FACE_Z_MIN], sums.sum[FACE_Z_MAX]},
                    {call.step->result, medium->d_weight, medium->nclasses}},
                  K::bytes_behind(length));
}

/* Whether a summary of this launch is exact: no thread writes more cells than WRITTEN_MOST, with a
 * factor 4 for blocks that are not alike, on at least 32 multiprocessors. */
template <typename S> static bool is_exact(const struct hip_step *step)
{
    return (double)box_cells(step->boxes) * 4 < 32.0 * S::WORKERS * WRITTEN_MOST;
}

template <typename REAL, int WIDE, int BLOCKS> static hipError_t launch_kind(const ring_call &call)
{
    /* in float32 two blocks: with a tile twice as wide the waves that close faces are too slow */
    constexpr int TILES = (int)(sizeof(double) / sizeof(REAL));
    typedef shape<REAL, WIDE, 128, 16, 4, BLOCKS * TILES, 2, true> S;
    struct hip_step *step = call.step;
    const classes<REAL, 1> kind = classes_of<REAL, 1>(step->args->levels);
    const struct device_medium *medium = &step->args->levels->medium;
    const int length = medium_numbers(medium);
    if (step->args->levels->corrects) {
        return launch_classes<ring_of_classes<with_base<S>, true>>(call, kind, length);
    }
    if (length > MOST_NUMBERS) {
        return launch_classes<ring_of_classes<S, false>>(call, kind, 0);
    }
    if (step->args->d_bits != nullptr) {
        return launch_classes<ring_of_classes<with_bits<S>, true>>(call, kind, length);
    }
    step->summarised = step->result != nullptr && !medium->has_ambients && is_exact<S>(step);
    return step->summarised
               ? launch_classes<ring_of_classes<with_summary<S>, true>>(call, kind, length)
               : launch_classes<ring_of_classes<S, true>>(call, kind, length);
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
