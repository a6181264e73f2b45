//! The AMX machine code of convolutions and their gradients against emulated tiles, bit for bit.
//!
//! Where the processor has no AMX, its instructions trap; the test then decodes and does them itself ([`trapped`]), so that the
//! compiled instructions, their operands and their order are covered on every x86-64 machine. Their speed, and whether
//! real silicon rounds as the manual says, are not: that takes a machine with AMX, where this test runs natively.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/cases.rs"]
mod cases;
mod support;
mod trapped;

use std::sync::atomic::Ordering;

use cases::{Case, conv1, conv3, up};
use mist_kernels::executor::Executor;
use mist_kernels::network::{Layer, Padding};
use mist_kernels::simd::{Isa, Precision};

/// Vectors that are present and have no tiles, so that asking for bf16 emulates them.
fn vectors() -> impl Iterator<Item = Isa> {
    let isas = [Isa::Avx512, Isa::Avx2, Isa::Portable].into_iter();
    isas.filter(|isa| isa.is_present())
}

fn compare(case: &Case) {
    for isa in vectors() {
        let (network, shape) = (case.network(), case.shape());
        let emulated = Executor::new(&network, shape, isa, Precision::Bf16).unwrap();
        // SAFETY: AMX is there, or its instructions are caught.
        let machine = unsafe { Executor::with_unchecked_amx(&network, shape, isa) }.unwrap();
        assert!(
            case.run(&machine) == case.run(&emulated),
            "{} on {} samples of {}x{}x{} with {isa}",
            case.layer,
            case.batch,
            case.channels,
            case.height,
            case.width
        );
    }
}

#[test]
fn machine_code_agrees_with_emulated_tiles() {
    let native = Isa::Amx.is_present();
    if !native {
        trapped::install();
    }
    let cases: [(Layer, [usize; 4]); 11] = [
        (conv1(5), [2, 3, 7, 9]),
        (conv1(40), [1, 136, 3, 5]),
        (conv3(8, Padding::Same), [2, 8, 9, 11]),
        (conv3(17, Padding::Same), [1, 16, 5, 6]),
        (conv3(33, Padding::Valid), [1, 20, 6, 7]),
        (conv3(32, Padding::Valid), [2, 32, 8, 10]),
        (conv3(64, Padding::Same), [3, 64, 2, 2]),
        (conv3(24, Padding::Same), [5, 24, 1, 1]),
        (up(10), [1, 6, 5, 3]),
        (up(16), [2, 32, 3, 4]),
        (Layer::Dense { out_features: 10 }, [18, 128, 1, 1]),
    ];
    for (layer, [batch, channels, height, width]) in cases {
        compare(&Case {
            layer,
            batch,
            channels,
            height,
            width,
        });
    }
    // A run in which nothing trapped would compare nothing on a machine without AMX.
    let done = trapped::DONE.load(Ordering::Relaxed);
    assert!(native || done > 1000, "only {done} instructions trapped");
}
