/* HIP on the host: arrivals and copies of tiles, as sm_90 has them. */
#include "blocks.h"

#include <cstdio>
#include <vector>

namespace
{
using namespace hip_on_host;

/* The 64 bits of arrivals. */
struct round_state {
    enum { KNOWN = 5 }; /* not all bits set, as in fresh shared memory */
    uint64_t known : 3;
    uint64_t parity : 1;   /* of the round at hand */
    uint64_t threads : 20; /* that arrive in a round */
    uint64_t missing : 20; /* of them */
    int64_t bytes : 20;    /* that have been announced and not arrived */
};
static_assert(sizeof(round_state) == sizeof(uint64_t), "arrivals");

struct copy {
    char *tile;
    tile_map map;
    uint64_t *arrivals;
    int64_t x, y, z;

    size_t row_bytes() const
    {
        return (size_t)map.tile[0] * (size_t)map.cell_bytes;
    }
    size_t bytes() const
    {
        return row_bytes() * (size_t)map.tile[1];
    }
};

std::vector<copy> in_flight;

round_state state_of(const void *arrivals)
{
    round_state state;
    memcpy(&state, arrivals, sizeof state);
    return state;
}

round_state known_state_of(const void *arrivals)
{
    const round_state state = state_of(arrivals);
    if (state.known != round_state::KNOWN) {
        give_up("arrivals that have not been initialised");
    }
    return state;
}

/* Also the end of the round, if nothing is missing. */
void change(uint64_t *arrivals, round_state state, int64_t bytes)
{
    state.bytes = bytes;
    if (state.bytes != bytes) {
        give_up("more bytes than arrivals can count");
    }
    const bool ended = state.missing == 0 && bytes == 0;
    if (ended) {
        state.parity ^= 1U;
        state.missing = state.threads;
    }
    memcpy(arrivals, &state, sizeof state);
    happened();
    if (ended) {
        happened_at(arrivals);
    }
}

void copy_row(char *to, const copy &c, int64_t y)
{
    const tile_map &map = c.map;
    memset(to, 0, c.row_bytes());
    const int64_t begin = max<int64_t>(c.x, 0);
    const int64_t end = min(c.x + map.tile[0], map.cells[0]);
    if (y >= 0 && y < map.cells[1] && c.z >= 0 && c.z < map.cells[2] && begin < end) {
        memcpy(to + (begin - c.x) * map.cell_bytes,
               map.first + c.z * map.pitch_bytes[1] + y * map.pitch_bytes[0] +
                   begin * map.cell_bytes,
               (size_t)((end - begin) * map.cell_bytes));
    }
}
} /* namespace */

bool hip_on_host::tile_map_fits(const tile_map &map)
{
    const int64_t most_cells = INT64_C(1) << 32, most_bytes = INT64_C(1) << 40;
    bool fits = reinterpret_cast<uintptr_t>(map.first) % 16 == 0 &&
                (int64_t)map.tile[0] * map.cell_bytes % 16 == 0;
    for (const int64_t cells : map.cells) {
        fits = fits && cells > 0 && cells <= most_cells;
    }
    for (const int64_t pitch : map.pitch_bytes) {
        fits = fits && pitch > 0 && pitch % 16 == 0 && pitch < most_bytes;
    }
    for (const int cells : map.tile) {
        fits = fits && cells > 0 && cells <= 256;
    }
    return fits;
}

void hip_on_host::tile_copy(void *tile, const tile_map &map, uint64_t *arrivals, int64_t x,
                            int64_t y, int64_t z)
{
    if (x * map.cell_bytes % 16 != 0) { /* an illegal instruction on an H200 */
        give_up("a tile that does not begin at a multiple of 16 bytes in its row");
    }
    const copy fresh = {static_cast<char *>(tile), map, arrivals, x, y, z};
    const uint32_t begin = shared_address(tile);
    shared_address(fresh.tile + fresh.bytes() - 1);
    if (begin % 128 != 0) {
        give_up("a tile that does not begin at a multiple of 128 bytes");
    }
    for (const copy &other : in_flight) {
        if (other.tile < fresh.tile + fresh.bytes() && fresh.tile < other.tile + other.bytes()) {
            give_up("a copy to where another one is not complete");
        }
    }
    memset(fresh.tile, 0xFF, fresh.bytes());
    in_flight.push_back(fresh);
}

bool hip_on_host::finish_copy(void)
{
    if (in_flight.empty()) {
        return false;
    }
    size_t n = 0;
    while (n + 1 < in_flight.size() && one_of(2)) {
        n++;
    }
    const copy c = in_flight[n];
    in_flight.erase(in_flight.begin() + (std::ptrdiff_t)n);
    for (int row = 0; row < c.map.tile[1]; row++) {
        copy_row(c.tile + (size_t)row * c.row_bytes(), c, c.y + row);
    }
    const round_state state = known_state_of(c.arrivals);
    change(c.arrivals, state, state.bytes - (int64_t)c.bytes());
    return true;
}

bool hip_on_host::copies_in_flight(void)
{
    return !in_flight.empty();
}

void hip_on_host::arrivals_init(uint64_t *arrivals, int threads)
{
    round_state state = {};
    state.known = round_state::KNOWN;
    state.threads = state.missing = (uint64_t)threads & 0xFFFFF;
    memcpy(arrivals, &state, sizeof state);
}

void hip_on_host::arrive(uint64_t *arrivals, int64_t bytes)
{
    round_state state = known_state_of(arrivals);
    if (state.missing == 0) {
        give_up("more threads arrive than a round has");
    }
    state.missing--;
    change(arrivals, state, state.bytes + bytes);
}

bool hip_on_host::arrivals_ended(uint64_t *arrivals, unsigned parity)
{
    if (known_state_of(arrivals).parity != parity) {
        return true;
    }
    if (one_of(500)) { /* seldom: all lanes of a wave may vote whether to look again */
        return false;
    }
    look_later(arrivals);
    return known_state_of(arrivals).parity != parity;
}

std::string hip_on_host::describe_arrivals(const void *arrivals)
{
    const round_state state = state_of(arrivals);
    char text[128];
    snprintf(text, sizeof text, "parity %u, %u of %u threads and %lld bytes are missing",
             (unsigned)state.parity, (unsigned)state.missing, (unsigned)state.threads,
             (long long)state.bytes);
    return text;
}

int hip_on_host::same_in_wave(const char *operation, int value)
{
    const uint64_t given = (uint32_t)value;
    const wave_values &all = exchange(operation, given);
    for (const uint64_t other : all.value) {
        if (other != given && other != UINT64_MAX) {
            give_up("lanes of a wave have different values");
        }
    }
    return value;
}
