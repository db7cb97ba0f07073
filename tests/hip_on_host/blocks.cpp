/* HIP on the host: the threads of a block. Each that waits is a fiber, with a stack of its own; one
 * host thread runs them in turn, and the blocks one after another.
 *
 * ISOTHERM_HIP_HOST_ORDER=SEED: in a random order instead of that of their numbers, so that a
 * result that needs a barrier which is not there is different. */
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>

#include "blocks.h"

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace
{
constexpr size_t STACK_BYTES = 256 << 10; /* of which 4 KiB are never touched */
constexpr size_t GUARD_BYTES = 4 << 10;
constexpr size_t SHIFT_BYTES = 320, SHIFTS = 101; /* stacks one above another share no cache line */
constexpr unsigned MOST_THREADS = 1024;
constexpr size_t SHARED_ALIGN = 1024;   /* as kernels ask for it */
constexpr uint32_t SHARED_BEGIN = 1024; /* the first address: not 0 */
constexpr int QUIET = 100; /* looks of all that wait, after which nothing will ever happen */

struct context {
    void *at[5];       /* of __builtin_setjmp */
    ucontext_t *entry; /* where it begins; NULL when it has */
#ifdef HAS_ASAN
    void *asan_stack;
    const void *bottom;
    size_t bytes;
#endif
};

/* Where threads wait for others: what for, and where in the source. */
struct meeting {
    const char *what, *file;
    int line;
    unsigned live; /* threads that have not returned */
    std::vector<int> waiting;
};

struct wave {
    meeting lanes;
    unsigned rounds;
    hip_on_host::wave_values round[2]; /* a lane may still read one when others fill the next */
};

/* Small: where all fibers take turns, each comes from further away than the nearest cache. */
struct fiber {
    context here;
    unsigned thread; /* in the block */
    dim3 number;     /* the same by axis */
};

/* A fiber that looks now and then whether something has happened at a place. */
struct look {
    const void *at;
    int fiber;
};

struct executor {
    std::mutex lock;
    const char *kernel;
    void (*thread)(const void *);
    const void *argument;
    std::vector<fiber> fibers;
    std::vector<ucontext_t> entries; /* of the fibers */
    std::vector<int> idle;           /* fibers without a thread */
    std::vector<int> ready;          /* fibers that may go on, from next_ready on */
    std::vector<unsigned> order;     /* of threads, from next on */
    size_t next_ready, next;
    unsigned live;
    meeting block;
    std::vector<wave> waves;
    std::vector<look> looks;
    int quiet; /* how often all have looked since something happened */
    context host;
    int now; /* the fiber that runs */
    bool random;
    hip_on_host::draws generator;
    uint64_t blocks;
    char *shared;
    size_t shared_bytes;
} e;

/* A function of its own, as __builtin_longjmp wants it. Unlike longjmp, that looks for no handlers
 * of threads that end, and restores only what the compiler needs. */
[[noreturn]] __attribute__((noinline)) void go_to(context &to)
{
    if (to.entry != nullptr) {
        setcontext(std::exchange(to.entry, nullptr));
    }
    __builtin_longjmp(to.at, 1);
}

__attribute__((noinline)) void jump(context &from, context &to)
{
    if (&from == &to) {
        return;
    }
#ifdef HAS_ASAN
    __sanitizer_start_switch_fiber(&from.asan_stack, to.bottom, to.bytes);
#endif
    if (__builtin_setjmp(from.at) == 0) {
        go_to(to);
    }
#ifdef HAS_ASAN
    __sanitizer_finish_switch_fiber(from.asan_stack, nullptr, nullptr);
#endif
}

dim3 number_of(unsigned thread)
{
    const unsigned rows = thread / blockDim.x;
    return dim3(thread % blockDim.x, rows % blockDim.y, rows / blockDim.y);
}

} /* namespace */

[[noreturn]] void hip_on_host::give_up(const char *what)
{
    fprintf(stderr, "HIP on the host: kernel %s, block (%u, %u, %u) of %u threads: %s\n", e.kernel,
            blockIdx.x, blockIdx.y, blockIdx.z, blockDim.x * blockDim.y * blockDim.z, what);
    if (!e.block.waiting.empty()) {
        fprintf(stderr, "  %zu of %u threads wait at %s (%s:%d)\n", e.block.waiting.size(),
                e.block.live, e.block.what, e.block.file, e.block.line);
    }
    for (size_t w = 0; w < e.waves.size(); w++) {
        const meeting &lanes = e.waves[w].lanes;
        if (!lanes.waiting.empty()) {
            fprintf(stderr, "  wave %zu: %zu of %u lanes wait at %s\n", w, lanes.waiting.size(),
                    lanes.live, lanes.what);
        }
    }
    std::map<const void *, size_t> places;
    for (const look &l : e.looks) {
        places[l.at]++;
    }
    for (const auto &[at, threads] : places) {
        const std::ptrdiff_t byte = static_cast<const char *>(at) - e.shared;
        const bool dynamic = byte >= 0 && (size_t)byte < e.shared_bytes;
        fprintf(stderr, "  %zu threads wait for arrivals ", threads);
        if (dynamic) {
            fprintf(stderr, "at byte %td: ", byte);
        } else {
            fprintf(stderr, "in a variable, %p: ", at);
        }
        fprintf(stderr, "%s\n", describe_arrivals(at).c_str());
    }
    abort();
}

namespace
{
using hip_on_host::give_up;

void make_ready(const std::vector<look> &looks)
{
    for (const look &l : looks) {
        e.ready.push_back(l.fiber);
    }
}

/* No thread can run: what takes time happens, or all that wait look again. */
bool time_passes(void)
{
    if (hip_on_host::finish_copy()) {
        return true;
    }
    if (e.looks.empty() || ++e.quiet > QUIET) {
        return false;
    }
    make_ready(e.looks);
    e.looks.clear();
    return true;
}

/* Run another fiber, or begin one if threads are left, from one that waits or has nothing to do. */
void run_another(int from)
{
    const bool can_begin = e.next < e.order.size() && !e.idle.empty();
    if (hip_on_host::one_of(16)) {
        hip_on_host::finish_copy();
    }
    while (e.ready.size() == e.next_ready && !can_begin) {
        if (!time_passes()) {
            give_up("its threads wait for each other");
        }
    }
    const size_t nready = e.ready.size() - e.next_ready;
    if (nready > 0 && !(can_begin && hip_on_host::one_of(2))) {
        if (e.random) {
            std::swap(e.ready[e.next_ready],
                      e.ready[e.next_ready + e.generator.below((uint32_t)nready)]);
        }
        e.now = e.ready[e.next_ready++];
    } else {
        e.now = e.idle.back();
        e.idle.pop_back();
    }
    if (e.next_ready == e.ready.size()) {
        e.ready.clear();
        e.next_ready = 0;
    }
    jump(from < 0 ? e.host : e.fibers[(size_t)from].here, e.fibers[(size_t)e.now].here);
}

void release(meeting &m)
{
    e.ready.insert(e.ready.end(), m.waiting.begin(), m.waiting.end());
    m.waiting.clear();
}

void release_wave(wave &w)
{
    w.rounds++;
    memset(&w.round[w.rounds % 2], 0xFF, sizeof w.round[0]);
    release(w.lanes);
}

bool all_wait(const meeting &m)
{
    return !m.waiting.empty() && m.waiting.size() == m.live;
}

bool differ(const char *a, const char *b)
{
    return a != b && strcmp(a, b) != 0;
}

void wait_at(meeting &m, const char *what, const char *file, int line)
{
    if (!m.waiting.empty() && (m.line != line || differ(m.what, what) || differ(m.file, file))) {
        fprintf(stderr, "HIP on the host: a thread arrives at %s (%s:%d)\n", what, file, line);
        give_up("other threads wait elsewhere");
    }
    m.what = what;
    m.file = file;
    m.line = line;
    m.waiting.push_back(e.now);
}

void run_others(void)
{
    const int me = e.now;
    run_another(me);
    threadIdx = e.fibers[(size_t)me].number;
}

void end_thread(unsigned thread)
{
    hip_on_host::happened();
    wave &w = e.waves[thread / hip_on_host::WAVE];
    e.live--;
    e.block.live--;
    w.lanes.live--;
    if (all_wait(w.lanes)) {
        release_wave(w);
    }
    if (all_wait(e.block)) {
        release(e.block);
    }
}

/* A fiber runs threads until one waits, and goes on with others when that one has returned. */
void fiber_main(void)
{
    const int me = e.now;
    fiber &self = e.fibers[(size_t)me];
#ifdef HAS_ASAN
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    if (e.host.bottom == nullptr) { /* the first comes from there */
        e.host.bottom = bottom;
        e.host.bytes = bytes;
    }
#endif
    for (;;) {
        while (e.next < e.order.size()) {
            self.thread = e.order[e.next++];
            self.number = threadIdx = number_of(self.thread);
            e.thread(e.argument);
            end_thread(self.thread);
        }
        e.idle.push_back(me);
        if (e.live == 0) {
            jump(self.here, e.host);
        } else {
            run_another(me);
        }
    }
}

void make_fibers(void)
{
    const size_t bytes = STACK_BYTES * MOST_THREADS;
    char *stacks = static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stacks == MAP_FAILED) {
        perror("HIP on the host: stacks");
        abort();
    }
    e.fibers.resize(MOST_THREADS);
    e.entries.resize(MOST_THREADS);
    for (size_t f = 0; f < MOST_THREADS; f++) {
        context &here = e.fibers[f].here;
        char *stack = stacks + f * STACK_BYTES;
        mprotect(stack, GUARD_BYTES, PROT_NONE);
        ucontext_t &entry = e.entries[f];
        getcontext(&entry);
        entry.uc_stack.ss_sp = stack + GUARD_BYTES;
        entry.uc_stack.ss_size = STACK_BYTES - GUARD_BYTES - f % SHIFTS * SHIFT_BYTES;
        makecontext(&entry, fiber_main, 0);
        here.entry = &entry;
#ifdef HAS_ASAN
        here.bottom = entry.uc_stack.ss_sp;
        here.bytes = entry.uc_stack.ss_size;
#endif
        e.idle.push_back((int)(MOST_THREADS - 1 - f));
    }
    const char *seed = getenv("ISOTHERM_HIP_HOST_ORDER");
    e.random = seed != nullptr && *seed != '\0';
    e.generator.state = e.random ? strtoull(seed, nullptr, 10) : 0;
}

void run_block(unsigned nthreads)
{
    e.blocks++;
    memset(e.shared, 0xFF, e.shared_bytes);
    e.order.resize(nthreads);
    for (unsigned t = 0; t < nthreads; t++) {
        e.order[t] = t;
    }
    if (e.random) {
        std::shuffle(e.order.begin(), e.order.end(), e.generator);
    }
    e.next = 0;
    e.live = e.block.live = nthreads;
    e.quiet = 0;
    e.waves.resize((nthreads + hip_on_host::WAVE - 1) / hip_on_host::WAVE);
    for (size_t w = 0; w < e.waves.size(); w++) {
        const unsigned first = (unsigned)w * hip_on_host::WAVE;
        e.waves[w].lanes.live = std::min<unsigned>(hip_on_host::WAVE, nthreads - first);
        memset(e.waves[w].round, 0xFF, sizeof e.waves[w].round);
    }
    run_another(-1);
    if (hip_on_host::copies_in_flight()) {
        give_up("it ends before its copies");
    }
}

/* What gfx90a takes, of which a launch on NVIDIA may use more, but for shared memory. */
bool can_launch(const hip_on_host::launch_shape &s)
{
    const uint64_t threads = (uint64_t)s.block.x * s.block.y * s.block.z;
    const uint64_t blocks = (uint64_t)s.grid.x * s.grid.y * s.grid.z;
    return threads > 0 && threads <= MOST_THREADS && blocks > 0 && s.grid.y <= UINT16_MAX &&
           s.grid.z <= UINT16_MAX && (uint64_t)s.grid.x * s.block.x <= UINT32_MAX &&
           s.shared_bytes <= hip_on_host::MOST_SHARED_BYTES;
}
} /* namespace */

void hip_on_host::run(const char *kernel, const launch_shape &shape, void (*thread)(const void *),
                      const void *argument)
{
    const std::lock_guard<std::mutex> alone(e.lock);
    if (!can_launch(shape)) {
        last_error = hipErrorInvalidConfiguration;
        return;
    }
    if (e.fibers.empty()) {
        make_fibers();
    }
    e.kernel = kernel;
    e.thread = thread;
    e.argument = argument;
    /* of the size asked for, so that AddressSanitizer sees who goes beyond it */
    void *fresh = nullptr;
    if (posix_memalign(&fresh, SHARED_ALIGN, shape.shared_bytes) != 0) {
        give_up("no memory");
    }
    const std::unique_ptr<char, decltype(&free)> shared(static_cast<char *>(fresh), free);
    e.shared = shared.get();
    e.shared_bytes = shape.shared_bytes;
    gridDim = shape.grid;
    blockDim = shape.block;
    std::vector<uint64_t> blocks((size_t)gridDim.x * gridDim.y * gridDim.z);
    std::iota(blocks.begin(), blocks.end(), 0);
    if (e.random) {
        std::shuffle(blocks.begin(), blocks.end(), e.generator);
    }
    for (const uint64_t b : blocks) {
        const uint64_t rows = b / gridDim.x;
        blockIdx = dim3((unsigned)(b % gridDim.x), (unsigned)(rows % gridDim.y),
                        (unsigned)(rows / gridDim.y));
        run_block(blockDim.x * blockDim.y * blockDim.z);
    }
}

void *hip_on_host::dynamic_shared(void)
{
    return e.shared;
}

uint64_t hip_on_host::blocks_begun(void)
{
    return e.blocks;
}

int hip_on_host::lane(void)
{
    return (int)(e.fibers[(size_t)e.now].thread % WAVE);
}

void hip_on_host::block_barrier(const char *file, int line)
{
    wait_at(e.block, "__syncthreads", file, line);
    if (all_wait(e.block)) {
        happened();
        release(e.block);
    }
    run_others();
}

const hip_on_host::wave_values &hip_on_host::exchange(const char *operation, uint64_t value)
{
    wave &w = e.waves[e.fibers[(size_t)e.now].thread / WAVE];
    wave_values &given = w.round[w.rounds % 2];
    given.value[lane()] = value;
    wait_at(w.lanes, operation, "", 0);
    if (all_wait(w.lanes)) {
        release_wave(w);
    }
    run_others();
    return given;
}

void hip_on_host::look_later(const void *at)
{
    e.looks.push_back({at, e.now});
    run_others();
}

void hip_on_host::happened(void)
{
    e.quiet = 0;
}

void hip_on_host::happened_at(const void *at)
{
    const auto others = std::stable_partition(e.looks.begin(), e.looks.end(),
                                              [at](const look &l) { return l.at != at; });
    make_ready({others, e.looks.end()});
    e.looks.erase(others, e.looks.end());
}

bool hip_on_host::one_of(unsigned n)
{
    return e.random && e.generator.below(n) == 0;
}

uint32_t hip_on_host::shared_address(const void *shared)
{
    const auto offset = static_cast<const char *>(shared) - e.shared;
    if (offset < 0 || (size_t)offset >= e.shared_bytes) {
        give_up("an address of shared memory that the launch has not");
    }
    return SHARED_BEGIN + (uint32_t)offset;
}

void *hip_on_host::shared_at(uint32_t address, size_t bytes)
{
    const size_t offset = (size_t)address - SHARED_BEGIN;
    if (address % bytes != 0 || address < SHARED_BEGIN || offset + bytes > e.shared_bytes) {
        fprintf(stderr, "HIP on the host: %zu bytes at %zu of %zu of shared memory\n", bytes,
                offset, e.shared_bytes);
        give_up("an access beyond the launch's shared memory, or not aligned");
    }
    return e.shared + offset;
}
