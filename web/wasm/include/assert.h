/* assert.h - a failed assertion traps: JavaScript gets a WebAssembly.RuntimeError. */
#ifndef NAY_WASM_ASSERT_H
#define NAY_WASM_ASSERT_H

#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __builtin_trap())
#endif
#define static_assert _Static_assert

#endif /* NAY_WASM_ASSERT_H */
