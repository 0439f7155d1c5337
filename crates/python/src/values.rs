//! Any answer as Python's values: dictionaries, lists, texts, numbers and `None`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyNone};
use serde_json::Value;
use track::gpu_tracker::Tree;

/// What is not there is `None`.
pub fn of_tree<'py>(py: Python<'py>, tree: &Tree) -> PyResult<Bound<'py, PyAny>> {
    Ok(match tree {
        Tree::Text(text) => text.into_pyobject(py)?.into_any(),
        Tree::Count(count) => count.into_pyobject(py)?.into_any(),
        Tree::Number(number) => number.into_pyobject(py)?.into_any(),
        Tree::Missing => none(py),
        Tree::List(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(of_tree(py, value)?)?;
            }
            list.into_any()
        }
        Tree::Group(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(key, of_tree(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// What is null is `None`.
pub fn of_json<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => none(py),
        Value::Bool(is_so) => is_so.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(count), _, _) => count.into_pyobject(py)?.into_any(),
            (None, Some(count), _) => count.into_pyobject(py)?.into_any(),
            (None, None, Some(number)) => number.into_pyobject(py)?.into_any(),
            (None, None, None) => none(py),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(of_json(py, value)?)?;
            }
            list.into_any()
        }
        Value::Object(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(key, of_json(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

fn none(py: Python<'_>) -> Bound<'_, PyAny> {
    PyNone::get(py).to_owned().into_any()
}
