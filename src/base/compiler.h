/* compiler.h - compiler extensions, each with a plain fallback; others are in src/cpu only. */
#ifndef NAY_COMPILER_H
#define NAY_COMPILER_H

#include <stdint.h>

/*
 * NAY_PREFETCH prefetches a line that is needed some keys later, to L2: L2 can have twice as many
 * outstanding misses as L1, and other work hides the latency from L2 to L1 (doc/design/speed.md).
 * NAY_PREFETCH_SOON prefetches to L1 what is needed next, and NAY_PREFETCH_TO_WRITE a line that the
 * next instructions read and write.
 */
#if defined(__GNUC__) || defined(__clang__)
#define NAY_LIKELY(x) __builtin_expect(!!(x), 1)
#define NAY_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NAY_PREFETCH(p) __builtin_prefetch((p), 0, 2)
#define NAY_PREFETCH_SOON(p) __builtin_prefetch((p), 0, 3)
#define NAY_PREFETCH_TO_WRITE(p) __builtin_prefetch((p), 1, 3)
#define NAY_NOINLINE __attribute__((noinline))
#ifdef __OPTIMIZE_SIZE__ /* -Os, -Oz: the compiler decides */
#define NAY_INLINE static inline
#define NAY_TINY \
  static inline __attribute__((always_inline)) /* it does not see that this is less */
#define NAY_FLATTEN
#else
#define NAY_INLINE static inline __attribute__((always_inline))
#define NAY_TINY static inline
#define NAY_FLATTEN __attribute__((flatten)) /* inlines all calls, however long */
#endif
#else
#define NAY_LIKELY(x) (x)
#define NAY_UNLIKELY(x) (x)
#define NAY_PREFETCH(p) ((void)(p))
#define NAY_PREFETCH_SOON(p) ((void)(p))
#define NAY_PREFETCH_TO_WRITE(p) ((void)(p))
#define NAY_INLINE static inline
#define NAY_NOINLINE
#define NAY_TINY static inline
#define NAY_FLATTEN
#endif

/* NAY_OPAQUE: hides the value of an integer variable from the optimizer. */
#if defined(__GNUC__) || defined(__clang__)
#define NAY_OPAQUE(x) __asm__("" : "+r"(x))
#else
#define NAY_OPAQUE(x) ((void)(x))
#endif

/*
 * NAY_BMI2: compiles a function for BMI1, BMI2 and POPCNT on x86-64. Call it only where the CPU has
 * them (nay_kernels.bmi2). Elsewhere the attribute is empty.
 */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define NAY_BMI2 __attribute__((target("bmi,bmi2,popcnt")))
#else
#define NAY_BMI2
#endif

/* nay_words: two words that are loaded, stored and added (xor) together where the CPU can. */
typedef uint64_t nay_words __attribute__((vector_size(16), may_alias));

/*
 * Relaxed atomics on single bytes. A byte has no alignment and no byte order, so filters that take
 * concurrent adds have the same payload as all others.
 */
#if defined(__SANITIZE_THREAD__)
#define NAY_TSAN 1
#elif defined(__has_feature)
#define NAY_TSAN __has_feature(thread_sanitizer)
#else
#define NAY_TSAN 0
#endif

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
/* nay__atomic_swap8, nay__atomic_ordered8: of locks; all threads see them in one order. */
NAY_INLINE unsigned char nay__atomic_swap8(unsigned char *p, unsigned char value) {
  return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);
}
NAY_INLINE unsigned char nay__atomic_ordered8(const unsigned char *p) {
  return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
/* Of 8 bytes that are aligned to 8. */
NAY_INLINE uint64_t nay__atomic_ordered64(const unsigned char *p) {
  typedef uint64_t __attribute__((may_alias)) eight_bytes;
  return __atomic_load_n((const eight_bytes *)(const void *)p, __ATOMIC_SEQ_CST);
}
/* nay__atomic_ordered_add64: of locks, as nay__atomic_swap8. */
NAY_INLINE void nay__atomic_ordered_add64(unsigned char *p, uint64_t more) {
  typedef uint64_t __attribute__((may_alias)) eight_bytes;
  __atomic_fetch_add((eight_bytes *)(void *)p, more, __ATOMIC_SEQ_CST);
}
NAY_INLINE uint64_t nay__atomic_load64(const uint64_t *p) {
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
NAY_INLINE void nay__atomic_increment64(uint64_t *p) { __atomic_fetch_add(p, 1, __ATOMIC_RELAXED); }
/* nay__atomic_decrement64: for reference counts: returns what is left, and whoever gets 0 sees all
 * that others did before. */
NAY_INLINE uint64_t nay__atomic_decrement64(uint64_t *p) {
  return __atomic_sub_fetch(p, 1, __ATOMIC_ACQ_REL);
}
NAY_INLINE void nay__atomic_add64(uint64_t *p, uint64_t more) {
  __atomic_fetch_add(p, more, __ATOMIC_RELAXED);
}
NAY_INLINE unsigned char nay__atomic_acquire8(const unsigned char *p) {
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
NAY_INLINE void nay__atomic_release8(unsigned char *p, unsigned char value) {
  __atomic_store_n(p, value, __ATOMIC_RELEASE);
}
NAY_INLINE void *nay__atomic_acquire_pointer(void *const *p) {
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
NAY_INLINE void nay__atomic_release_pointer(void **p, void *value) {
  __atomic_store_n(p, value, __ATOMIC_RELEASE);
}
#else
#error "nay needs gcc or clang: add the atomics of your compiler here"
#endif

#endif /* NAY_COMPILER_H */
