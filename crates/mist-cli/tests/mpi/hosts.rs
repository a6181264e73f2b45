//! Ranks on hosts of their own, as far as network namespaces are hosts: with addresses and cables that can be cut.

use std::path::Path;
use std::process::{Command, Stdio};

use super::launch::{
    carrier, done, mpirun, settings, single, wait_for_end, wait_for_lines, weights, words,
};
use super::skipped;

/// The launcher waits for a host that was cut off until TCP gives it up, by default a quarter of an hour.
const FEW_RETRIES: &str = "net.ipv4.tcp_retries2=3";

/// Two namespaces on a cable; they are taken away when this is dropped.
struct Hosts {
    /// Of this test alone.
    names: [String; 2],
}

fn ip(words: &str) -> bool {
    let run = Command::new("ip")
        .args(words.split(' '))
        .stderr(Stdio::null())
        .status();
    run.is_ok_and(|status| status.success())
}

impl Hosts {
    const ADDRESSES: [&'static str; 2] = ["10.213.77.1", "10.213.77.2"];

    fn new() -> Option<Self> {
        let process = std::process::id();
        let names = ["a", "b"].map(|name| format!("mist{process}{name}"));
        let hosts = Self { names };
        let [a, b] = &hosts.names;
        let mut made = ip(&format!("netns add {a}")) && ip(&format!("netns add {b}"));
        made = made
            && ip(&format!(
                "link add cable netns {a} type veth peer name cable netns {b}"
            ));
        for (name, address) in hosts.names.iter().zip(Self::ADDRESSES) {
            made = made
                && ip(&format!("-n {name} addr add {address}/24 dev cable"))
                && ip(&format!("-n {name} link set cable up"))
                && ip(&format!("-n {name} link set lo up"))
                && ip(&format!("netns exec {name} sysctl -qw {FEW_RETRIES}"));
        }
        made.then_some(hosts)
    }

    /// Takes the cable out of the second host.
    fn cut(&self) {
        assert!(ip(&format!("-n {} link set cable down", self.names[1])));
    }

    /// A launcher on the first host, with `slots` ranks on each.
    fn mpirun(&self, carrier: &Path, directory: &Path, slots: usize) -> Command {
        let agent = directory.join("agent.sh");
        // The launcher calls it with a host's address and a command.
        let script = format!(
            "#!/bin/sh\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\nhost=$1; shift\n\
             case $host in {}) name={};; *) name={};; esac\nexec ip netns exec $name sh -c \"$*\"\n",
            Self::ADDRESSES[0],
            self.names[0],
            self.names[1],
        );
        std::fs::write(&agent, script).unwrap();
        let executable = Command::new("chmod").arg("+x").arg(&agent).status();
        assert!(executable.unwrap().success());
        let inner = mpirun(carrier);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[0], "mpirun"]);
        command.args(inner.get_args());
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap());
        }
        for name in ["MIST_MPI", "RAYON_NUM_THREADS", "MIST_MPI_TIMEOUT_SECS"] {
            command.args(["-x", name]);
        }
        let [a, b] = Self::ADDRESSES;
        command.args(["--host", &format!("{a}:{slots},{b}:{slots}")]);
        command.args(["--mca", "plm_rsh_agent"]).arg(&agent);
        for network in ["oob_tcp_if_include", "btl_tcp_if_include"] {
            command.args(["--mca", network, "10.213.77.0/24"]);
        }
        // What is one host to the system must not share memory here.
        command.args(["--mca", "btl", "tcp,self", "--map-by", "node"]);
        command
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let left = Command::new("ip").args(["netns", "pids", name]).output();
            for process in String::from_utf8_lossy(&left.unwrap().stdout).lines() {
                // It may have ended by itself.
                let _ = Command::new("kill").args(["-KILL", process]).status();
            }
            ip(&format!("netns del {name}"));
        }
    }
}

#[test]
fn ranks_on_two_hosts_learn_the_same_and_end_when_one_is_cut_off() {
    const NAME: &str = "ranks_on_two_hosts_learn_the_same_and_end_when_one_is_cut_off";
    let Some(carrier) = carrier(NAME) else {
        return;
    };
    let Some(hosts) = Hosts::new() else {
        skipped::skip(NAME, "network namespaces need root and iproute2");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    done(&mut single(&at("whole"), &settings(&[])));
    let launched = |out: &Path| {
        let mut command = hosts.mpirun(&carrier, directory.path(), 1);
        command
            .args(["-n", "2", env!("CARGO_BIN_EXE_mist")])
            .args(words(out, &settings(&[])));
        command
    };
    done(&mut launched(&at("two-hosts")));
    assert!(weights(&at("two-hosts")) == weights(&at("whole")));

    let run = at("cut");
    let mut command = launched(&run);
    // What is left on the host that was cut off would hold a pipe open.
    let errors = at("errors");
    let file = std::fs::File::create(&errors).unwrap();
    let child = command.stdout(Stdio::null()).stderr(file).spawn();
    wait_for_lines(&run, 5);
    hosts.cut();
    wait_for_end(&run);
    assert!(!child.unwrap().wait().unwrap().success());
    let told = std::fs::read_to_string(&errors).unwrap();
    assert!(
        told.contains("rank 1 on") && told.contains("silent"),
        "{told}"
    );
    done(&mut single(&run, &["--resume".to_owned()]));
    assert!(weights(&run) == weights(&at("whole")));
}
