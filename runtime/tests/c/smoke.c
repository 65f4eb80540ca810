/* Exercises the C interface: usage smoke PACK_DIR. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tilewright.h"

#define CHECK(cond)                                                                        \
  do {                                                                                     \
    if (!(cond)) {                                                                         \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #cond, tw_last_error());              \
      exit(1);                                                                             \
    }                                                                                      \
  } while (0)

int main(int argc, char **argv) {
  CHECK(argc == 2);
  tw_runtime *rt = NULL;
  CHECK(tw_runtime_open("/nowhere", 2, &rt) == TW_IO);
  CHECK(strstr(tw_last_error(), "/nowhere") != NULL);
  CHECK(tw_runtime_open(NULL, 2, &rt) == TW_INVALID_ARGUMENT);
  CHECK(tw_runtime_open_pack((const uint8_t *)"junk", 4, 2, &rt) == TW_CORRUPT);
  CHECK(tw_runtime_open(argv[1], 2, &rt) == TW_OK);
  tw_stream *stream = NULL;
  CHECK(tw_stream_new(rt, &stream) == TW_OK);

  int64_t shape[2] = {2, 4};
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
  tw_tensor *tx = NULL, *ty = NULL;
  CHECK(tw_tensor_wrap(rt, x, sizeof x, "f32", 2, shape, NULL, &tx) == TW_OK);
  CHECK(tw_tensor_zeros(rt, "f33", 2, shape, &ty) == TW_INVALID_ARGUMENT);
  CHECK(tw_tensor_zeros(rt, "f32", 2, shape, &ty) == TW_OK);

  tw_args *args = tw_args_new();
  CHECK(tw_args_tensor(args, "x", tx) == TW_OK);
  CHECK(tw_args_tensor(args, "y", ty) == TW_OK);
  CHECK(tw_args_float(args, "alpha", 2.0) == TW_OK);
  tw_call *call = NULL;
  CHECK(tw_call_new(rt, "no_such_op", args, &call) == TW_NOT_FOUND);
  CHECK(tw_call_new(rt, "axpy", args, &call) == TW_OK);
  CHECK(tw_call_run(call, stream) == TW_OK);
  CHECK(tw_stream_sync(stream) == TW_OK);
  CHECK(tw_tensor_read(ty, y, 4) == TW_INVALID_ARGUMENT);
  CHECK(tw_tensor_read(ty, y, sizeof y) == TW_OK);
  for (int i = 0; i < 8; i++) CHECK(y[i] == 2 * x[i]);

  tw_graph *graph = NULL;
  CHECK(tw_call_set_float(call, "alpha", 1.0) == TW_OK);
  CHECK(tw_graph_begin(stream) == TW_OK);
  CHECK(tw_call_run(call, stream) == TW_OK);
  CHECK(tw_graph_end(rt, stream, &graph) == TW_OK);
  x[0] = 100;
  CHECK(tw_graph_replay(graph, stream) == TW_OK);
  CHECK(tw_tensor_read(ty, y, sizeof y) == TW_OK);
  CHECK(y[0] == 102 && y[7] == 24);

  struct DLManagedTensorVersioned *dl = NULL;
  tw_tensor *back = NULL;
  CHECK(tw_tensor_export(ty, &dl) == TW_OK);
  CHECK(tw_tensor_import(rt, dl, &back) == TW_OK);
  memset(y, 0, sizeof y);
  CHECK(tw_tensor_read(back, y, sizeof y) == TW_OK);
  CHECK(y[7] == 24);
  tw_tensor_free(back);

  /* A forked child has no worker threads: it is told so, and leaves in order. */
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    int ok = tw_call_run(call, stream) == TW_FORKED && strstr(tw_last_error(), "new `Runtime`");
    tw_runtime *own = NULL;
    ok = ok && tw_runtime_open(argv[1], 2, &own) == TW_OK;
    tw_runtime_free(own);
    tw_call_free(call);
    tw_graph_free(graph);
    tw_tensor_free(tx);
    tw_tensor_free(ty);
    tw_args_free(args);
    tw_stream_free(stream);
    tw_runtime_free(rt);
    _exit(ok ? 0 : 1);
  }
  int state = 0;
  CHECK(waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0);
  CHECK(tw_call_run(call, stream) == TW_OK);

  tw_call_free(call);
  tw_graph_free(graph);
  tw_tensor_free(tx);
  tw_tensor_free(ty);
  tw_tensor_free(NULL);
  tw_args_free(args);
  tw_stream_free(stream);
  tw_runtime_free(rt);
  puts("ok");
  return 0;
}
