"""Columns of numpy and pandas as what the C part reads: an array with a buffer, or a list."""
from importlib import import_module
from typing import Any, Optional, Tuple


def plain(column: Any) -> Tuple[Any, Any, Optional[str]]:
    """(array or list, mask of nulls or None, unit of times or None)."""
    mask = None
    module = type(column).__module__.partition(".")[0]
    if module == "pandas":
        column, mask = _pandas(column)
    elif hasattr(column, "mask") and hasattr(column, "filled"):  # numpy.ma
        import numpy

        mask = numpy.ascontiguousarray(numpy.ma.getmaskarray(column)).view("u1")
        column = column.data
    elif not hasattr(column, "strides"):
        import numpy

        column = numpy.asarray(column)
    kind = getattr(column.dtype, "kind", "")
    if column.ndim == 0:
        raise TypeError("keys are an array of one dimension, not a scalar")
    if type(column).__name__ == "chararray":  # its elements are other texts, without white space at the end
        raise TypeError("a chararray strips what it hands out: take numpy.asarray of it")
    if kind == "O":
        if column.ndim != 1:
            raise TypeError(f"keys are an array of one dimension, not of {column.ndim}")
        values = column.tolist()
        if mask is not None:
            values = [None if null else value for value, null in zip(values, mask)]
        return values, None, None
    if kind == "m":
        raise TypeError("time differences have no key")
    if kind == "M":
        unit, count = _unit(column.dtype)
        if count != 1:
            raise TypeError(f"times in steps of {count}{unit} have no key")
        return column.view(column.dtype.str.replace("M8", "i8").partition("[")[0]), mask, unit
    if column.dtype.itemsize == 0:  # U0 and S0: a buffer of no bytes
        return column.tolist(), None, None
    return column, mask, None


def _unit(dtype: Any) -> Tuple[str, int]:
    import numpy

    return numpy.datetime_data(dtype)


def _pandas(column: Any) -> Tuple[Any, Any]:
    """The values of a Series, Index or array of pandas as one of numpy, and which are null."""
    import numpy

    pandas: Any = import_module("pandas")  # has no types
    dtype = column.dtype
    if isinstance(dtype, numpy.dtype):
        return numpy.asarray(column), None
    if isinstance(dtype, pandas.CategoricalDtype):
        column = pandas.Series(column).astype(dtype.categories.dtype)
        if isinstance(column.dtype, numpy.dtype):
            return numpy.asarray(column), None
        dtype = column.dtype
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return pandas.Series(column).dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), None
    nulls = numpy.ascontiguousarray(pandas.isna(column)).view("u1")
    inner = getattr(dtype, "numpy_dtype", None)
    if inner is not None and inner.kind in "iufb":  # Int64, Float32, boolean
        filled = pandas.Series(column).fillna(inner.type(0))
        return filled.to_numpy(dtype=inner), nulls if nulls.any() else None
    return pandas.Series(column).to_numpy(dtype=object), nulls if nulls.any() else None
