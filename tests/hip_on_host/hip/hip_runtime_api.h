/* The part of HIP's runtime that this project uses, on the host, for tests: one "device" that is
 * this process's own memory, and streams whose work is complete when a call returns. A name that is
 * missing is a compile error, so add it (and to kernels/hip/nvidia). */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorMemoryAllocation = 2,
    hipErrorInvalidConfiguration = 9,
    hipErrorNotReady = 600,
    hipErrorNotSupported = 801
} hipError_t;

const char *hipGetErrorName(hipError_t error);
const char *hipGetErrorString(hipError_t error);
hipError_t hipGetLastError(void);

typedef struct {
    char name[256];
} hipDeviceProp_t;
typedef enum { hipDeviceAttributeMultiprocessorCount } hipDeviceAttribute_t;

hipError_t hipDriverGetVersion(int *version);
hipError_t hipRuntimeGetVersion(int *version);
hipError_t hipGetDeviceCount(int *count);
hipError_t hipGetDevice(int *device);
hipError_t hipSetDevice(int device);
hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device);
hipError_t hipDeviceGetPCIBusId(char *address, int bytes, int device);
hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device);
hipError_t hipDeviceSynchronize(void);
hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest);

enum { hipHostMallocDefault = 0, hipDeviceMallocFinegrained = 1 };
typedef enum {
    hipMemcpyHostToDevice = 1,
    hipMemcpyDeviceToHost = 2,
    hipMemcpyDeviceToDevice = 3
} hipMemcpyKind;
typedef struct hip_on_host_stream *hipStream_t;
typedef struct hip_on_host_event *hipEvent_t;

hipError_t hipMalloc(void **d_memory, size_t bytes);
hipError_t hipFree(void *d_memory);
hipError_t hipHostMalloc(void **h_memory, size_t bytes, unsigned flags);
hipError_t hipHostFree(void *h_memory);
hipError_t hipExtMallocWithFlags(void **d_memory, size_t bytes, unsigned flags);
hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total_bytes);
hipError_t hipMemset(void *d_memory, int byte, size_t bytes);
hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream);
hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                            size_t row_bytes, size_t rows, hipMemcpyKind kind, hipStream_t stream);
#define hipMemsetAsync(to, byte, bytes, stream) hipMemset(to, byte, bytes)
enum { hipStreamNonBlocking = 1, hipEventDisableTiming = 2 };
hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags);
hipError_t hipEventCreate(hipEvent_t *event);
hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop);

typedef struct {
    char reserved[64];
} hipIpcMemHandle_t;
enum { hipIpcMemLazyEnablePeerAccess = 1 };
hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *d_memory);
hipError_t hipIpcOpenMemHandle(void **d_memory, hipIpcMemHandle_t handle, unsigned flags);
hipError_t hipIpcCloseMemHandle(void *d_memory);

typedef enum { hipFuncAttributeMaxDynamicSharedMemorySize = 8 } hipFuncAttribute;
hipError_t hipFuncSetAttribute(const void *function, hipFuncAttribute attribute, int value);

#ifdef __cplusplus
}
#endif
