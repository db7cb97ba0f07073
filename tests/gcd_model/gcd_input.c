/* Input of gcd_sim, a word and integers per line:
 *   blocks NX NY NZ          dispatched with x fastest; begins a launch. A second one is on another
 *                            queue of higher priority: its blocks go first where there is room
 *   needs LDS REGISTERS      of a block: of 65536 bytes, and of 2048 registers of 64 lanes; else a
 *                            compute unit has `resident` blocks
 *   after NS                 no block begins earlier
 *   edge BYTES               the most of a piece in the last blocks in x, which end there
 *   memory BASE SX SY SZ     bytes: an address space, and its strides from block to block; in order
 *   wave OFFSET...           bytes: of the next wave of a block, one per memory
 *   L|S MEMORY HINT N (FIRST LENGTH)...   load or store of N pieces; HINT 1: nontemporal
 *   W N      wait until at most N loads and stores are not complete
 *   C B T    vector instructions that keep the SIMD for B cycles and the wave for T
 *   D C L    shared memory or scalar loads: C cycles of the pipe, L cycles of latency; K: wait
 *   B        barrier of the block
 *   E        end of a program: the next waves of a block run the next one, the rest the last
 *   others   the programs that follow are those of the last blocks in y; the second time, of the
 *            other blocks at the edges in x and y */
#include "gcd_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct op *ops;
struct launch launches[LAUNCHES];
int nlaunches;
static int nops;

void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (memory == NULL) {
        fprintf(stderr, "gcd_sim: no memory\n");
        exit(1);
    }
    return memory;
}

static void read_op(struct launch *l, char kind)
{
    if (nops % 1024 == 0) {
        ops = realloc(ops, (size_t)(nops + 1024) * sizeof *ops);
    }
    struct op *op = &ops[nops++];
    *op = (struct op){.kind = kind};
    const int wanted = strchr("LSCD", kind) != NULL ? 2 : kind == 'W' ? 1 : 0;
    bool complete =
        (wanted < 1 || scanf("%d", &op->a) == 1) && (wanted < 2 || scanf("%d", &op->b) == 1);
    if (kind == 'L' || kind == 'S') {
        complete &= scanf("%d", &op->npieces) == 1;
        op->pieces = allocate((size_t)op->npieces, sizeof *op->pieces);
        for (int n = 0; n < op->npieces; n++) {
            struct piece *piece = &op->pieces[n];
            complete &= scanf("%" SCNd64 " %" SCNd64, &piece->first, &piece->length) == 2;
        }
    }
    struct programs *of = &l->programs[l->nsets];
    if (kind == 'E' && of->count < WAVES) {
        of->begin[++of->count] = nops;
    }
    if (!complete) {
        fprintf(stderr, "gcd_sim: operation %d is incomplete\n", nops);
        exit(1);
    }
}

static void read_numbers(int64_t *to, int n)
{
    for (int i = 0; i < n; i++) {
        if (scanf("%" SCNd64, &to[i]) != 1) {
            fprintf(stderr, "gcd_sim: a number is missing\n");
            exit(1);
        }
    }
}

void read_input(void)
{
    struct launch *l = launches;
    char word[16];
    while (scanf("%15s", word) == 1) {
        if (strcmp(word, "blocks") == 0 && nlaunches < LAUNCHES) {
            l = &launches[nlaunches++];
            l->edge = INT64_MAX;
            l->programs[0].begin[0] = nops;
            read_numbers(l->blocks, 3);
        } else if (strcmp(word, "needs") == 0) {
            read_numbers(l->needs, 2);
        } else if (strcmp(word, "after") == 0) {
            read_numbers(&l->after, 1);
        } else if (strcmp(word, "edge") == 0) {
            read_numbers(&l->edge, 1);
        } else if (strcmp(word, "others") == 0 && l->nsets < SETS - 1) {
            l->programs[++l->nsets].begin[0] = nops;
        } else if (strcmp(word, "memory") == 0 && l->nmemories < MEMORIES) {
            read_numbers(&l->base[l->nmemories], 1);
            read_numbers(l->stride[l->nmemories++], 3);
        } else if (strcmp(word, "wave") == 0 && l->waves_per_block < WAVES) {
            read_numbers(l->wave_offset[l->waves_per_block++], l->nmemories);
        } else if (strlen(word) == 1 && strchr("LSWCDKBE", word[0]) != NULL) {
            read_op(l, word[0]);
        } else {
            fprintf(stderr, "gcd_sim: %s is not expected here\n", word);
            exit(1);
        }
    }
}
