// What the kernel exports in WebAssembly beside exrp.h: memory for the buffers of a call, and what constructs static objects.
//
// A module reads only its own memory. So the binding (ffi/wasm.ts) copies the buffers of each call to this arena, and results back.
#if defined(__wasm__)

#include <new>

#include "kernel/base/memory.hpp"

namespace {

exrp::ReservedArray<uint8_t>& arena() {
  // Never destroyed: it lives as long as the module.
  alignas(exrp::ReservedArray<uint8_t>) static uint8_t place[sizeof(exrp::ReservedArray<uint8_t>)];
  static auto* const made = new (place) exrp::ReservedArray<uint8_t>;
  return *made;
}

}  // namespace

extern "C" {

/// Constructs the static objects. The linker makes it.
void __wasm_call_ctors();

/// Constructs the static objects: the first call of all.
__attribute__((export_name("_initialize"))) void _initialize() { __wasm_call_ctors(); }

/// Where at least `bytes` bytes are that a call may use, at a multiple of 64; 0 where there is no memory for them. They hold anything,
/// and may move in the next call of this function.
__attribute__((visibility("default"))) uint32_t exrp_wasm_arena(double bytes) {
  exrp::ReservedArray<uint8_t>& array = arena();
  if (array.data() == nullptr && !array.create(UINT64_MAX)) return 0;
  if (!(bytes >= 0 && bytes < 0x1p32) || !array.commit(static_cast<uint64_t>(bytes))) return 0;
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(array.data()));
}

}  // extern "C"

#endif  // defined(__wasm__)
