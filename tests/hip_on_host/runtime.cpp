/* HIP's runtime on the host: memory, streams, events, and memory shared between processes. */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hip/hip_runtime.h"

hipError_t hip_on_host::last_error = hipSuccess;

struct hip_on_host_stream {
    int priority;
};
struct hip_on_host_event {
    std::chrono::steady_clock::time_point recorded;
};

namespace
{
/* Memory that other processes can map: a file without a name, reached through its process. */
struct shared_file {
    pid_t owner;
    int fd;
    size_t bytes;
};

std::mutex lock;
std::map<void *, shared_file> files; /* by where they are mapped here */

hipError_t answer(hipError_t error)
{
    if (error != hipSuccess) {
        hip_on_host::last_error = error;
    }
    return error;
}

hipError_t give(void **memory, void *fresh)
{
    *memory = fresh;
    return answer(fresh != nullptr ? hipSuccess : hipErrorMemoryAllocation);
}

hipError_t map_file(void **d_memory, const shared_file &file)
{
    const int protection = PROT_READ | PROT_WRITE;
    void *mapped =
        file.fd < 0 ? MAP_FAILED : mmap(nullptr, file.bytes, protection, MAP_SHARED, file.fd, 0);
    if (mapped == MAP_FAILED) {
        return answer(hipErrorMemoryAllocation);
    }
    const std::lock_guard<std::mutex> alone(lock);
    files[mapped] = file;
    *d_memory = mapped;
    return hipSuccess;
}

bool unmap_file(void *d_memory)
{
    const std::lock_guard<std::mutex> alone(lock);
    const auto found = files.find(d_memory);
    if (found == files.end()) {
        return false;
    }
    munmap(d_memory, found->second.bytes);
    close(found->second.fd);
    files.erase(found);
    return true;
}
} /* namespace */

/* --- errors and the device ------------------------------------------------------------------- */

const char *hipGetErrorName(hipError_t error)
{
    switch (error) {
    case hipSuccess:
        return "hipSuccess";
    case hipErrorInvalidValue:
        return "hipErrorInvalidValue";
    case hipErrorMemoryAllocation:
        return "hipErrorOutOfMemory";
    case hipErrorInvalidConfiguration:
        return "hipErrorInvalidConfiguration";
    case hipErrorNotReady:
        return "hipErrorNotReady";
    default:
        return "hipErrorNotSupported";
    }
}

const char *hipGetErrorString(hipError_t error)
{
    return hipGetErrorName(error) + strlen("hip");
}

hipError_t hipGetLastError(void)
{
    const hipError_t last = hip_on_host::last_error;
    hip_on_host::last_error = hipSuccess;
    return last;
}

hipError_t hipDriverGetVersion(int *version)
{
    *version = 0;
    return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int *version)
{
    *version = 0;
    return hipSuccess;
}

hipError_t hipGetDeviceCount(int *count)
{
    *count = 1;
    return hipSuccess;
}

hipError_t hipGetDevice(int *device)
{
    *device = 0;
    return hipSuccess;
}

hipError_t hipSetDevice(int device)
{
    return answer(device == 0 ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int)
{
    snprintf(properties->name, sizeof properties->name, "HIP kernels on the host, for tests");
    return hipSuccess;
}

hipError_t hipDeviceGetPCIBusId(char *address, int bytes, int)
{
    snprintf(address, (size_t)bytes, "none");
    return hipSuccess;
}

/* Those of the chip, so that launches have its shapes. */
hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t, int)
{
    *value = hip_on_host::PROCESSORS;
    return hipSuccess;
}

hipError_t hipDeviceSynchronize(void)
{
    return hipSuccess;
}

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 1;
    *greatest = -1;
    return hipSuccess;
}

hipError_t hipFuncSetAttribute(const void *, hipFuncAttribute, int value)
{
    return answer((size_t)value <= hip_on_host::MOST_SHARED_BYTES ? hipSuccess
                                                                  : hipErrorInvalidValue);
}

/* --- memory ---------------------------------------------------------------------------------- */

hipError_t hipMalloc(void **d_memory, size_t bytes)
{
    void *fresh = nullptr;
    return posix_memalign(&fresh, 256, bytes) == 0 ? give(d_memory, fresh)
                                                   : give(d_memory, nullptr);
}

hipError_t hipFree(void *d_memory)
{
    if (!unmap_file(d_memory)) {
        free(d_memory);
    }
    return hipSuccess;
}

hipError_t hipHostMalloc(void **h_memory, size_t bytes, unsigned)
{
    return hipMalloc(h_memory, bytes);
}

hipError_t hipHostFree(void *h_memory)
{
    return hipFree(h_memory);
}

hipError_t hipExtMallocWithFlags(void **d_memory, size_t bytes, unsigned)
{
    const int fd = memfd_create("isotherm hip", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0) {
        close(fd);
        return answer(hipErrorMemoryAllocation);
    }
    return map_file(d_memory, {getpid(), fd, bytes});
}

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *d_memory)
{
    const std::lock_guard<std::mutex> alone(lock);
    const auto found = files.find(d_memory);
    if (found == files.end()) {
        return answer(hipErrorNotSupported);
    }
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &found->second, sizeof found->second);
    return hipSuccess;
}

hipError_t hipIpcOpenMemHandle(void **d_memory, hipIpcMemHandle_t handle, unsigned)
{
    shared_file file;
    char path[64];
    memcpy(&file, &handle, sizeof file);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)file.owner, file.fd);
    file.fd = open(path, O_RDWR | O_CLOEXEC);
    return map_file(d_memory, file);
}

hipError_t hipIpcCloseMemHandle(void *d_memory)
{
    return answer(unmap_file(d_memory) ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *total_bytes = (size_t)sysconf(_SC_PHYS_PAGES) * page;
    *free_bytes = (size_t)sysconf(_SC_AVPHYS_PAGES) * page;
    return hipSuccess;
}

hipError_t hipMemset(void *d_memory, int byte, size_t bytes)
{
    memset(d_memory, byte, bytes);
    return hipSuccess;
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind, hipStream_t)
{
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
    return hipSuccess;
}

hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                            size_t row_bytes, size_t rows, hipMemcpyKind, hipStream_t)
{
    for (size_t row = 0; row < rows; row++) {
        memcpy(static_cast<char *>(to) + row * to_pitch,
               static_cast<const char *>(from) + row * from_pitch, row_bytes);
    }
    return hipSuccess;
}

/* --- streams and events: all work is done when a call returns -------------------------------- */

hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned, int priority)
{
    *stream = new hip_on_host_stream{priority};
    return hipSuccess;
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    delete stream;
    return hipSuccess;
}

hipError_t hipStreamSynchronize(hipStream_t)
{
    return hipSuccess;
}

hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned)
{
    return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t *event)
{
    return hipEventCreateWithFlags(event, 0);
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned)
{
    *event = new hip_on_host_event{};
    return hipSuccess;
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    delete event;
    return hipSuccess;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t)
{
    event->recorded = std::chrono::steady_clock::now();
    return hipSuccess;
}

hipError_t hipEventSynchronize(hipEvent_t)
{
    return hipSuccess;
}

hipError_t hipEventQuery(hipEvent_t)
{
    return hipSuccess;
}

hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop)
{
    const std::chrono::duration<float, std::milli> elapsed = stop->recorded - start->recorded;
    *milliseconds = elapsed.count();
    return hipSuccess;
}

uint64_t hip_on_host_clock_ns(void)
{
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return (uint64_t)std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}
