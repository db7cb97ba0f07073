/* The division of work among threads, without threads. */

#include "kernels/cpu/schedule/share.h"
#include "tests/test.h"

enum { PARTS = 3, PIECES = 11 };

/* In turn, or part 1 alone: every piece is taken once, its own by each part first. */
static void take_all(const int order[], int norder)
{
    struct share_taken taken[PARTS] = {{0}};
    int times[PIECES] = {0};
    int left = PIECES;
    for (int at = 0; left > 0; at++, left--) {
        const int part = order[at % norder];
        const bool first = taken[part].pieces == 0;
        const int64_t n = share_take(taken, PIECES, part, PARTS);
        assert_in_range(n, 0, PIECES - 1);
        if (first) {
            assert_int_equal(n, share_begin(PIECES, part, PARTS));
        }
        times[n]++;
    }
    for (int n = 0; n < PIECES; n++) {
        assert_int_equal(times[n], 1);
    }
    for (int part = 0; part < PARTS; part++) {
        assert_int_equal(share_take(taken, PIECES, part, PARTS), -1);
    }
}

TEST(every_piece_is_taken_once)
{
    take_all((const int[]){0, 1, 2}, 3);
    take_all((const int[]){2, 2, 0, 1, 2}, 5);
}

TEST(a_thread_takes_what_others_have_not_begun)
{
    take_all((const int[]){1}, 1);
    take_all((const int[]){2}, 1);
}

TEST(fewer_pieces_than_threads)
{
    struct share_taken taken[PARTS] = {{0}};
    assert_int_equal(share_take(taken, 1, 2, PARTS), 0);
    assert_int_equal(share_take(taken, 1, 0, PARTS), -1);
    assert_int_equal(share_take(taken, 0, 1, PARTS), -1);
}

TEST_MAIN(NULL, NULL)
