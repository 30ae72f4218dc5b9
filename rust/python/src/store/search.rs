//! Methods of `_core.Store` for search and grep.

use commonplace_core::grep::{Case, GrepOptions};
use commonplace_core::store::search::SearchRequest;
use pyo3::prelude::*;

use crate::engine::CollectionStats;
use crate::explanation::Explanation;
use crate::filter::SearchFilter;
use crate::from_python::{Count, Text, Unit};
use crate::grep::Grep;
use crate::hit::{Hit, Hits};
use crate::store::Store;

#[pymethods]
impl Store {
    #[pyo3(signature = (query, limit, filter, unit, stats = None))]
    fn search(
        &self,
        py: Python<'_>,
        query: Text,
        limit: Count,
        filter: &SearchFilter,
        unit: Unit,
        stats: Option<&CollectionStats>,
    ) -> PyResult<Hits> {
        let (filter, unit) = (filter.filter.clone(), unit.0);
        let stats = stats.map(|stats| stats.stats.clone());
        let (query, limit) = (query.into(), limit.into());
        let request = SearchRequest { query, limit, filter, unit, stats };
        let answer = self.call(py, |store, interrupt| store.search(&request, interrupt))?;
        Hits::new(py, answer)
    }

    fn collection_stats(&self, py: Python<'_>, query: Text) -> PyResult<CollectionStats> {
        let stats = self.call(py, |store, interrupt| store.collection_stats(&query, interrupt))?;
        Ok(CollectionStats::from(stats))
    }

    fn resolved_filter(&self, py: Python<'_>, filter: &SearchFilter) -> PyResult<SearchFilter> {
        let own = filter.filter.clone();
        let (filter, _) =
            self.call(py, |store, interrupt| store.resolve_sessions(own, interrupt))?;
        Ok(SearchFilter { filter })
    }

    fn explanation(
        &self,
        py: Python<'_>,
        query: Text,
        citation: Text,
        unit: Unit,
    ) -> PyResult<Explanation> {
        let explained =
            self.call(py, |store, interrupt| store.explain(&query, &citation, unit.0, interrupt))?;
        Ok(Explanation::from(explained))
    }

    fn documents(&self, py: Python<'_>, path: Text) -> PyResult<Vec<Hit>> {
        let documents = self.call(py, |store, interrupt| store.documents(&path, interrupt))?;
        Ok(documents.into_iter().map(Hit::from).collect())
    }

    fn turns_of(&self, py: Python<'_>, messages: Vec<(Text, Count)>) -> PyResult<Vec<Option<Hit>>> {
        let messages: Vec<(String, u64)> =
            messages.into_iter().map(|(path, line)| (String::from(path), line.0)).collect();
        let turns = self.call(py, |store, interrupt| store.turns_of(&messages, interrupt))?;
        Ok(turns.into_iter().map(|turn| turn.map(Hit::from)).collect())
    }

    #[pyo3(signature = (
        pattern, filter, *, fixed, ignore_case, before, after, limit, newest_first, width, keep
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python call")]
    fn grep(
        &self,
        py: Python<'_>,
        pattern: Text,
        filter: &SearchFilter,
        fixed: bool,
        ignore_case: Option<bool>,
        before: Count,
        after: Count,
        limit: Option<Count>,
        newest_first: bool,
        width: Count,
        keep: bool,
    ) -> PyResult<Grep> {
        let options = GrepOptions {
            pattern: pattern.into(),
            fixed,
            case: match ignore_case {
                None => Case::Smart,
                Some(true) => Case::Ignore,
                Some(false) => Case::Sensitive,
            },
            filter: filter.filter.clone(),
            before: before.into(),
            after: after.into(),
            limit: limit.map(usize::from),
            newest_first,
            max_snippet: width.into(),
            ..GrepOptions::default()
        };
        Grep::new(py, self.open(py)?, options, keep)
    }
}
