/* The threads of a step kernel and their face sums. Included after both precisions of
 * step_tiles.h and struct step_scratch, a thread's memory, by step_cpu.c and step_medium.c. */

typedef void thread_function(const struct layout *layout, const struct coefficients *args,
                             void *out, const void *in, const struct box *boxes, int nboxes,
                             int64_t tile_bytes, struct tally tally[FACE_COUNT]);

/* All pieces of one thread. Inlined into each variant, where the schedule is a constant. */
KERNEL_INLINE void step_thread(const struct layout *layout, const struct coefficients *args,
                               void *out, const void *in, const struct box *boxes, int nboxes,
                               struct schedule schedule, struct tally *tally)
{
    struct step_scratch scratch;
    const struct stencil_float64 s64 = stencil_of_float64(layout, args, out, in, tally, &scratch);
    const struct stencil_float32 s32 = stencil_of_float32(layout, args, out, in, tally, &scratch);
    for (int b = 0; b < nboxes; b++) {
        struct box pieces[SHARE_PIECES];
        const int npieces =
            share_box(&boxes[b], omp_get_thread_num(), omp_get_num_threads(), pieces);
        for (int p = 0; p < npieces; p++) {
            if (layout->precision == PRECISION_FLOAT64) {
                step_piece_float64(&s64, &pieces[p], schedule);
            } else {
                step_piece_float32(&s32, &pieces[p], schedule);
            }
        }
    }
    stream_fence();
}

static void step_parallel(thread_function *thread, const struct layout *layout,
                          const struct coefficients *args, void *out, const void *in,
                          const struct box *boxes, int nboxes, int64_t tile_bytes)
{
#pragma omp parallel if (share_is_worthwhile(boxes, nboxes))
    {
        struct tally tally[FACE_COUNT];
        tally_begin(tally, args);
        thread(layout, args, out, in, boxes, nboxes, tile_bytes, tally);
#pragma omp critical(step_tally)
        tally_end(tally);
    }
}
