/*
 * specialize.h - code for a constant number of probes. Filters of 6 to 20 bits per key have 4 to 9
 * probes: these get loops of constant length, which the compiler unrolls (a quarter less time for
 * an add). Macros, because the target attribute must stand on each function.
 */
#ifndef NAY_SPECIALIZE_H
#define NAY_SPECIALIZE_H

/* Runs loop(k) with a constant k where k is common. */
#define NAY_FOR_COMMON_K(k, loop) \
  switch (k) {                    \
    case 4: loop(4); break;       \
    case 5: loop(5); break;       \
    case 6: loop(6); break;       \
    case 7: loop(7); break;       \
    case 8: loop(8); break;       \
    case 9: loop(9); break;       \
    default: loop(k); break;      \
  }

/*
 * Defines name_choose(k): the function of the given type that does one(bits, hash, k) for this k.
 * `one` is inline. Two macros, so that `name` may be a macro itself.
 */
#define NAY_SPECIALIZE_K(attribute, type, name, one, k, suffix)             \
  attribute static type name##_##suffix(const nay_bits *b, uint64_t hash) { \
    return one(b, hash, k);                                                 \
  }
#define NAY_SPECIALIZE(attribute, type, pointer, name, one) \
  NAY_SPECIALIZE_NAMED(attribute, type, pointer, name, one)
#define NAY_SPECIALIZE_NAMED(attribute, type, pointer, name, one)                                 \
  NAY_SPECIALIZE_K(attribute, type, name, one, b->k, any)                                         \
  NAY_SPECIALIZE_K(attribute, type, name, one, 4, 4)                                              \
  NAY_SPECIALIZE_K(attribute, type, name, one, 5, 5)                                              \
  NAY_SPECIALIZE_K(attribute, type, name, one, 6, 6)                                              \
  NAY_SPECIALIZE_K(attribute, type, name, one, 7, 7)                                              \
  NAY_SPECIALIZE_K(attribute, type, name, one, 8, 8)                                              \
  NAY_SPECIALIZE_K(attribute, type, name, one, 9, 9)                                              \
  static pointer name##_choose(uint32_t k) {                                                      \
    static const pointer common[] = {name##_4, name##_5, name##_6, name##_7, name##_8, name##_9}; \
    return k >= 4 && k <= 9 ? common[k - 4] : name##_any;                                         \
  }

#endif /* NAY_SPECIALIZE_H */
