/* Messages that are too long for one MPI count: tried with small counts. */
#include "mpi_rig.h"

#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "halo/transport.h"

enum { MOST_BYTES = 100003 };

static unsigned char byte_of(int sender, int tag, size_t at, int round)
{
    return (unsigned char)((size_t)(sender * 31 + tag * 7 + round * 13) + at + at / 251);
}

/* A ring over all ranks, itself when there is one: the lower face sends down, the upper one up. */
static void exchange(size_t bytes, int max_count)
{
    const int rank = comm_rank(MPI_COMM_WORLD);
    const int nranks = comm_size(MPI_COMM_WORLD);
    struct transport_channel channels[2];
    struct request_buffers buffers[2];
    struct requests requests;
    unsigned char *memory = malloc(2 * (1 + TRANSPORT_SLOTS) * (bytes + 1));
    memset(memory, 0xEE, 2 * (1 + TRANSPORT_SLOTS) * (bytes + 1));
    unsigned char *next = memory;
    for (int n = 0; n < 2; n++) {
        const int peer = n == 0 ? (rank + nranks - 1) % nranks : (rank + 1) % nranks;
        channels[n] = (struct transport_channel){
            .peer = peer, .send_tag = 1 - n, .recv_tag = n, .bytes = bytes};
        buffers[n].send = next;
        next += bytes + 1;
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            buffers[n].recv[slot] = next;
            next += bytes + 1;
        }
    }
    demand(requests_open(MPI_COMM_WORLD, channels, 2, buffers, max_count, 0, &requests));
    for (int round = 0; round < 4; round++) {
        const int slot = round % TRANSPORT_SLOTS;
        demand(requests_post(&requests, slot));
        for (int n = 0; n < 2; n++) {
            unsigned char *send = (unsigned char *)buffers[n].send;
            for (size_t at = 0; at < bytes; at++) {
                send[at] = byte_of(rank, 1 - n, at, round);
            }
        }
        demand(requests_send(&requests));
        demand(requests_wait(&requests));
        for (int n = 0; n < 2; n++) {
            const unsigned char *got = buffers[n].recv[slot];
            for (size_t at = 0; at < bytes; at++) {
                check(got[at] == byte_of(channels[n].peer, n, at, round));
            }
            check(got[bytes] == 0xEE);
        }
    }
    requests_close(&requests);
    free(memory);
}

TEST(any_length_arrives_whole)
{
    static const size_t lengths[] = {4, 1000, 1001, 2000, 65536, MOST_BYTES};
    static const int counts[] = {1, 7, 1000, 65536, REQUESTS_MAX_COUNT};
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            exchange(lengths[l], counts[c]);
        }
    }
    settle();
}

TEST_MAIN_RANKS(NULL, NULL)
