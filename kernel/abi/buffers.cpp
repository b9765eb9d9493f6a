// Buffers of the engine over memory of the kernel, by Node-API, which Deno has too. An engine calls the finalizer of such a buffer's memory once no
// buffer of any thread is left that shows it, however often it was transferred. So the kernel may use the memory again (kernel/base/batch_pool.hpp).
//
// The engine finds napi_register_module_v1 by its name. Its own functions are looked for in the program that loaded this library. So the library
// needs none of them elsewhere.
//
// Thread safety: each thread of the engine registers by itself. Finalizers come on any thread.
#if !defined(__wasm__)

#include <cstdint>
#include <new>

#include "kernel/abi/registry.hpp"
#include "kernel/base/batch_pool.hpp"
#include "kernel/base/process.hpp"
#include "kernel/exrp.h"

using namespace exrp;

namespace {

// What Node-API calls napi_env, napi_value and napi_callback_info; and its status, 0 for success.
using Environment = struct NodeEnvironment*;
using Value = struct NodeValue*;
using Information = struct NodeInformation*;
using Finalizer = void (*)(Environment, void* data, void* hint);

struct NodeApi {
  int (*getArguments)(Environment, Information, size_t* count, Value* arguments, Value* self, void** data);
  int (*getNumber)(Environment, Value, double*);
  int (*createFunction)(Environment, const char* name, size_t length, Value (*)(Environment, Information), void* data, Value*);
  int (*createBuffer)(Environment, void* data, size_t bytes, Finalizer, void* hint, Value*);

  bool find() {
    return findFunction("napi_get_cb_info", &getArguments) && findFunction("napi_get_value_double", &getNumber) &&
           findFunction("napi_create_function", &createFunction) &&
           findFunction("napi_create_external_arraybuffer", &createBuffer);
  }

 private:
  template <typename Function>
  static bool findFunction(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(functionOfProgram(name));
    return *function != nullptr;
  }
};

/// The functions; null where the program has none.
const NodeApi* nodeApi() {
  static NodeApi api = {};
  static const bool isFound = api.find();
  return isFound ? &api : nullptr;
}

void giveBack(Environment, void*, void* block) { onlyOne<BatchPool>()->giveBack(static_cast<BatchPool::Block*>(block)); }

/// A buffer of as many bytes as the argument says; undefined where there is no memory.
Value takeBuffer(Environment environment, Information information) {
  const NodeApi& api = *nodeApi();
  size_t count = 1;
  Value argument = nullptr;
  double bytes = 0;
  if (api.getArguments(environment, information, &count, &argument, nullptr, nullptr) != 0) return nullptr;
  if (count < 1 || api.getNumber(environment, argument, &bytes) != 0) return nullptr;
  if (!(bytes >= 1 && bytes <= 0x1p46)) return nullptr;
  BatchPool* const pool = onlyOne<BatchPool>();
  BatchPool::Block* const block = pool == nullptr ? nullptr : pool->take(static_cast<size_t>(bytes));
  if (block == nullptr) return nullptr;
  Value buffer = nullptr;
  if (api.createBuffer(environment, block->memory.data(), static_cast<size_t>(bytes), giveBack, block, &buffer) == 0) return buffer;
  pool->giveBack(block);
  return nullptr;
}

}  // namespace

/// What the module exports: the function, or what it was given where there can be none.
extern "C" EXRP_API Value napi_register_module_v1(Environment environment, Value exports);
Value napi_register_module_v1(Environment environment, Value exports) {
  const NodeApi* const api = nodeApi();
  Value function = nullptr;
  const bool isMade = api != nullptr && api->createFunction(environment, "takeBuffer", 10, takeBuffer, nullptr, &function) == 0;
  return isMade ? function : exports;
}

#endif  // !defined(__wasm__)
