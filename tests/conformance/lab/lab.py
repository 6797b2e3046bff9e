"""The lab in Python: foo and bar in its layout, false positives, a union. Prints what the program of each other language prints."""
from libnay import Filter


def lab(nkeys):
    return Filter(format="lab", nkeys=nkeys, bits_per_key=10)


def keys(prefix, first, count):
    return [f"{prefix}{i}" for i in range(first, first + count)]


two, a, b = lab(2), lab(600), lab(600)
two.update(["foo", "bar"])
print(two.encode().hex())
a.update(keys("key", 0, 400))
b.update(keys("key", 200, 400))
a |= b
print(f"union: {sum(k in a for k in keys('key', 0, 600))} of 600 members,",
      f"{sum(k in a for k in keys('absent', 0, 4000))} of 4000 others")
try:
    a.remove("key1")
except TypeError:
    print("remove: not supported")
