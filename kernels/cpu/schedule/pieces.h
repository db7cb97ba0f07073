/* The part of a thread of a step kernel. Included by each kind after both precisions of
 * stencil_of and step_piece, and struct step_scratch, a thread's memory. */

KERNEL_INLINE void step_pieces(const struct step_call *c, const struct box *pieces, int npieces,
                               struct schedule schedule, struct tally *tally)
{
    struct step_scratch scratch;
    if (c->layout->precision == PRECISION_FLOAT64) {
        const struct stencil_float64 s = stencil_of_float64(c, tally, &scratch);
        for (int p = 0; p < npieces; p++) {
            step_piece_float64(&s, &pieces[p], schedule);
        }
    } else {
        const struct stencil_float32 s = stencil_of_float32(c, tally, &scratch);
        for (int p = 0; p < npieces; p++) {
            step_piece_float32(&s, &pieces[p], schedule);
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

/* All boxes, in cells that are read again soon. */
static void step_part(const struct step_call *c, struct tally *tally)
{
    step_pieces(c, c->boxes, c->nboxes, (struct schedule){.wide = true}, tally);
}
