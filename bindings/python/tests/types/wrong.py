"""What a type checker must refuse: each line has an error."""
from libnay import Filter, Map, plan

Filter("many")
Filter(10, fpr="1%")
Filter(10, bogus=1)
Filter(10).kind = "bloom"
text: str = Filter(10).add("a")
Filter(10) | {"a"}
Filter.open(7)
Filter(10).remove()
for key in Filter(10):
    pass
Map()["a"] = 1
Map.build({"a": "b"})
plan(10).bogus
