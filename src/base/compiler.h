/* compiler.h - the only place outside src/cpu with compiler extensions, each with a plain fallback.
 */
#ifndef NAY_COMPILER_H
#define NAY_COMPILER_H

#include <stdint.h>

/*
 * NAY_PREFETCH asks for a line that is needed some keys later, into the second level of the cache:
 * twice as many can be on their way there as into the first, and the rest of the way hides behind
 * other work (doc/design/speed.md). NAY_PREFETCH_SOON is for what is needed next, into the first;
 * NAY_PREFETCH_TO_WRITE for the line of the key that is being added, right before it is read.
 */
#if defined(__GNUC__) || defined(__clang__)
#define NAY_LIKELY(x) __builtin_expect(!!(x), 1)
#define NAY_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NAY_PREFETCH(p) __builtin_prefetch((p), 0, 2)
#define NAY_PREFETCH_SOON(p) __builtin_prefetch((p), 0, 3)
#define NAY_PREFETCH_TO_WRITE(p) __builtin_prefetch((p), 1, 3)
#define NAY_INLINE static inline __attribute__((always_inline))
#define NAY_NOINLINE __attribute__((noinline))
#define NAY_FLATTEN __attribute__((flatten)) /* what it calls is inlined, however long */
#else
#define NAY_LIKELY(x) (x)
#define NAY_UNLIKELY(x) (x)
#define NAY_PREFETCH(p) ((void)(p))
#define NAY_PREFETCH_SOON(p) ((void)(p))
#define NAY_PREFETCH_TO_WRITE(p) ((void)(p))
#define NAY_INLINE static inline
#define NAY_NOINLINE
#define NAY_FLATTEN
#endif

/* NAY_OPAQUE: makes the compiler forget what it knows of an integer variable. */
#if defined(__GNUC__) || defined(__clang__)
#define NAY_OPAQUE(x) __asm__("" : "+r"(x))
#else
#define NAY_OPAQUE(x) ((void)(x))
#endif

/*
 * Bits by the instructions of x86-64 that have them: a function marked NAY_BMI2 may only be called
 * where the CPU has them (nay_kernels.popcnt). On other machines the mark is nothing.
 */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define NAY_BMI2 __attribute__((target("bmi,bmi2,popcnt")))
#else
#define NAY_BMI2
#endif

/*
 * Relaxed atomics on single bytes. A byte needs no alignment and has no byte order, so the filters
 * that take concurrent adds keep the same bytes as all others.
 */
#if defined(__GNUC__) || defined(__clang__)
NAY_INLINE unsigned char nay__atomic_load8(const unsigned char *p) {
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
NAY_INLINE unsigned char nay__atomic_or8(unsigned char *p, unsigned char mask) {
  return __atomic_fetch_or(p, mask, __ATOMIC_RELAXED);
}
NAY_INLINE void nay__atomic_store8(unsigned char *p, unsigned char value) {
  __atomic_store_n(p, value, __ATOMIC_RELAXED);
}
NAY_INLINE unsigned char nay__atomic_swap8(unsigned char *p, unsigned char value) {
  return __atomic_exchange_n(p, value, __ATOMIC_ACQUIRE);
}
NAY_INLINE uint64_t nay__atomic_load64(const uint64_t *p) {
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
NAY_INLINE void nay__atomic_increment64(uint64_t *p) { __atomic_fetch_add(p, 1, __ATOMIC_RELAXED); }
NAY_INLINE void nay__atomic_add64(uint64_t *p, uint64_t more) {
  __atomic_fetch_add(p, more, __ATOMIC_RELAXED);
}
NAY_INLINE unsigned char nay__atomic_acquire8(const unsigned char *p) {
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
NAY_INLINE void nay__atomic_release8(unsigned char *p, unsigned char value) {
  __atomic_store_n(p, value, __ATOMIC_RELEASE);
}
#else
#error "nay needs gcc or clang: add the atomics of your compiler here"
#endif

#endif /* NAY_COMPILER_H */
