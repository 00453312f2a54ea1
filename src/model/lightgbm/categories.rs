//! The lines behind the trees: which columns were categories of a pandas frame, and their values in order.
//!
//! Python writes a list of values for every such column, in the order of the columns, but not which columns they
//! are: that is in the parameters (`[categorical_feature: 0,3]`), or else in `feature_infos`, where the values of a
//! category column stand with colons between them. Where the numbers of columns differ, nobody can tell, and the
//! file is refused.

use super::super::trees::Kind;
use super::Lines;
use super::header::Header;

/// Longest list of values: reading it takes some 16 times its bytes.
const JSON_BYTES_MAX: usize = 4 << 20;

/// What they tell.
#[derive(Default)]
pub struct Tail<'a> {
    /// The parameter's columns.
    parameter: Option<&'a str>,
    pandas: Option<&'a str>,
}

impl<'a> Tail<'a> {
    /// Reads to the end.
    pub fn read(lines: &mut Lines<'a>) -> Self {
        let mut tail = Self::default();
        for line in lines.by_ref() {
            if let Some(value) = line.strip_prefix("pandas_categorical:") {
                tail.pandas = Some(value.trim());
            } else if let Some(value) = line.strip_prefix("[categorical_feature: ") {
                tail.parameter = value.strip_suffix(']').map(str::trim).filter(|value| !value.is_empty());
            }
        }
        tail
    }

    /// What each column's cells are.
    pub fn columns(&self, header: &Header) -> Result<Vec<Kind>, String> {
        let mut columns = vec![Kind::Number; header.width];
        let by_info: Vec<usize> = header
            .infos
            .iter()
            .enumerate()
            .filter(|(_, info)| !info.starts_with('[') && *info != "none")
            .map(|(at, _)| at)
            .collect();
        for at in &by_info {
            if let Some(column) = columns.get_mut(*at) {
                *column = Kind::Category;
            }
        }
        let lists = match self.pandas {
            None | Some("null" | "") => return Ok(columns),
            Some(json) if json.len() > JSON_BYTES_MAX => {
                return Err(format!("pandas_categorical has {} bytes, at most {JSON_BYTES_MAX} are taken", json.len()));
            }
            Some(json) => serde_json::from_str::<Vec<Vec<serde_json::Value>>>(json)
                .map_err(|e| format!("pandas_categorical: expected a list of lists of values: {e}"))?,
        };
        let by_parameter: Option<Vec<usize>> =
            self.parameter.and_then(|list| list.split(',').map(|n| n.trim().parse().ok()).collect());
        let places = [by_parameter, Some(by_info)].into_iter().flatten().find(|places| places.len() == lists.len());
        let Some(places) = places.filter(|places| places.iter().all(|at| *at < header.width)) else {
            return Err(format!(
                "pandas_categorical has values of {} columns, and the file does not tell which columns these are: \
                 train with the categories as numbers",
                lists.len()
            ));
        };
        for (at, values) in places.into_iter().zip(lists) {
            columns[at] = kind(&values).map_err(|what| format!("pandas_categorical of column {at}: {what}"))?;
        }
        Ok(columns)
    }
}

fn kind(values: &[serde_json::Value]) -> Result<Kind, String> {
    let numbers = values.iter().map(|value| match value {
        serde_json::Value::Bool(value) => Some(f64::from(u8::from(*value))),
        value => value.as_f64(),
    });
    if let Some(numbers) = numbers.collect::<Option<Vec<f64>>>() {
        return Ok(Kind::Numbers(numbers));
    }
    let texts = values.iter().map(|value| value.as_str().map(str::to_owned));
    let texts = texts.collect::<Option<Vec<String>>>();
    texts.map(Kind::Texts).ok_or_else(|| "expected all texts or all numbers".to_owned())
}
