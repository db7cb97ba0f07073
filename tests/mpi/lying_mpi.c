/* An MPI as it may be found, made from one that knows nothing of device memory: preloaded, it
 * stands between the program and the real library. Memory that the host cannot read (the backend
 * `guard`'s) counts as a device's. ISOTHERM_LYING_MPI says what becomes of it: good     it travels,
 * as with a GPU-aware library zeros    zeros travel in its place between  zeros, but not from a
 * process to itself tail     the last byte of long messages between ranks is wrong
 * ISOTHERM_NO_SHARING=1: and no memory can be shared between processes. */
#include <mpi.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 4096, LONG_BYTES = 64 * 1024 };

/* A request whose buffer is device memory, and the host memory that really travels. */
static struct bounce {
    MPI_Request request;
    void *device;
    char *host;
    size_t bytes;
    bool sends, persists;
} bounces[MOST];
static int nbounces;

static void copy_handles(MPI_Request *to, const MPI_Request *from, int count)
{
    for (int n = 0; n < count; n++) {
        to[n] = from[n];
    }
}

static bool mode_is(const char *mode)
{
    const char *wanted = getenv("ISOTHERM_LYING_MPI");
    return wanted != NULL && strcmp(wanted, mode) == 0;
}

int memfd_create(const char *name, unsigned int flags)
{
    (void)name;
    (void)flags;
    const char *refused = getenv("ISOTHERM_NO_SHARING");
    if (refused != NULL && strcmp(refused, "1") == 0) {
        errno = ENOSYS;
        return -1;
    }
    char path[] = "/dev/shm/lying_mpi_XXXXXX";
    const int file = mkstemp(path);
    unlink(path);
    return file;
}

static bool is_device_memory(const void *memory)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return false;
    }
    const bool readable = write(ends[1], memory, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return !readable;
}

static void open_pages(void *memory, size_t bytes, int access)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t)memory / page * page;
    const uintptr_t end = ((uintptr_t)memory + bytes + page - 1) / page * page;
    mprotect((void *)begin, end - begin, access);
}

static void move(const struct bounce *b)
{
    int size = 1;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    open_pages(b->device, b->bytes, PROT_READ | PROT_WRITE);
    if (!b->sends) {
        memcpy(b->device, b->host, b->bytes);
    } else if (mode_is("zeros") || (mode_is("between") && size > 1)) {
        memset(b->host, 0, b->bytes);
    } else {
        memcpy(b->host, b->device, b->bytes);
        if (mode_is("tail") && size > 1 && b->bytes > LONG_BYTES) {
            b->host[b->bytes - 1] = (char)~b->host[b->bytes - 1];
        }
    }
    open_pages(b->device, b->bytes, PROT_NONE);
}

/* The host memory to use in the place of `memory`; the request is filled in later. */
static struct bounce *bounce_for(const void *memory, int count, MPI_Datatype type, bool sends,
                                 bool persists)
{
    int size = 0;
    if (!is_device_memory(memory) || nbounces == MOST) {
        return NULL;
    }
    PMPI_Type_size(type, &size);
    struct bounce *b = &bounces[nbounces++];
    *b = (struct bounce){.device = (void *)(uintptr_t)memory,
                         .bytes = (size_t)count * (size_t)size,
                         .sends = sends,
                         .persists = persists};
    b->host = malloc(b->bytes + 1);
    return b;
}

static struct bounce *bounce_of(MPI_Request request)
{
    for (int n = 0; n < nbounces; n++) {
        if (request != MPI_REQUEST_NULL && bounces[n].request == request) {
            return &bounces[n];
        }
    }
    return NULL;
}

static void forget(MPI_Request request)
{
    struct bounce *b = bounce_of(request);
    if (b != NULL) {
        free(b->host);
        *b = bounces[--nbounces];
    }
}

int MPI_Send_init(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    struct bounce *b = bounce_for(buf, count, type, true, true);
    const int code =
        PMPI_Send_init(b != NULL ? b->host : buf, count, type, dest, tag, comm, request);
    if (b != NULL) {
        b->request = *request;
    }
    return code;
}

int MPI_Recv_init(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    struct bounce *b = bounce_for(buf, count, type, false, true);
    const int code =
        PMPI_Recv_init(b != NULL ? b->host : buf, count, type, source, tag, comm, request);
    if (b != NULL) {
        b->request = *request;
    }
    return code;
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    struct bounce *b = bounce_for(buf, count, type, true, false);
    if (b != NULL) {
        move(b);
    }
    const int code = PMPI_Isend(b != NULL ? b->host : buf, count, type, dest, tag, comm, request);
    if (b != NULL) {
        b->request = *request;
    }
    return code;
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    struct bounce *b = bounce_for(buf, count, type, false, false);
    const int code = PMPI_Irecv(b != NULL ? b->host : buf, count, type, source, tag, comm, request);
    if (b != NULL) {
        b->request = *request;
    }
    return code;
}

int MPI_Startall(int count, MPI_Request requests[])
{
    for (int n = 0; n < count; n++) {
        const struct bounce *b = bounce_of(requests[n]);
        if (b != NULL && b->sends) {
            move(b);
        }
    }
    return PMPI_Startall(count, requests);
}

static void arrived(int count, const MPI_Request requests[])
{
    for (int n = 0; n < count; n++) {
        const struct bounce *b = bounce_of(requests[n]);
        if (b != NULL) {
            if (!b->sends) {
                move(b);
            }
            if (!b->persists) {
                forget(requests[n]);
            }
        }
    }
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    MPI_Request before[MOST];
    copy_handles(before, requests, count);
    const int code = PMPI_Waitall(count, requests, statuses);
    arrived(count, before);
    return code;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    MPI_Request before[MOST];
    copy_handles(before, requests, count);
    const int code = PMPI_Testall(count, requests, flag, statuses);
    if (*flag) {
        arrived(count, before);
    }
    return code;
}

int MPI_Request_free(MPI_Request *request)
{
    MPI_Request before = *request;
    const int code = PMPI_Request_free(request);
    forget(before);
    return code;
}
