//! Which part this process is, as cluster schedulers say it.

use super::{Shard, ShardChoice};
use crate::error::{Error, Result};

/// Launchers that number their processes from 0 and say how many there are.
const RANKS: [(&str, &str); 3] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("RANK", "WORLD_SIZE"),
];
const SLURM_TASK: &str = "SLURM_ARRAY_TASK_ID";
const KUBERNETES_INDEX: &str = "JOB_COMPLETION_INDEX";

/// A place among several, and the variable that says so.
struct Place {
    index: u64,
    /// Kubernetes does not say it.
    count: Option<u64>,
    source: &'static str,
}

impl ShardChoice {
    /// The part that was asked for, or else the environment's, with the variable that says so; `None` for everything.
    ///
    /// # Errors
    /// When the environment names a place but not among how many, or contradicts itself or the request.
    pub fn resolve(
        asked: Option<Self>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<(Shard, &'static str)>> {
        let count = match asked {
            Some(Self::Part(shard)) if shard.count == 1 => return Ok(None),
            Some(Self::Part(shard)) => return Ok(Some((shard, "--shard"))),
            Some(Self::AutoOf(count)) => Some(count),
            None => None,
        };
        let Some(place) = place(variable)? else {
            return match count {
                None | Some(1) => Ok(None),
                Some(count) => Err(Error::Usage(format!(
                    "`--shard auto/{count}`: the environment does not say which part; \
                     write `--shard 1/{count}` and so on"
                ))),
            };
        };
        let source = place.source;
        let count = match (count, place.count) {
            (Some(asked), Some(told)) if asked != told => {
                return Err(Error::Usage(format!(
                    "`--shard auto/{asked}`: by {source} there are {told} parts"
                )));
            }
            (asked, told) => asked.or(told),
        };
        let Some(count) = count else {
            return Err(Error::Usage(format!(
                "{source} does not say of how many parts: add `--shard auto/N`, with N the job's \
                 completions, or `--shard 1/1` to do everything here"
            )));
        };
        match Shard::new(place.index, count) {
            _ if count == 1 => Ok(None),
            Some(shard) => Ok(Some((shard, source))),
            None => Err(Error::Usage(format!(
                "{source} says place {} (from 0) of {count} parts; name the part with --shard",
                place.index
            ))),
        }
    }
}

fn place(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Place>> {
    let number = |name: &'static str| -> Result<Option<u64>> {
        let Some(text) = variable(name).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| {
            Error::Usage(format!(
                "{name} is `{text}`, no number; name the part with --shard"
            ))
        })
    };
    if let Some(task) = number(SLURM_TASK)? {
        return slurm_place(task, number).map(Some);
    }
    if let Some(index) = number(KUBERNETES_INDEX)? {
        return Ok(Some(Place {
            index,
            count: None,
            source: KUBERNETES_INDEX,
        }));
    }
    for (rank, size) in RANKS {
        if let (Some(index), Some(count)) = (number(rank)?, number(size)?) {
            return Ok(Some(Place {
                index,
                count: Some(count),
                source: rank,
            }));
        }
    }
    Ok(None)
}

/// Arrays count from any number in any steps, but not with gaps: part of an array that runs again has other parts.
fn slurm_place(task: u64, number: impl Fn(&'static str) -> Result<Option<u64>>) -> Result<Place> {
    let count = number("SLURM_ARRAY_TASK_COUNT")?.unwrap_or(0);
    let first = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
    let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
    let last = number("SLURM_ARRAY_TASK_MAX")?;
    let whole = last.is_none_or(|last| last.saturating_sub(first) / step + 1 == count);
    let index = task.checked_sub(first).map(|beyond| beyond / step);
    match index {
        Some(index) if whole && index < count => Ok(Place {
            index,
            count: Some(count),
            source: SLURM_TASK,
        }),
        _ => Err(Error::Usage(format!(
            "task {task} of a Slurm array of {count} tasks with gaps: name the part, such as \
             `--shard $SLURM_ARRAY_TASK_ID/N`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(asked: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<String>> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let asked = asked.map(|asked| asked.parse().unwrap());
        let found = ShardChoice::resolve(asked, &variable)?;
        Ok(found.map(|(shard, _)| shard.to_string()))
    }

    const SLURM: [(&str, &str); 5] = [
        ("SLURM_ARRAY_TASK_ID", "5"),
        ("SLURM_ARRAY_TASK_COUNT", "3"),
        ("SLURM_ARRAY_TASK_MIN", "1"),
        ("SLURM_ARRAY_TASK_MAX", "5"),
        ("SLURM_ARRAY_TASK_STEP", "2"),
    ];
    const KUBERNETES: [(&str, &str); 1] = [("JOB_COMPLETION_INDEX", "0")];

    #[test]
    fn launchers_say_which_part_this_is() {
        let part =
            |asked: Option<&str>, variables: &[(&str, &str)]| resolve(asked, variables).unwrap();
        assert_eq!(part(None, &SLURM).unwrap(), "3/3");
        assert_eq!(part(Some("auto/4"), &KUBERNETES).unwrap(), "1/4");
        for (rank, size) in RANKS {
            assert_eq!(part(None, &[(rank, "1"), (size, "4")]).unwrap(), "2/4");
            assert_eq!(part(None, &[(rank, "0"), (size, "1")]), None);
            assert_eq!(part(None, &[(rank, "0")]), None);
        }
        assert_eq!(part(None, &[]), None);
    }

    #[test]
    fn what_is_asked_for_goes_before_the_environment() {
        assert_eq!(resolve(Some("2/7"), &SLURM).unwrap().unwrap(), "2/7");
        assert_eq!(resolve(Some("1/1"), &KUBERNETES).unwrap(), None);
    }

    #[test]
    fn places_that_cannot_be_told_are_errors() {
        let gaps = [
            SLURM[0],
            ("SLURM_ARRAY_TASK_COUNT", "2"),
            SLURM[2],
            SLURM[3],
        ];
        for (asked, variables) in [
            (None, &KUBERNETES[..]),
            (None, &gaps),
            (Some("auto/4"), &[]),
            (Some("auto/4"), &SLURM),
            (None, &[("RANK", "4"), ("WORLD_SIZE", "4")]),
            (None, &[("RANK", "x"), ("WORLD_SIZE", "4")]),
        ] {
            let error = resolve(asked, variables).unwrap_err();
            assert!(matches!(error, Error::Usage(_)), "{error}");
        }
    }
}
