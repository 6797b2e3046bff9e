/* filter_doc.h - what help() shows. Lines that begin with >>> are run by tests. */
#ifndef NAY_PYTHON_FILTER_DOC_H
#define NAY_PYTHON_FILTER_DOC_H

#define plan_doc                                                             \
  "plan(nkeys=0, fpr=None, **params)\n"                                      \
  "--\n"                                                                     \
  "\n"                                                                       \
  "What a filter will cost, before there is one. Takes what Filter takes.\n" \
  "\n"                                                                       \
  ">>> plan = libnay.plan(1_000_000, 0.01, kind=\"ribbon\")\n"               \
  ">>> plan.nbytes, round(plan.bits_per_key, 2)\n"                           \
  "(841455, 6.73)"

#define key_bytes_doc                                                         \
  "key_bytes(value, key_type=None, /)\n"                                      \
  "--\n"                                                                      \
  "\n"                                                                        \
  "The bytes that a filter of this key type hashes for a value.\n"            \
  "\n"                                                                        \
  ">>> libnay.key_bytes(7).hex(), libnay.key_bytes(\"007\", \"int\").hex()\n" \
  "('0700000000000000', '0700000000000000')"

#define filter_doc                                                                                 \
  "Filter(nkeys=0, fpr=None, **params)\n"                                                          \
  "--\n"                                                                                           \
  "\n"                                                                                             \
  "A set that answers nay (certain) or maybe.\n"                                                   \
  "\n"                                                                                             \
  ">>> seen = libnay.Filter(1000, fpr=0.01)\n"                                                     \
  ">>> seen.add(\"ada\")\n"                                                                        \
  "True\n"                                                                                         \
  ">>> \"ada\" in seen, \"bob\" in seen\n"                                                         \
  "(True, False)\n"                                                                                \
  "\n"                                                                                             \
  "`in` is False only for keys that were never added. It is True for those that were, and by "     \
  "mistake\n"                                                                                      \
  "for a share fpr of the others. Keys are str (their UTF-8) or bytes; a filter with key=\"int\" " \
  "takes\n"                                                                                        \
  "int, and so on for float, bool, date, timestamp, uuid and numeric. The same key has the same "  \
  "hash\n"                                                                                         \
  "in every process, on every machine, in every version and in every language.\n"                  \
  "\n"                                                                                             \
  "Say how many keys will come (nkeys) and one of\n"                                               \
  "\n"                                                                                             \
  "  fpr           the false-positive rate (0.01 if nothing is said)\n"                            \
  "  bits_per_key  bits for each key\n"                                                            \
  "  nbytes        a memory budget\n"                                                              \
  "  nbits         exactly so many bits\n"                                                         \
  "\n"                                                                                             \
  "and, if you like,\n"                                                                            \
  "\n"                                                                                             \
  "  kind          \"auto\", \"bloom\", \"blocked\", \"counting\", \"scalable\", \"window\", "     \
  "\"cuckoo\";\n"                                                                                  \
  "                Filter.build also makes \"xor\", \"fuse\", \"ribbon\", and \"static\" chooses " \
  "one;\n"                                                                                         \
  "                and \"range\", which answers check_range\n"                                     \
  "  key           the key type: \"text\" (the default), \"int\", ...\n"                           \
  "  k             probes for each key\n"                                                          \
  "  seed          of the hash; secret=16 random bytes makes it one that an attacker cannot "      \
  "foresee,\n"                                                                                     \
  "                and store_secret=True writes them into files\n"                                 \
  "  hash          \"xxh3\", \"siphash13\", or \"caller\": only add_hash and check_hash then\n"    \
  "  format        the layout and hash of another system, as \"leveldb\" or \"redisbloom\"\n"      \
  "  fold          makes the size divisible by this\n"                                             \
  "  unique        counting, cuckoo: adding a key twice is adding it once\n"                       \
  "  tag_bits, max_nkeys    cuckoo: bits of a key; grows to hold so many\n"                        \
  "  generations, window    window: how many make up the window; its length in ticks\n"            \
  "  max_nbytes    scalable, cuckoo: a limit of growth\n"                                          \
  "  range_length  range: how many numbers the longest range has for which fpr is planned\n"       \
  "  range_keys, range_delimiter    range, of texts: how they end in a number, \"decimal\", "      \
  "\"be8\" or\n"                                                                                   \
  "                \"be4\", and the byte before it\n"                                              \
  "  threads       of a build"

#define filter_build_doc                                                                           \
  "build(keys, /, fpr=None, **params)\n"                                                           \
  "--\n"                                                                                           \
  "\n"                                                                                             \
  "A filter of these keys, for every kind. Their number need not be known before.\n"               \
  "\n"                                                                                             \
  ">>> primes = libnay.Filter.build([2, 3, 5, 7], fpr=0.001, kind=\"fuse\")\n"                     \
  ">>> 7 in primes, 8 in primes, primes.key\n"                                                     \
  "(True, False, 'int')\n"                                                                         \
  "\n"                                                                                             \
  "keys is what check_many takes. Without key=\"...\" the first key says which type it is. A row " \
  "that is\n"                                                                                      \
  "null (None, NaN, NaT) is a ValueError, or left out with skip_nulls=True. threads=2 builds "     \
  "with two\n"                                                                                     \
  "threads; low_memory=True keeps what it needs in a file."

#define handle_open_doc                                                                    \
  "open(path, /)\n"                                                                        \
  "--\n"                                                                                   \
  "\n"                                                                                     \
  "Reads a file into memory, all checksums verified. OSError, FormatError, CorruptError, " \
  "VersionError."

#define handle_mmap_doc                                                                         \
  "mmap(path, /, *, lazy=False)\n"                                                              \
  "--\n"                                                                                        \
  "\n"                                                                                          \
  "Probes a file in place, read-only; several processes share the memory. All checksums are "   \
  "verified\n"                                                                                  \
  "now, or with lazy=True each 64 KiB at its first touch: a damaged one answers maybe, and "    \
  "`damaged`\n"                                                                                 \
  "tells. Replace such a file, as save() does: shortening it kills the processes that have it " \
  "mapped."

#define handle_decode_doc                                                                        \
  "decode(data, /, format=None)\n"                                                               \
  "--\n"                                                                                         \
  "\n"                                                                                           \
  "The filter or map of bytes that encode() made, or any other program of nay. Every byte is "   \
  "checked.\n"                                                                                   \
  "With format=\"leveldb\" and so on: the filter of another system, whose bytes encode() makes " \
  "then."

#define filter_empty_doc \
  "empty($self, /)\n"    \
  "--\n"                 \
  "\n"                   \
  "A new filter without keys, which merges with this one: same shape, hash, seed and key type."

#define filter_add_doc   \
  "add($self, key, /)\n" \
  "--\n"                 \
  "\n"                   \
  "Adds a key. True if it is new; False if it was there already, or is a false positive."

#define filter_add_many_doc                                                                     \
  "add_many($self, keys, /, *, skip_nulls=False)\n"                                             \
  "--\n"                                                                                        \
  "\n"                                                                                          \
  "Adds keys and tells which were new, as a list of bool, or as an array of bool for arrays.\n" \
  "\n"                                                                                          \
  ">>> seen = libnay.Filter(1000)\n"                                                            \
  ">>> seen.add_many([\"a\", \"b\", \"a\"])\n"                                                  \
  "[True, True, False]\n"                                                                       \
  "\n"                                                                                          \
  "When a key fails, those before it were added: the exception's `taken` says how many."

#define filter_update_doc                       \
  "update($self, /, *keys, skip_nulls=False)\n" \
  "--\n"                                        \
  "\n"                                          \
  "Adds the keys of any number of iterables or arrays, faster than add_many."

#define handle_check_many_doc                                                                      \
  "check_many($self, keys, /, *, null=None)\n"                                                     \
  "--\n"                                                                                           \
  "\n"                                                                                             \
  "For each key whether it may be in: a list of bool, or an array of bool for arrays.\n"           \
  "\n"                                                                                             \
  ">>> seen = libnay.Filter.build([\"a\", \"b\"])\n"                                               \
  ">>> seen.check_many([\"a\", \"b\", \"c\"])\n"                                                   \
  "[True, True, False]\n"                                                                          \
  "\n"                                                                                             \
  "keys is any iterable; an array of numpy (integers, floats, bool, datetime64, S, U, object); a " \
  "column\n"                                                                                       \
  "or index of pandas; an object with a buffer, as array.array; or a column of Arrow. Integers "   \
  "of 64\n"                                                                                        \
  "bits, S and Arrow's strings are read where they are. Of S the zero bytes at the end are no "    \
  "part of\n"                                                                                      \
  "the key, as numpy has it. Other threads run meanwhile. A row that is null is a ValueError "     \
  "unless\n"                                                                                       \
  "`null` says what its answer is."

#define filter_remove_doc                                                                          \
  "remove($self, key, /)\n"                                                                        \
  "--\n"                                                                                           \
  "\n"                                                                                             \
  "Takes out a key that was added; KeyError if it is certain that it was not. Never remove "       \
  "another: it\n"                                                                                  \
  "may be a false positive, and then keys of others are lost. Counting and cuckoo filters can do " \
  "this."

#define filter_discard_doc   \
  "discard($self, key, /)\n" \
  "--\n"                     \
  "\n"                       \
  "As remove, but returns whether there was something to take out."

#define filter_count_doc   \
  "count($self, key, /)\n" \
  "--\n"                   \
  "\n"                     \
  "At most how often a key was added. Counting counts to 15, which means 15 or more."

#define filter_hash_doc                                                                         \
  "hash($self, key, /)\n"                                                                       \
  "--\n"                                                                                        \
  "\n"                                                                                          \
  "The hash of a key, for add_hash and check_hash of this filter and of all with its hash and " \
  "seed."

#define filter_hash_many_doc                                                                   \
  "hash_many($self, keys, /, *, skip_nulls=False, masked=False)\n"                             \
  "--\n"                                                                                       \
  "\n"                                                                                         \
  "The hashes of many keys, an array of uint64. Rows that are null are a ValueError, or left " \
  "out\n"                                                                                      \
  "(skip_nulls); or with masked=True the result is a pair: hashes, and which rows have one."

#define filter_build_hashes_doc                                                               \
  "build_hashes(hashes, /, fpr=None, **params)\n"                                             \
  "--\n"                                                                                      \
  "\n"                                                                                        \
  "A filter of hashes, for every kind: hash keys where they are, bring the hashes together, " \
  "build.\n"                                                                                  \
  "\n"                                                                                        \
  ">>> hashes = libnay.Filter(1, key=\"int\").hash_many(range(1000))\n"                       \
  ">>> f = libnay.Filter.build_hashes(hashes, fpr=0.001, kind=\"ribbon\", key=\"int\")\n"     \
  ">>> 999 in f, f.encode() == libnay.Filter.build(range(1000), fpr=0.001, "                  \
  "kind=\"ribbon\").encode()\n"                                                               \
  "(True, True)"

#define filter_add_hash_doc    \
  "add_hash($self, hash, /)\n" \
  "--\n"                       \
  "\n"                         \
  "As add, for a hash."

#define filter_check_hash_doc    \
  "check_hash($self, hash, /)\n" \
  "--\n"                         \
  "\n"                           \
  "As `in`, for a hash."

#define filter_add_hashes_doc      \
  "add_hashes($self, hashes, /)\n" \
  "--\n"                           \
  "\n"                             \
  "As add_many, for an iterable of hashes or an array of uint64."

#define filter_check_hashes_doc      \
  "check_hashes($self, hashes, /)\n" \
  "--\n"                             \
  "\n"                               \
  "As check_many, for an iterable of hashes or an array of uint64."

#define filter_merge_doc                                                                         \
  "merge($self, other, /, *, max_fpr=1.0)\n"                                                     \
  "--\n"                                                                                         \
  "\n"                                                                                           \
  "Becomes the union, exactly as if the keys of the other had been added; `|=` does the same.\n" \
  "FullError: its false-positive rate would be above max_fpr, and nothing was changed.\n"        \
  "\n"                                                                                           \
  ">>> a, b = libnay.Filter(100), libnay.Filter(100)\n"                                          \
  ">>> a.update([\"x\"]); b.update([\"y\"])\n"                                                   \
  ">>> a |= b\n"                                                                                 \
  ">>> \"y\" in a\n"                                                                             \
  "True\n"                                                                                       \
  "\n"                                                                                           \
  "`&` and `&=` keep the bits that both have: keys of both stay maybe, len() is no longer known."

#define filter_overlap_doc     \
  "overlap($self, other, /)\n" \
  "--\n"                       \
  "\n"                         \
  "Estimates how many keys two filters have in common."

#define filter_fold_doc      \
  "fold($self, factor, /)\n" \
  "--\n"                     \
  "\n"                       \
  "Shrinks by this factor without the keys, to what a filter made at that size would be."

#define filter_shrink_doc      \
  "shrink($self, nbytes, /)\n" \
  "--\n"                       \
  "\n"                         \
  "Makes a ribbon or range filter nbytes or less without the keys, at the price of a higher FPR."

#define filter_check_range_doc                                                                     \
  "check_range($self, lo, hi, /)\n"                                                                \
  "--\n"                                                                                           \
  "\n"                                                                                             \
  "Of a range filter: whether a key may lie between lo and hi, both included. False is certain.\n" \
  "\n"                                                                                             \
  ">>> busy = libnay.Filter.build([100, 350, 900], kind=\"range\", range_length=50)\n"             \
  ">>> busy.check_range(80, 100), busy.check_range(101, 150)\n"                                    \
  "(True, False)\n"                                                                                \
  "\n"                                                                                             \
  "The ends are what `in` takes. lo above hi is an InvalidError."

#define filter_check_ranges_doc                                                                  \
  "check_ranges($self, lo, hi, /)\n"                                                             \
  "--\n"                                                                                         \
  "\n"                                                                                           \
  "check_range for each pair of two iterables, arrays or columns, which are as long: a list of " \
  "bool, or\n"                                                                                   \
  "an array of bool where lo is an array."

#define filter_clear_doc \
  "clear($self, /)\n"    \
  "--\n"                 \
  "\n"                   \
  "Forgets every key."

#define filter_advance_doc   \
  "advance($self, now, /)\n" \
  "--\n"                     \
  "\n"                       \
  "Tells a window with window=TICKS what time it is: keys older than the window are forgotten."

#define handle_copy_doc \
  "copy($self, /)\n"    \
  "--\n"                \
  "\n"                  \
  "An independent copy, writable also where the original is mapped."

#define handle_save_doc    \
  "save($self, path, /)\n" \
  "--\n"                   \
  "\n"                     \
  "Replaces the file: after a crash it is the old one or the new one."

#define handle_encode_doc \
  "encode($self, /)\n"    \
  "--\n"                  \
  "\n"                    \
  "The bytes that save() writes; bytes(filter) is the same."

#define filter_stats_doc \
  "stats($self, /)\n"    \
  "--\n"                 \
  "\n"                   \
  "What is in it now, by counting bits: estimated keys, false-positive rate, fill and more."

#define filter_explain_doc   \
  "explain($self, key, /)\n" \
  "--\n"                     \
  "\n"                       \
  "Why the answer is what it is: what a probe reads, step by step. print() it."

#define handle_unlock_doc      \
  "unlock($self, secret, /)\n" \
  "--\n"                       \
  "\n"                         \
  "Gives the secret to a filter whose file does not have it. LockedError: it is another one."

#define handle_close_doc                                                                     \
  "close($self, /)\n"                                                                        \
  "--\n"                                                                                     \
  "\n"                                                                                       \
  "Frees the memory, or ends the mapping, now; `with` does so at its end. Calls then raise " \
  "ValueError."

#define handle_key_doc \
  "The key type that the filter states, as \"text\" or \"int\". Setting it changes no key."

#define handle_meta_doc "Bytes of your own that are saved with it, under its checksum."

#define map_doc                                                                                  \
  "A value of 1 to 64 bits for each key, without the keys. Made by Map.build.\n"                 \
  "\n"                                                                                           \
  ">>> born = libnay.Map.build({\"ada\": 1815, \"grace\": 1906}, check_bits=16)\n"               \
  ">>> born[\"grace\"], born.get(\"nobody\")\n"                                                  \
  "(1906, None)\n"                                                                               \
  "\n"                                                                                           \
  "A key that it was not built from is absent, but for one in 2**check_bits of them, which has " \
  "an\n"                                                                                         \
  "arbitrary value; without check_bits every such key has one, and nothing is ever absent."

#define map_build_doc                                                                              \
  "build(keys, values=None, /, **params)\n"                                                        \
  "--\n"                                                                                           \
  "\n"                                                                                             \
  "A map of a mapping, or of keys (as Filter.build takes them) and an array or iterable of "       \
  "values from 0\n"                                                                                \
  "to 2**64 - 1. check_bits says how sure absence is, value_bits how wide a value is (as wide as " \
  "the\n"                                                                                          \
  "largest needs). Also key, seed, secret, store_secret, threads, low_memory, skip_nulls."

#define map_get_doc                    \
  "get($self, key, default=None, /)\n" \
  "--\n"                               \
  "\n"                                 \
  "The value of a key, or default."

#define map_get_many_doc                                                                          \
  "get_many($self, keys, /)\n"                                                                    \
  "--\n"                                                                                          \
  "\n"                                                                                            \
  "The values of many keys: a list with None for those that are absent; for arrays two of them, " \
  "the\n"                                                                                         \
  "values as uint64 and which keys have one."

#endif
