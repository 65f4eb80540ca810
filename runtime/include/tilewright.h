/* Tilewright: compiled kernels for serving large language models, for programs in C and the languages
 * that speak to C.
 *
 * A runtime is a device with its compiled kernels. Tensors live in the device's memory. A call is an op
 * with its operands bound; it runs any number of times and allocates nothing while it runs. A graph is
 * a sequence of calls recorded once and replayed.
 *
 * Every function that can fail returns TW_OK or another tw_status; tw_last_error() then tells what was
 * wrong, for people. Handles may be used from any thread; changing one (tw_args_*, tw_call_set_*) while
 * another thread uses it is an error of the program. Names of ops, tensors and dtypes are those of the
 * op specs. Link with the static or shared library and with the system's libraries (-lpthread -ldl -lm).
 */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tw_status {
  TW_OK = 0,
  TW_INVALID_ARGUMENT = 1, /* the arguments do not fit the op's spec */
  TW_NOT_FOUND = 2,        /* no op, kernel, artifact, target or pack of that name */
  TW_UNSUPPORTED = 3,      /* the op exists, but not for this problem on this device */
  TW_LIMIT = 4,            /* a limit of the device is exceeded */
  TW_OUT_OF_MEMORY = 5,
  TW_CORRUPT = 6,          /* a pack, manifest or artifact is damaged */
  TW_VERSION = 7,          /* written by a version that this runtime does not read */
  TW_IO = 8,               /* a file cannot be read */
  TW_DEVICE = 9,           /* the device or its driver refused */
  TW_FORKED = 10,          /* the process was forked after the runtime was made */
  TW_NOT_WARMED_UP = 11,   /* a graph is being recorded and the call would load code */
  TW_BUG = 12              /* the runtime is at fault */
} tw_status;

typedef struct tw_runtime tw_runtime;
typedef struct tw_stream tw_stream;
typedef struct tw_tensor tw_tensor;
typedef struct tw_args tw_args;
typedef struct tw_call tw_call;
typedef struct tw_graph tw_graph;

/* Of dlpack.h, version 1; include that file for its definition. */
struct DLManagedTensorVersioned;

/* The message of the last failure on the calling thread; valid until its next failure. */
const char *tw_last_error(void);

/* The processor of this machine with `threads` threads (0: one per core) and the kernels of a pack
 * directory. */
tw_status tw_runtime_open(const char *pack_dir, uint32_t threads, tw_runtime **out);
/* The same with a pack in memory, which must stay there as long as the process lives. */
tw_status tw_runtime_open_pack(const uint8_t *pack, size_t len, uint32_t threads, tw_runtime **out);
void tw_runtime_free(tw_runtime *rt);

tw_status tw_stream_new(const tw_runtime *rt, tw_stream **out);
tw_status tw_stream_sync(const tw_stream *stream);
void tw_stream_free(tw_stream *stream);

/* A tensor of zeros. */
tw_status tw_tensor_zeros(const tw_runtime *rt, const char *dtype, size_t rank, const int64_t *shape,
                          tw_tensor **out);
/* A tensor over memory of the program (`bytes` of it), which must outlive the tensor and all calls and
 * graphs that use it. `strides` in elements; NULL for row-major without gaps. */
tw_status tw_tensor_wrap(const tw_runtime *rt, void *data, size_t bytes, const char *dtype, size_t rank,
                         const int64_t *shape, const int64_t *strides, tw_tensor **out);
/* Copies all elements out of or into a tensor, in row-major order. `bytes` must be their size. */
tw_status tw_tensor_read(const tw_tensor *tensor, void *data, size_t bytes);
tw_status tw_tensor_write(const tw_tensor *tensor, const void *data, size_t bytes);
/* DLPack tensors in and out, without copies. An imported one is taken, and deleted when no tensor uses
 * it any more, or at once if it is refused. */
tw_status tw_tensor_import(const tw_runtime *rt, struct DLManagedTensorVersioned *managed,
                           tw_tensor **out);
tw_status tw_tensor_export(const tw_tensor *tensor, struct DLManagedTensorVersioned **out);
/* Frees the handle; the memory stays while a call or graph uses it. */
void tw_tensor_free(tw_tensor *tensor);

/* Operands by name. */
tw_args *tw_args_new(void);
tw_status tw_args_tensor(tw_args *args, const char *name, const tw_tensor *tensor);
tw_status tw_args_float(tw_args *args, const char *name, double value);
tw_status tw_args_int(tw_args *args, const char *name, int64_t value);
/* The extent of an axis that no tensor's shape gives. */
tw_status tw_args_axis(tw_args *args, const char *name, size_t extent);
tw_status tw_args_attr(tw_args *args, const char *name, const char *value);
void tw_args_free(tw_args *args);

/* Picks kernels for an op with these operands, checks them and binds them. */
tw_status tw_call_new(const tw_runtime *rt, const char *op, const tw_args *args, tw_call **out);
/* Binds another tensor of the same dtype and shape, or another scalar. */
tw_status tw_call_set_tensor(tw_call *call, const char *name, const tw_tensor *tensor);
tw_status tw_call_set_float(tw_call *call, const char *name, double value);
tw_status tw_call_set_int(tw_call *call, const char *name, int64_t value);
tw_status tw_call_run(const tw_call *call, const tw_stream *stream);
void tw_call_free(tw_call *call);

/* Between begin and end, on one thread, calls on the stream are recorded and not run. A graph keeps the
 * buffers of its calls; what is in them is read anew by each replay. */
tw_status tw_graph_begin(const tw_stream *stream);
tw_status tw_graph_end(const tw_runtime *rt, const tw_stream *stream, tw_graph **out);
tw_status tw_graph_replay(const tw_graph *graph, const tw_stream *stream);
void tw_graph_free(tw_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
