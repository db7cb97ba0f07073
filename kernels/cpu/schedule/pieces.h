/* The part of a thread of a step kernel, tile by tile. Included by each kind after
 * stencil_of and step_tile, and struct step_scratch, a thread's memory. A kind may define
 *   TILING(box, cell_bytes, schedule)  how a box is divided into tiles */
#ifndef TILING
#define TILING tiling_of
#endif

KERNEL_INLINE void step_pieces(const struct step_call *c, const struct box *pieces, int npieces,
                               struct schedule schedule, struct tally *tally)
{
    struct step_scratch scratch;
    const struct stencil s = stencil_of(c, tally, &scratch);
    for (int p = 0; p < npieces; p++) {
        const struct tiling t = TILING(&pieces[p], sizeof(REAL), schedule);
        for (int64_t n = 0; n < t.nx * t.ny * t.nz; n++) {
            const struct box tile =
                tile_at(&pieces[p], &t, n % t.nx, n / t.nx % t.ny, n / (t.nx * t.ny));
            step_tile(&s, &tile, schedule);
        }
    }
}

/* All pieces of one thread. Inlined into each variant, where the schedule is a constant. */
KERNEL_INLINE void step_thread(const struct step_call *c, struct schedule schedule,
                               struct tally *tally)
{
    for (int b = 0; b < c->nboxes; b++) {
        struct box pieces[SHARE_PIECES];
        const int npieces =
            share_box(&c->boxes[b], omp_get_thread_num(), omp_get_num_threads(), pieces);
        step_pieces(c, pieces, npieces, schedule, tally);
    }
    stream_fence();
}

/* The part of a thread with a constant schedule. */
#define DEFINE_THREAD(name, ...)                                                                   \
    static void thread_##name(const struct step_call *c, struct tally *tally)                      \
    {                                                                                              \
        const int64_t tile_bytes = c->tile_bytes;                                                  \
        const struct schedule schedule = {__VA_ARGS__};                                            \
        (void)tile_bytes;                                                                          \
        step_thread(c, schedule, tally);                                                           \
    }

/* All boxes, in cells that are read again soon. */
static void step_part(const struct step_call *c, struct tally *tally)
{
    const struct schedule schedule = {.wide = true, .corrects = c->args->corrects};
    step_pieces(c, c->boxes, c->nboxes, schedule, tally);
}
