"""Sparse rows of the training: some rows and columns are those of the whole table."""

from __future__ import annotations

import numpy as np
from benches.logistic import SparseRows
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays


def sparse(table: np.ndarray) -> SparseRows:
    rows, columns = np.nonzero(table)
    return SparseRows(table.shape, rows, columns, table[rows, columns].astype(float))


def dense(table: SparseRows) -> np.ndarray:
    found = np.zeros(table.shape)
    found[table.rows, table.columns] = table.values
    return found


@given(
    table=arrays(np.int64, (4, 5), elements=st.integers(0, 3)),
    rows=arrays(np.bool_, 4),
    columns=arrays(np.bool_, 5),
)
def test_some_rows_and_columns_are_those_of_the_table(
    table: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> None:
    whole = sparse(table)
    assert np.array_equal(dense(whole.some_rows(rows)), table[rows])
    assert np.array_equal(dense(whole.some_columns(columns)), table[:, columns])
